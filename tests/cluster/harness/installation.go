package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	admission "k8s.io/api/admissionregistration/v1"
	authentication "k8s.io/api/authentication/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"
)

const (
	space         = "divvy-system"
	account       = "divvy-scheduler"
	extender      = "divvy-scheduler"       // the process of the one that is installed
	webhookSecret = "divvy-webhook"         // as rbac.yaml lets it have one
	administrator = "admin"                 // of the cluster's certificates; plays the nodes' agents
	configAddress = "http://127.0.0.1:9396" // in the configuration as it is deployed
	tokenSeconds  = int64(certificateLife / 1e9)
)

// An installation is Divvy as deploy/ has it, but for what a machine without a kubelet can not do:
// its containers run as processes here, with the service account's rights, and the webhook is found
// at an address instead of a service.
type installation struct {
	*cluster
	divvy   string   // the program
	deploy  string   // folder of the manifests
	all     bool     // it tells kube-scheduler all nodes that would do (--all-feasible)
	words   []string // how resources are called: options of the extender, and of what is printed
	counted string   // the resource that devices are counted by; empty: as it is called otherwise
	alone   bool     // there is no kube-scheduler beside it, and it leads (--lease none)
	more    []string // further options of its extender
	kills   int      // as often the extender is killed; 0: as fits into a minute
	before  string   // where CMake put an earlier commit's programs; empty: nowhere
	nvidia  string   // NVIDIA's device plugin; empty: there is none
	volcano string   // Volcano's scheduler; empty: there is none
	writers []string // of pods' and nodes' annotations, besides Divvy, by the policies
	named   []string // further options of the policies
	own     bool     // it looks after the webhook's certificate itself; else that is one of the cluster's
}

// A replica is one pod of Divvy's: an extender and the kube-scheduler beside it. Its name is that
// of its files.
type replica struct {
	name   string
	host   string // what its machine is called; empty: as this one
	server string // where its extender finds the API server; empty: where it is
	listen string // where its extender listens; empty: on a port that nobody has
	front  string // where its kube-scheduler finds the extender; empty: where it is
	hasty  bool   // its kube-scheduler renews its Lease, and tries pods again, as soon as it can
}

// replicas are all there may be: the one that is installed, and a pair of which one can be lost.
var replicas = []string{"divvy", "divvy-a", "divvy-b"}

var standing = replica{name: "divvy"}

func (r replica) extender() string { return r.name + "-scheduler" }
func (r replica) second() string   { return r.name + "-kube-scheduler" }

// divvyParts are the processes of all replicas, in the order in which they are ended.
func divvyParts() []string {
	var names []string
	for _, name := range replicas {
		r := replica{name: name}
		names = append(names, r.second(), r.extender())
	}
	return names
}

type extenderPorts struct{ Extender, Webhook, Metrics int }

func (i *installation) portsFile(r replica) string { return i.path(r.name + "-ports.json") }

func (i *installation) ports(r replica) (extenderPorts, error) {
	var found extenderPorts
	text, err := os.ReadFile(i.portsFile(r))
	if err != nil {
		return found, err
	}
	return found, json.Unmarshal(text, &found)
}

func (i *installation) apply(ctx context.Context, file string) error {
	return i.kubectl(ctx, "apply", "-f", filepath.Join(i.deploy, file))
}

