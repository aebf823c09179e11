package harness

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
	SystemNamespace  = "divvy-system"
	SchedulerAccount = "divvy-scheduler"
	ExtenderProcess  = "divvy-scheduler"       // the process of the one that is installed
	WebhookSecret    = "divvy-webhook"         // as rbac.yaml lets it have one
	administrator    = "admin"                 // of the cluster's certificates; plays the nodes' agents
	configAddress    = "http://127.0.0.1:9396" // in the configuration as it is deployed
	tokenSeconds     = int64(certificateLife / 1e9)
)

// An Installation is Divvy as deploy/ has it, but for what a machine without a kubelet can not do:
// its containers run as processes here, with the service account's rights, and the webhook is found
// at an address instead of a service.
type Installation struct {
	*Cluster
	Divvy           string   // the program
	Deploy          string   // folder of the manifests
	AllFeasible     bool     // it tells kube-scheduler all nodes that would do (--all-feasible)
	resourceOptions []string // how resources are called: options of the extender, and of what is printed
	countResource   string   // the resource that devices are counted by; empty: as it is called otherwise
	Alone           bool     // there is no kube-scheduler beside it, and it leads (--lease none)
	extenderOptions []string // further options of its extender
	Kills           int      // as often the extender is killed; 0: as fits into a minute
	Before          string   // where CMake put an earlier commit's programs; empty: nowhere
	Nvidia          string   // NVIDIA's device plugin; empty: there is none
	Volcano         string   // Volcano's scheduler; empty: there is none
	OAuth2Proxy     string   // the program oauth2-proxy; empty: there is none
	Kueue           string   // the program of Kueue; empty: there is none
	writers         []string // of pods' and nodes' annotations, besides Divvy, by the policies
	named           []string // further options of the policies
	OwnCertificate  bool     // it looks after the webhook's certificate itself; else that is one of the cluster's
}

// A Replica is one pod of Divvy's: an extender and the kube-scheduler beside it. Its name is that
// of its files.
type Replica struct {
	Name      string
	host      string // what its machine is called; empty: as this one
	server    string // where its extender finds the API server; empty: where it is
	Listen    string // where its extender listens; empty: on a port that nobody has
	FrontURL  string // where its kube-scheduler finds the extender; empty: where it is
	FastRetry bool   // its kube-scheduler renews its Lease, and tries pods again, as soon as it can
}

// replicas are all there may be: the one that is installed, and a pair of which one can be lost.
var replicas = []string{"divvy", "divvy-a", "divvy-b"}

var DefaultReplica = Replica{Name: "divvy"}

func (r Replica) Extender() string { return r.Name + "-scheduler" }

func (r Replica) KubeScheduler() string { return r.Name + "-kube-scheduler" }

// DivvyProcesses are the processes of all replicas, in the order in which they are ended.
func DivvyProcesses() []string {
	var names []string
	for _, name := range replicas {
		r := Replica{Name: name}
		names = append(names, r.KubeScheduler(), r.Extender())
	}
	return names
}

type ExtenderPorts struct{ Extender, Webhook, Metrics int }

func (i *Installation) PortsFile(r Replica) string { return i.Path(r.Name + "-ports.json") }

func (i *Installation) Ports(r Replica) (ExtenderPorts, error) {
	var found ExtenderPorts
	text, err := os.ReadFile(i.PortsFile(r))
	if err != nil {
		return found, err
	}
	return found, json.Unmarshal(text, &found)
}

func (i *Installation) apply(ctx context.Context, file string) error {
	return i.Kubectl(ctx, "apply", "-f", filepath.Join(i.Deploy, file))
}

