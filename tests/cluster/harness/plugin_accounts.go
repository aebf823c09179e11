package main

import (
	"errors"
	"os"
	"strings"

	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// What HAMi's roles let a device plugin do, whose it is: that roles allow it is never why a policy does.
var pluginRules = []rbac.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "patch", "update"}},
	{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "patch", "update"}}}

// As docs/guides/migration.md has it.
const hamiScheduler = "hami-scheduler"

// A pluginAccount is who a device plugin is to the API server.
type pluginAccount struct {
	kubeconfig, user string
	client           *kubernetes.Clientset
	away             func()
}

func (w *world) pluginAccount(name string) (pluginAccount, error) {
	file, away, err := w.account(name, pluginRules)
	one := pluginAccount{file, "system:serviceaccount:" + w.space + ":" + name, nil, away}
	if err != nil {
		return one, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err == nil {
		one.client, err = kubernetes.NewForConfig(config)
	}
	return one, err
}

// gatedPod is one that is never placed, for what is written into pods.
func (w *world) gatedPod(name string) error {
	p := pod(name, container("c", nil))
	p.Spec.SchedulingGates = []core.PodSchedulingGate{{Name: "check.test/held"}}
	_, err := w.create(p)
	return err
}

// pluginWrites are what plugins of HAMi's world write, none of which stays.
func (w *world) pluginWrites(one pluginAccount, name string) []attempt {
	dry := meta.PatchOptions{DryRun: onlyTried}
	node := func(key string) func() error {
		return func() error {
			_, err := one.client.CoreV1().Nodes().Patch(w.ctx, kubeletNode, types.MergePatchType, noteOf(key, "x"), dry)
			return err
		}
	}
	pod := func(key string) func() error {
		return func() error {
			_, err := one.client.CoreV1().Pods(w.space).Patch(w.ctx, name, types.MergePatchType, noteOf(key, "x"), dry)
			return err
		}
	}
	return []attempt{{"cards of the node", node("hami.io/node-nvidia-register")}, {"the node's lock", node(nodeLock)},
		{"another vendor's cards", node("hami.io/node-register-Ascend910B3")},
		{"a pod's bind phase", pod("hami.io/bind-phase")}, {"what is left to be given", pod("hami.io/vgpu-devices-to-allocate")},
		{"that of another vendor", pod("hami.io/dcu-devices-to-allocate")}}
}

// forScheduler is a pod with devices that names that scheduler.
func (w *world) forScheduler(name string) func() error {
	return func() error {
		p := pod("for-"+name, container("c", one("1000", "10")))
		p.Spec.SchedulerName = name
		_, err := w.client.CoreV1().Pods(w.space).Create(w.ctx, p, meta.CreateOptions{DryRun: onlyTried})
		return err
	}
}

func (w *world) allRefused(who string, attempts []attempt) error {
	for _, one := range attempts {
		if err := w.until(who+": "+one.what+" is refused", refusedByPolicy(one.try)); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) allPass(who string, attempts []attempt) error {
	for _, one := range attempts {
		if err := w.until(who+": "+one.what+" is let through", one.try); err != nil {
			return err
		}
	}
	return nil
}

// besidePolicies runs a check with all policies in force, made as docs/guides/migration.md says while another plugin acts:
// with that plugin's account, and its scheduler. Who is as much in his roles, and is not named, is the stranger; he is
// refused what the plugin may do, and so is the plugin before it is named and afterwards.
func (w *world) besidePolicies(run func(plugin, stranger pluginAccount) error) (err error) {
	var accounts [2]pluginAccount
	for at, name := range []string{"hami-device-plugin", "stranger"} {
		one, err := w.pluginAccount(name)
		defer one.away()
		if err != nil {
			return err
		}
		accounts[at] = one
	}
	plugin, stranger := accounts[0], accounts[1]
	const target = "written-to"
	if err := w.gatedPod(target); err != nil {
		return err
	}
	writes, strangers := w.pluginWrites(plugin, target), w.pluginWrites(stranger, target)
	if err := w.allRefused("a plugin that is not named", writes); err != nil {
		return err
	}
	other := []attempt{{"a pod for another scheduler", w.forScheduler(hamiScheduler)}}
	if err := w.allRefused("a scheduler that is not named", other); err != nil {
		return err
	}
	w.named = []string{"--other-schedulers", hamiScheduler}
	w.writers = []string{plugin.user}
	defer func() {
		w.named, w.writers = nil, nil
		// The check may have taken away all pods of its.
		const after = "written-to-afterwards"
		err = errors.Join(err, w.applyPolicies(w.ctx), w.gatedPod(after),
			w.allRefused("a plugin that is not named any more", w.pluginWrites(plugin, after)))
	}()
	if err := w.applyPolicies(w.ctx); err != nil {
		return err
	}
	if err := errors.Join(w.allPass("the plugin", writes), w.allPass("its scheduler", other)); err != nil {
		return err
	}
	if err := w.allRefused("a stranger", strangers); err != nil {
		return err
	}
	unnamed := []attempt{{"a pod for a third scheduler", w.forScheduler("third-scheduler")}}
	if err := w.allRefused("a scheduler that is not named", unnamed); err != nil {
		return err
	}
	return run(plugin, stranger)
}

// strangerServes: the same plugin with the stranger's token ends where it has to write.
func (w *world) strangerServes(stranger pluginAccount, terms pluginTerms) (err error) {
	const process = "stranger-device-plugin"
	defer func() { err = errors.Join(err, w.endProcess(process)) }()
	refusals := func() int {
		text, _ := os.ReadFile(w.processes.log(process))
		return strings.Count(string(text), "ValidatingAdmissionPolicy 'divvy-node-annotations'")
	}
	before := refusals()
	if err := w.pluginBegins(process, stranger.kubeconfig, terms); err != nil {
		return err
	}
	return w.until("a stranger's plugin is refused", func() error {
		if refusals() == before {
			return errors.New(w.processes.tail(process))
		}
		return nil
	})
}