func (i *installation) kubectl(ctx context.Context, args ...string) error {
	command := exec.CommandContext(ctx, i.path("bin", "kubectl"),
		append([]string{"--kubeconfig", i.path("kubeconfig")}, args...)...)
	out, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

func (i *installation) kubeconfig(r replica) string { return i.path(r.name + ".kubeconfig") }

// writeAccount makes a kubeconfig of the service account's, as its pods would have it.
func (i *installation) writeAccount(ctx context.Context, client *kubernetes.Clientset, r replica,
	server string) error {
	seconds := tokenSeconds
	request := &authentication.TokenRequest{
		Spec: authentication.TokenRequestSpec{ExpirationSeconds: &seconds}}
	made, err := client.CoreV1().ServiceAccounts(space).CreateToken(ctx, account, request,
		meta.CreateOptions{})
	if err != nil {
		return err
	}
	return writeTokenKubeconfig(i.kubeconfig(r), server, i.path("pki", "ca.crt"), made.Status.Token)
}

// webhookPort is where a replica's webhook is, however often it begins anew: the registration says so
// before it does.
func (i *installation) webhookPort(r replica) (int, error) {
	file := i.path(r.name + "-webhook.port")
	text, err := os.ReadFile(file)
	if err == nil {
		return strconv.Atoi(string(text))
	}
	var port int
	if err := chooseInto(&port); err != nil {
		return 0, err
	}
	return port, os.WriteFile(file, []byte(strconv.Itoa(port)), 0o644)
}

func (i *installation) startExtender(r replica) error {
	port, err := i.webhookPort(r)
	if err != nil {
		return err
	}
	_ = os.Remove(i.portsFile(r))
	listen := r.listen
	if listen == "" {
		// Whoever is killed and comes again where it was finds it free.
		var chosen int
		if err := chooseInto(&chosen); err != nil {
			return err
		}
		listen = fmt.Sprintf("127.0.0.1:%d", chosen)
	}
	args := []string{"scheduler", "--kubeconfig", i.kubeconfig(r), "--listen", listen,
		"--webhook-listen", fmt.Sprintf("127.0.0.1:%d", port), "--metrics-listen", "127.0.0.1:0",
		"--ports-file", i.portsFile(r)}
	if i.own {
		args = append(args, "--cert-secret", space+"/"+webhookSecret, "--cert-names", "127.0.0.1")
	} else {
		args = append(args, "--cert-file", i.path("pki", "webhook.crt"),
			"--key-file", i.path("pki", "webhook.key"))
	}
	if i.all {
		args = append(args, "--all-feasible")
	}
	args = append(append(args, i.words...), i.more...)
	if i.alone {
		args = append(args, "--lease", "none")
	}
	return i.processes.startAs(r.host, r.extender(), i.divvy, args...)
}

// extenderReady: it has said where it is, and that it knows the cluster.
func (i *installation) extenderReady(r replica) error {
	_, err := i.standingOf(r)
	return err
}

// standingOf is what it says of itself, once it knows the cluster: who leads.
func (i *installation) standingOf(r replica) (string, error) {
	found, err := i.ports(r)
	if err != nil {
		return "", err
	}
	return said(local("http", found.Extender) + "/readyz")
}

// leads: pods are placed by it.
func (i *installation) leads(r replica) error {
	words, err := i.standingOf(r)
	if err == nil && !strings.HasPrefix(words, "leads") {
		err = fmt.Errorf("%s says: %s", r.name, words)
	}
	return err
}

// startKubeScheduler runs the one of the deployed configuration.
func (i *installation) startKubeScheduler(r replica) error {
	found, err := i.ports(r)
	if err != nil {
		return err
	}
	front := local("http", found.Extender)
	if r.front != "" {
		front = r.front
	}
	var secure int
	if err := chooseInto(&secure); err != nil {
		return err
	}
	config, err := i.schedulerConfig(r, front)
	if err != nil {
		return err
	}
	return i.runKubeScheduler(r, config, secure)
}

// schedulerConfig is the deployed one, with the extender's address.
func (i *installation) schedulerConfig(r replica, front string) (string, error) {
	text, err := os.ReadFile(filepath.Join(i.deploy, "scheduler-config.yaml"))
	if i.all {
		text, err = exec.Command(i.divvy, "scheduler", "--print", "config", "--all-feasible").Output()
	}
	if err != nil {
		return "", err
	}
	if !strings.Contains(string(text), configAddress) {
		return "", fmt.Errorf("scheduler-config.yaml has no %s", configAddress)
	}
	said := strings.ReplaceAll(string(text), configAddress, front)
	if r.hasty {
		said = strings.ReplaceAll(said, "retryPeriod: 1s", "retryPeriod: 100ms") +
			"podInitialBackoffSeconds: 1\npodMaxBackoffSeconds: 1\n"
	}
	return said +
		fmt.Sprintf("clientConnection: {qps: 5000, burst: 5000, kubeconfig: %q}\n", i.direct(r)), nil
}

func (i *installation) runKubeScheduler(r replica, config string, secure int) error {
	file := i.path(r.name + "-kube-scheduler.yaml")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		return err
	}
	return i.processes.startAs(r.host, r.second(), i.self, "kube-scheduler", "--config", file,
		"--authentication-kubeconfig="+i.direct(r), "--authorization-kubeconfig="+i.direct(r),
		"--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics",
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", secure),
		"--cert-dir="+i.path("pki"), "--v=1")
}

// answers: 200, from whoever it is: these certificates are made by those who show them.
func answers(url string) error {
	_, err := said(url)
	return err
}

// said is the body of a 200.
func said(url string) (string, error) {
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	answer, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s: %s", url, answer.Status, text)
	}
	return string(text), err
}