func (i *Installation) Kubectl(ctx context.Context, args ...string) error {
	command := exec.CommandContext(ctx, i.Path("bin", "kubectl"),
		append([]string{"--kubeconfig", i.Path("kubeconfig")}, args...)...)
	out, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

func (i *Installation) kubeconfig(r Replica) string { return i.Path(r.Name + ".kubeconfig") }

// WriteAccount makes a kubeconfig of the service account's, as its pods would have it.
func (i *Installation) WriteAccount(ctx context.Context, client *kubernetes.Clientset, r Replica,
	server string) error {
	seconds := tokenSeconds
	request := &authentication.TokenRequest{
		Spec: authentication.TokenRequestSpec{ExpirationSeconds: &seconds}}
	made, err := client.CoreV1().ServiceAccounts(SystemNamespace).CreateToken(ctx, SchedulerAccount, request,
		meta.CreateOptions{})
	if err != nil {
		return err
	}
	return writeTokenKubeconfig(i.kubeconfig(r), server, i.Path("pki", "ca.crt"), made.Status.Token)
}

// webhookPort is where a replica's webhook is, however often it begins anew: the registration says so
// before it does.
func (i *Installation) webhookPort(r Replica) (int, error) {
	file := i.Path(r.Name + "-webhook.port")
	text, err := os.ReadFile(file)
	if err == nil {
		return strconv.Atoi(string(text))
	}
	var port int
	if err := ChooseFreePorts(&port); err != nil {
		return 0, err
	}
	return port, os.WriteFile(file, []byte(strconv.Itoa(port)), 0o644)
}

func (i *Installation) StartExtender(r Replica) error {
	port, err := i.webhookPort(r)
	if err != nil {
		return err
	}
	_ = os.Remove(i.PortsFile(r))
	listen := r.Listen
	if listen == "" {
		// Whoever is killed and comes again where it was finds it free.
		var chosen int
		if err := ChooseFreePorts(&chosen); err != nil {
			return err
		}
		listen = fmt.Sprintf("127.0.0.1:%d", chosen)
	}
	args := []string{"scheduler", "--kubeconfig", i.kubeconfig(r), "--listen", listen,
		"--webhook-listen", fmt.Sprintf("127.0.0.1:%d", port), "--metrics-listen", "127.0.0.1:0",
		"--ports-file", i.PortsFile(r)}
	if i.OwnCertificate {
		args = append(args, "--cert-secret", SystemNamespace+"/"+WebhookSecret, "--cert-names", "127.0.0.1")
	} else {
		args = append(args, "--cert-file", i.Path("pki", "webhook.crt"),
			"--key-file", i.Path("pki", "webhook.key"))
	}
	if i.AllFeasible {
		args = append(args, "--all-feasible")
	}
	args = append(append(args, i.resourceOptions...), i.extenderOptions...)
	if i.Alone {
		args = append(args, "--lease", "none")
	}
	return i.Processes.startAs(r.host, r.Extender(), i.Divvy, args...)
}

// ExtenderReady: it has said where it is, and that it knows the cluster.
func (i *Installation) ExtenderReady(r Replica) error {
	_, err := i.leaderState(r)
	return err
}

// leaderState is what it says of itself, once it knows the cluster: who leads.
func (i *Installation) leaderState(r Replica) (string, error) {
	found, err := i.Ports(r)
	if err != nil {
		return "", err
	}
	return responseOK(LocalURL("http", found.Extender) + "/readyz")
}

// Leads: pods are placed by it.
func (i *Installation) Leads(r Replica) error {
	words, err := i.leaderState(r)
	if err == nil && !strings.HasPrefix(words, "leads") {
		err = fmt.Errorf("%s says: %s", r.Name, words)
	}
	return err
}

// StartKubeScheduler runs the one of the deployed configuration.
func (i *Installation) StartKubeScheduler(r Replica) error {
	found, err := i.Ports(r)
	if err != nil {
		return err
	}
	front := LocalURL("http", found.Extender)
	if r.FrontURL != "" {
		front = r.FrontURL
	}
	var secure int
	if err := ChooseFreePorts(&secure); err != nil {
		return err
	}
	config, err := i.SchedulerConfig(r, front)
	if err != nil {
		return err
	}
	return i.RunKubeScheduler(r, config, secure)
}

// SchedulerConfig is the deployed one, with the extender's address.
func (i *Installation) SchedulerConfig(r Replica, front string) (string, error) {
	text, err := os.ReadFile(filepath.Join(i.Deploy, "scheduler-config.yaml"))
	if i.AllFeasible {
		text, err = exec.Command(i.Divvy, "scheduler", "--print", "config", "--all-feasible").Output()
	}
	if err != nil {
		return "", err
	}
	if !strings.Contains(string(text), configAddress) {
		return "", fmt.Errorf("scheduler-config.yaml has no %s", configAddress)
	}
	said := strings.ReplaceAll(string(text), configAddress, front)
	if r.FastRetry {
		said = strings.ReplaceAll(said, "retryPeriod: 1s", "retryPeriod: 100ms") +
			"podInitialBackoffSeconds: 1\npodMaxBackoffSeconds: 1\n"
	}
	return said +
		fmt.Sprintf("clientConnection: {qps: 5000, burst: 5000, kubeconfig: %q}\n", i.direct(r)), nil
}

func (i *Installation) RunKubeScheduler(r Replica, config string, secure int) error {
	file := i.Path(r.Name + "-kube-scheduler.yaml")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		return err
	}
	return i.Processes.startAs(r.host, r.KubeScheduler(), i.Self, "kube-scheduler", "--config", file,
		"--authentication-kubeconfig="+i.direct(r), "--authorization-kubeconfig="+i.direct(r),
		"--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics",
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", secure),
		"--cert-dir="+i.Path("pki"), "--v=1")
}

