package harness

import (
	"encoding/json"
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

// PluginTerms are what a vendor's plugin calls things.
type PluginTerms struct {
	Resource   string            `json:"resource"`
	Register   map[string]string `json:"register"`   // annotations of the node
	ToAllocate string            `json:"toAllocate"` // of pods: what is left to be given
	Word       string            `json:"word"`       // by which its devices are told there
	Visible    string            `json:"visible"`    // the variable that names devices
	Memory     string            `json:"memory"`     // that and the number: their limit; empty: none
	Cores      string            `json:"cores"`      // likewise of compute
	Cards      []string          `json:"cards"`      // UUIDs
}

// HamiSplit is how many share a card.
const HamiSplit = 10

func AnnotationPatch(notes map[string]any) ([]byte, error) {
	return json.Marshal(map[string]any{"metadata": map[string]any{"annotations": notes}})
}

// What HAMi's roles let a device plugin do, whose it is: that roles allow it is never why a policy does.
var pluginRules = []rbac.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "patch", "update"}},
	{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "patch", "update"}}}

// As docs/guides/migration.md has it.
const hamiScheduler = "hami-scheduler"

// A PluginAccount is who a device plugin is to the API server.
type PluginAccount struct {
	Kubeconfig, user string
	client           *kubernetes.Clientset
	away             func()
}

func (env *Env) pluginAccount(name string) (PluginAccount, error) {
	file, away, err := env.CreateAccount(name, pluginRules)
	one := PluginAccount{file, "system:serviceaccount:" + env.Namespace + ":" + name, nil, away}
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
func (env *Env) gatedPod(name string) error {
	p := Pod(name, Container("c", nil))
	p.Spec.SchedulingGates = []core.PodSchedulingGate{{Name: "check.test/held"}}
	_, err := env.Create(p)
	return err
}

// pluginWrites are what plugins of HAMi's world write, none of which stays.
func (env *Env) pluginWrites(one PluginAccount, name string) []Attempt {
	dry := meta.PatchOptions{DryRun: DryRun}
	node := func(key string) func() error {
		return func() error {
			_, err := one.client.CoreV1().Nodes().Patch(env.Ctx, KubeletNode, types.MergePatchType, AnnotationValuePatch(key,
				"x"), dry)
			return err
		}
	}
	pod := func(key string) func() error {
		return func() error {
			_, err := one.client.CoreV1().Pods(env.Namespace).Patch(env.Ctx, name, types.MergePatchType,
				AnnotationValuePatch(key, "x"), dry)
			return err
		}
	}
	return []Attempt{{"cards of the node", node("hami.io/node-nvidia-register")}, {"the node's lock", node(NodeLockKey)},
		{"another vendor's cards", node("hami.io/node-register-Ascend910B3")},
		{"a pod's bind phase", pod("hami.io/bind-phase")}, {"what is left to be given",
			pod("hami.io/vgpu-devices-to-allocate")},
		{"that of another vendor", pod("hami.io/dcu-devices-to-allocate")}}
}

// forScheduler is a pod with devices that names that scheduler.
func (env *Env) forScheduler(name string) func() error {
	return func() error {
		p := Pod("for-"+name, Container("c", OneShare("1000", "10")))
		p.Spec.SchedulerName = name
		_, err := env.Client.CoreV1().Pods(env.Namespace).Create(env.Ctx, p, meta.CreateOptions{DryRun: DryRun})
		return err
	}
}

func (env *Env) allRefused(who string, attempts []Attempt) error {
	for _, one := range attempts {
		if err := env.WaitFor(who+": "+one.What+" is refused", RefusedByPolicy(one.Try)); err != nil {
			return err
		}
	}
	return nil
}

func (env *Env) AllPermitted(who string, attempts []Attempt) error {
	for _, one := range attempts {
		if err := env.WaitFor(who+": "+one.What+" is let through", one.Try); err != nil {
			return err
		}
	}
	return nil
}

// WithPolicyAccounts runs a check with all policies in force, made as docs/guides/migration.md says while another
// plugin acts:
// with that plugin's account, and its scheduler. The foreign account has the same roles, and no policy names it: it is
// refused what the plugin may do. So is the plugin before it is named, and afterwards.
func (env *Env) WithPolicyAccounts(run func(plugin, foreign PluginAccount) error) (err error) {
	var accounts [2]PluginAccount
	for at, name := range []string{"hami-device-plugin", "foreign-device-plugin"} {
		one, err := env.pluginAccount(name)
		defer one.away()
		if err != nil {
			return err
		}
		accounts[at] = one
	}
	plugin, foreign := accounts[0], accounts[1]
	const target = "written-to"
	if err := env.gatedPod(target); err != nil {
		return err
	}
	writes, foreignWrites := env.pluginWrites(plugin, target), env.pluginWrites(foreign, target)
	if err := env.allRefused("a plugin that is not named", writes); err != nil {
		return err
	}
	other := []Attempt{{"a pod for another scheduler", env.forScheduler(hamiScheduler)}}
	if err := env.allRefused("a scheduler that is not named", other); err != nil {
		return err
	}
	env.named = []string{"--other-schedulers", hamiScheduler}
	env.writers = []string{plugin.user}
	defer func() {
		env.named, env.writers = nil, nil
		// The check may have taken away all pods of its.
		const after = "written-to-afterwards"
		err = errors.Join(err, env.applyPolicies(env.Ctx), env.gatedPod(after),
			env.allRefused("a plugin that is not named any more", env.pluginWrites(plugin, after)))
	}()
	if err := env.applyPolicies(env.Ctx); err != nil {
		return err
	}
	if err := errors.Join(env.AllPermitted("the plugin", writes), env.AllPermitted("its scheduler", other)); err != nil {
		return err
	}
	if err := env.allRefused("a foreign account", foreignWrites); err != nil {
		return err
	}
	unnamed := []Attempt{{"a pod for a third scheduler", env.forScheduler("third-scheduler")}}
	if err := env.allRefused("a scheduler that is not named", unnamed); err != nil {
		return err
	}
	return run(plugin, foreign)
}

// ForeignPluginFails: the same plugin with the foreign account's token ends where it has to write.
func (env *Env) ForeignPluginFails(foreign PluginAccount, terms PluginTerms) (err error) {
	const process = "foreign-device-plugin"
	defer func() { err = errors.Join(err, env.StopProcess(process)) }()
	refusals := func() int {
		text, _ := os.ReadFile(env.Processes.Log(process))
		return strings.Count(string(text), "ValidatingAdmissionPolicy 'divvy-node-annotations'")
	}
	before := refusals()
	if err := env.StartPlugin(process, foreign.Kubeconfig, terms); err != nil {
		return err
	}
	return env.WaitFor("the plugin of a foreign account is refused", func() error {
		if refusals() == before {
			return errors.New(env.Processes.Tail(process))
		}
		return nil
	})
}