// registerWebhook applies the deployed registration with an address instead of the service. Whom it
// trusts is left as it is where Divvy looks after that itself.
func (i *installation) registerWebhook(ctx context.Context, client *kubernetes.Clientset,
	port int) error {
	text, err := os.ReadFile(filepath.Join(i.deploy, "webhook.yaml"))
	if err != nil {
		return err
	}
	var config admission.MutatingWebhookConfiguration
	if err := yaml.UnmarshalStrict(text, &config); err != nil {
		return fmt.Errorf("webhook.yaml: %w", err)
	}
	var authority []byte
	if !i.own {
		if authority, err = os.ReadFile(i.path("pki", "ca.crt")); err != nil {
			return err
		}
	}
	for at := range config.Webhooks {
		where := &config.Webhooks[at].ClientConfig
		if where.Service == nil || where.Service.Path == nil {
			return errors.New("webhook.yaml: no service with a path")
		}
		url := local("https", port) + *where.Service.Path
		*where = admission.WebhookClientConfig{URL: &url, CABundle: authority}
	}
	hooks := client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		old, err := hooks.Get(ctx, config.Name, meta.GetOptions{})
		if isNotFound(err) {
			_, err = hooks.Create(ctx, &config, meta.CreateOptions{})
		}
		if err != nil || old.ResourceVersion == "" {
			return err
		}
		config.ResourceVersion = old.ResourceVersion
		for at := range config.Webhooks {
			if i.own && at < len(old.Webhooks) {
				config.Webhooks[at].ClientConfig.CABundle = old.Webhooks[at].ClientConfig.CABundle
			}
		}
		_, err = hooks.Update(ctx, &config, meta.UpdateOptions{})
		return err
	})
}

// webhookWorks: the API server has heard of the registration, which it does not at once.
func (i *installation) webhookWorks(ctx context.Context, client *kubernetes.Clientset) error {
	counted := i.counted
	if counted == "" {
		counted = "nvidia.com/gpu"
	}
	tried := pod("tried", container("c", asks{counted: "1"}))
	made, err := client.CoreV1().Pods("default").Create(ctx, tried,
		meta.CreateOptions{DryRun: []string{meta.DryRunAll}})
	if err == nil && made.Spec.SchedulerName != account {
		err = fmt.Errorf("a pod with devices is still for %s", made.Spec.SchedulerName)
	}
	return err
}

// remove ends what an earlier one started: installing again is how a new build is tried.
func (i *installation) remove() error {
	for _, name := range divvyParts() {
		if one, known := i.processes.find(name); known {
			if err := one.end(stopBound); err != nil {
				return err
			}
		}
	}
	return nil
}

// applyPolicies: those of policies.yaml, with one writer more. No agent runs on these nodes: whoever
// makes and changes them here does so in its place.
func (i *installation) applyPolicies(ctx context.Context) error {
	writers := strings.Join(append([]string{administrator}, i.writers...), ",")
	args := append([]string{"scheduler", "--print", "policies", "--writers", writers}, i.named...)
	text, err := exec.CommandContext(ctx, i.divvy, append(args, i.words...)...).Output()
	if err != nil {
		return fmt.Errorf("scheduler --print policies: %w", err)
	}
	file := i.path("policies.yaml")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return err
	}
	return i.kubectl(ctx, "apply", "-f", file)
}

// prepareInstall does what is done once for all replicas.
func (i *installation) prepareInstall(ctx context.Context, client *kubernetes.Clientset) error {
	for _, file := range []string{"rbac.yaml", "fencing.yaml", "queues.yaml"} {
		if err := i.apply(ctx, file); err != nil {
			return err
		}
	}
	if err := i.applyPolicies(ctx); err != nil {
		return err
	}
	a, err := openAuthority(i.path("pki"))
	if err != nil {
		return err
	}
	return a.server("webhook", []string{account + "." + space + ".svc"},
		[]net.IP{net.IPv4(127, 0, 0, 1)})
}

// startReplica returns when both of its processes are ready; whether it leads is another question.
func (i *installation) startReplica(ctx context.Context, client *kubernetes.Clientset,
	r replica) error {
	direct := local("https", i.cluster.ports.Apiserver)
	if err := i.writeAccount(ctx, client, r, direct); err != nil {
		return err
	}
	if r.server != "" {
		if err := os.Rename(i.kubeconfig(r), i.direct(r)); err != nil {
			return err
		}
		if err := i.writeAccount(ctx, client, r, r.server); err != nil {
			return err
		}
	}
	port, err := i.webhookPort(r)
	if err != nil {
		return err
	}
	if err := i.registerWebhook(ctx, client, port); err != nil {
		return err
	}
	if err := i.startExtender(r); err != nil {
		return err
	}
	err = i.processes.wait(ctx, r.extender(), func() error { return i.extenderReady(r) })
	if err != nil {
		return err
	}
	return i.startKubeScheduler(r)
}

// direct is the kubeconfig that names the API server itself.
func (i *installation) direct(r replica) string {
	if r.server == "" {
		return i.kubeconfig(r)
	}
	return i.path(r.name + "-direct.kubeconfig")
}

// install returns when pods with devices are placed by Divvy.
func (i *installation) install(ctx context.Context) error {
	client, err := i.client()
	if err != nil {
		return err
	}
	if err := i.prepareInstall(ctx, client); err != nil {
		return err
	}
	if err := i.startReplica(ctx, client, standing); err != nil {
		return err
	}
	err = i.processes.wait(ctx, standing.second(), func() error { return i.leads(standing) })
	if err != nil {
		return err
	}
	return i.processes.wait(ctx, extender, func() error { return i.webhookWorks(ctx, client) })
}