// RespondsOK: 200, from whoever it is: these certificates are made by those who show them.
func RespondsOK(url string) error {
	_, err := responseOK(url)
	return err
}

// responseOK is the body of a 200.
func responseOK(url string) (string, error) {
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	reply, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err == nil && reply.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s: %s", url, reply.Status, text)
	}
	return string(text), err
}

// registerWebhook applies the deployed registration with an address instead of the service. Whom it
// trusts is left as it is where Divvy looks after that itself.
func (i *Installation) registerWebhook(ctx context.Context, client *kubernetes.Clientset,
	port int) error {
	text, err := os.ReadFile(filepath.Join(i.Deploy, "webhook.yaml"))
	if err != nil {
		return err
	}
	var config admission.MutatingWebhookConfiguration
	if err := yaml.UnmarshalStrict(text, &config); err != nil {
		return fmt.Errorf("webhook.yaml: %w", err)
	}
	var authority []byte
	if !i.OwnCertificate {
		if authority, err = os.ReadFile(i.Path("pki", "ca.crt")); err != nil {
			return err
		}
	}
	for at := range config.Webhooks {
		where := &config.Webhooks[at].ClientConfig
		if where.Service == nil || where.Service.Path == nil {
			return errors.New("webhook.yaml: no service with a path")
		}
		url := LocalURL("https", port) + *where.Service.Path
		*where = admission.WebhookClientConfig{URL: &url, CABundle: authority}
	}
	hooks := client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		old, err := hooks.Get(ctx, config.Name, meta.GetOptions{})
		if IsNotFound(err) {
			_, err = hooks.Create(ctx, &config, meta.CreateOptions{})
		}
		if err != nil || old.ResourceVersion == "" {
			return err
		}
		config.ResourceVersion = old.ResourceVersion
		for at := range config.Webhooks {
			if i.OwnCertificate && at < len(old.Webhooks) {
				config.Webhooks[at].ClientConfig.CABundle = old.Webhooks[at].ClientConfig.CABundle
			}
		}
		_, err = hooks.Update(ctx, &config, meta.UpdateOptions{})
		return err
	})
}

// WebhookWorks: the API server has heard of the registration, which it does not at once.
func (i *Installation) WebhookWorks(ctx context.Context, client *kubernetes.Clientset) error {
	counted := i.countResource
	if counted == "" {
		counted = "nvidia.com/gpu"
	}
	tried := Pod("tried", Container("c", Limits{counted: "1"}))
	made, err := client.CoreV1().Pods("default").Create(ctx, tried,
		meta.CreateOptions{DryRun: []string{meta.DryRunAll}})
	if err == nil && made.Spec.SchedulerName != SchedulerAccount {
		err = fmt.Errorf("a pod with devices is still for %s", made.Spec.SchedulerName)
	}
	return err
}

// Remove ends what an earlier one started: installing again is how a new build is tried.
func (i *Installation) Remove() error {
	for _, name := range DivvyProcesses() {
		if one, known := i.Processes.Find(name); known {
			if err := one.End(StopBound); err != nil {
				return err
			}
		}
	}
	return nil
}

// applyPolicies: those of policies.yaml, with one writer more. No agent runs on these nodes: whoever
// makes and changes them here does so in its place.
func (i *Installation) applyPolicies(ctx context.Context) error {
	writers := strings.Join(append([]string{administrator}, i.writers...), ",")
	args := append([]string{"scheduler", "--print", "policies", "--writers", writers}, i.named...)
	text, err := exec.CommandContext(ctx, i.Divvy, append(args, i.resourceOptions...)...).Output()
	if err != nil {
		return fmt.Errorf("scheduler --print policies: %w", err)
	}
	file := i.Path("policies.yaml")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return err
	}
	return i.Kubectl(ctx, "apply", "-f", file)
}

// PrepareInstall does what is done once for all replicas.
func (i *Installation) PrepareInstall(ctx context.Context, client *kubernetes.Clientset) error {
	for _, file := range []string{"rbac.yaml", "fencing.yaml", "queues.yaml"} {
		if err := i.apply(ctx, file); err != nil {
			return err
		}
	}
	if err := i.applyPolicies(ctx); err != nil {
		return err
	}
	a, err := openAuthority(i.Path("pki"))
	if err != nil {
		return err
	}
	return a.server("webhook", []string{SchedulerAccount + "." + SystemNamespace + ".svc"},
		[]net.IP{net.IPv4(127, 0, 0, 1)})
}

// startReplica returns when both of its processes are ready; whether it leads is another question.
func (i *Installation) startReplica(ctx context.Context, client *kubernetes.Clientset,
	r Replica) error {
	direct := LocalURL("https", i.Cluster.Ports.Apiserver)
	if err := i.WriteAccount(ctx, client, r, direct); err != nil {
		return err
	}
	if r.server != "" {
		if err := os.Rename(i.kubeconfig(r), i.direct(r)); err != nil {
			return err
		}
		if err := i.WriteAccount(ctx, client, r, r.server); err != nil {
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
	if err := i.StartExtender(r); err != nil {
		return err
	}
	err = i.Processes.Wait(ctx, r.Extender(), func() error { return i.ExtenderReady(r) })
	if err != nil {
		return err
	}
	return i.StartKubeScheduler(r)
}

// direct is the kubeconfig that names the API server itself.
func (i *Installation) direct(r Replica) string {
	if r.server == "" {
		return i.kubeconfig(r)
	}
	return i.Path(r.Name + "-direct.kubeconfig")
}

// Install returns when pods with devices are placed by Divvy.
func (i *Installation) Install(ctx context.Context) error {
	client, err := i.Client()
	if err != nil {
		return err
	}
	if err := i.PrepareInstall(ctx, client); err != nil {
		return err
	}
	if err := i.startReplica(ctx, client, DefaultReplica); err != nil {
		return err
	}
	err = i.Processes.Wait(ctx, DefaultReplica.KubeScheduler(), func() error { return i.Leads(DefaultReplica) })
	if err != nil {
		return err
	}
	return i.Processes.Wait(ctx, ExtenderProcess, func() error { return i.WebhookWorks(ctx, client) })
}
