package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// How long one part may take to be ready on a machine that is busy with other things.
var ReadyBound = scaledByPatience(3 * time.Minute)

// How long one may take to end by itself.
var StopBound = scaledByPatience(20 * time.Second)

// scaledByPatience: so many times as long where processors are emulated (DIVVY_PATIENCE, a whole number).
func scaledByPatience(bound time.Duration) time.Duration {
	if times, err := strconv.Atoi(os.Getenv("DIVVY_PATIENCE")); err == nil && times > 1 {
		return bound * time.Duration(times)
	}
	return bound
}

// A Cluster is what is in one folder: certificates, kubeconfigs, logs, and who runs.
type Cluster struct {
	Dir       string
	Self      string // this program
	Processes Processes
	Ports     ports
}

// ports are on loopback, free at the time they were chosen.
type ports struct{ Etcd, EtcdPeer, Apiserver, Scheduler int }

func (c *Cluster) Path(parts ...string) string {
	return filepath.Join(append([]string{c.Dir}, parts...)...)
}

func choosePorts() (ports, error) {
	var chosen ports
	err := ChooseFreePorts(&chosen.Etcd, &chosen.EtcdPeer, &chosen.Apiserver, &chosen.Scheduler)
	return chosen, err
}

// The kernel hands out ports from here on to whoever connects: one that was free would be somebody's
// by the time that a part which was ended listens again.
const firstEphemeral = 32768

// ChooseFreePorts holds all of them at once, so that they differ.
func ChooseFreePorts(numbers ...*int) error {
	const lowest, tries = 20000, 1000
	for _, into := range numbers {
		var held net.Listener
		var err error
		for range tries {
			port := lowest + rand.IntN(firstEphemeral-lowest)
			if held, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
				break
			}
		}
		if err != nil {
			return err
		}
		defer held.Close()
		*into = held.Addr().(*net.TCPAddr).Port
	}
	return nil
}

// For those who come later: install, and whoever wants to look at metrics.
func (c *Cluster) writePorts() error {
	text, err := json.Marshal(c.Ports)
	if err != nil {
		return err
	}
	return os.WriteFile(c.Path("ports.json"), text, 0o644)
}

func (c *Cluster) ReadPorts() error {
	text, err := os.ReadFile(c.Path("ports.json"))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, &c.Ports)
}

func LocalURL(scheme string, port int) string {
	return scheme + "://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// Writes are counted from it, by who made them and of what; what was in them is not needed.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
  verbs: [create, update, patch, delete, deletecollection]
- level: None
`

// identities that have a kubeconfig of their own.
var identities = []struct {
	name, user string
	groups     []string
}{
	{"admin", "admin", []string{"system:masters"}},
	{"controller-manager", "system:kube-controller-manager", nil},
	{"scheduler", "system:kube-scheduler", nil},
}

// The file that says that a folder is a cluster's: only there anything is removed.
const marker = "divvy-test-cluster"

// ours: nothing is in the folder that somebody else put there.
func (c *Cluster) ours() error {
	found, err := os.ReadDir(c.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, one := range found {
		if one.Name() == marker {
			return nil
		}
	}
	for _, one := range found {
		if one.Name() != "bin" {
			return fmt.Errorf("%s was not made by up: %s is in it", c.Dir, one.Name())
		}
	}
	return nil
}

func (c *Cluster) prepare() error {
	for _, dir := range []string{"pki", "run", "log", "etcd", "bin"} {
		if err := os.MkdirAll(c.Path(dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(c.Path(marker), nil, 0o644); err != nil {
		return err
	}
	a, err := newAuthority(c.Path("pki"))
	if err != nil {
		return err
	}
	err = a.server("apiserver",
		[]string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		[]net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.IPv4(198, 18, 80, 1)})
	if err != nil {
		return err
	}
	if err := a.signingKey("service-accounts"); err != nil {
		return err
	}
	server := LocalURL("https", c.Ports.Apiserver)
	for _, one := range identities {
		if err := a.client(one.name, one.user, one.groups...); err != nil {
			return err
		}
		path := c.Path(one.name + ".kubeconfig")
		if one.name == "admin" {
			path = c.Path("kubeconfig")
		}
		if err := writeKubeconfig(path, server, one.name, a); err != nil {
			return err
		}
	}
	kubectl := c.Path("bin", "kubectl")
	if err := os.Symlink(c.Self, kubectl); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := c.SetAuthentication(nil); err != nil {
		return err
	}
	return os.WriteFile(c.Path("audit-policy.yaml"), []byte(auditPolicy), 0o644)
}

// SetAuthentication replaces the AuthenticationConfiguration, which the API server reads again when it changes. Nil: no
// issuer but that of service accounts.
func (c *Cluster) SetAuthentication(configuration []byte) error {
	if configuration == nil {
		configuration = []byte(`{"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration"}`)
	}
	file := c.Path("authentication.json")
	if err := os.WriteFile(file+".new", configuration, 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

func (c *Cluster) startState() error {
	err := c.Processes.Start("etcd", c.Self, "etcd", "--data-dir", c.Path("etcd"),
		"--client-url", LocalURL("http", c.Ports.Etcd), "--peer-url", LocalURL("http", c.Ports.EtcdPeer))
	if err != nil {
		return err
	}
	pki := func(file string) string { return c.Path("pki", file) }
	return c.Processes.Start("kube-apiserver", c.Self, "kube-apiserver",
		"--etcd-servers="+LocalURL("http", c.Ports.Etcd),
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.Ports.Apiserver),
		"--cert-dir="+c.Path("pki"),
		"--tls-cert-file="+pki("apiserver.crt"), "--tls-private-key-file="+pki("apiserver.key"),
		"--client-ca-file="+pki("ca.crt"),
		"--authentication-config="+c.Path("authentication.json"),
		"--service-account-key-file="+pki("service-accounts.pub"),
		"--service-account-signing-key-file="+pki("service-accounts.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-cluster-ip-range=198.18.80.0/20",
		"--authorization-mode=Node,RBAC", "--allow-privileged=true",
		"--endpoint-reconciler-type=none",
		// Nodes here have no kubelet that would ever lift the taint.
		"--disable-admission-plugins=TaintNodesByCondition",
		"--audit-policy-file="+c.Path("audit-policy.yaml"), "--audit-log-path="+c.Path("audit.log"),
		"--audit-log-mode=batch",
		"--max-requests-inflight=1500", "--max-mutating-requests-inflight=750",
		"--profiling=false", "--v=1")
}

func (c *Cluster) startControllers() error {
	err := c.Processes.Start("kube-controller-manager", c.Self, "kube-controller-manager",
		"--kubeconfig="+c.Path("controller-manager.kubeconfig"), "--leader-elect=false",
		"--secure-port=0", "--use-service-account-credentials",
		"--service-account-private-key-file="+c.Path("pki", "service-accounts.key"),
		"--root-ca-file="+c.Path("pki", "ca.crt"),
		// Nodes here send no heartbeats: nobody shall find them dead.
		"--controllers=*,-node-lifecycle-controller,-taint-eviction-controller",
		"--profiling=false", "--v=1")
	if err != nil {
		return err
	}
	return c.Processes.Start("kube-scheduler", c.Self, "kube-scheduler",
		"--kubeconfig="+c.Path("scheduler.kubeconfig"),
		"--authentication-kubeconfig="+c.Path("scheduler.kubeconfig"),
		"--authorization-kubeconfig="+c.Path("scheduler.kubeconfig"),
		"--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics",
		"--leader-elect=false", "--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.Ports.Scheduler), "--cert-dir="+c.Path("pki"), "--v=1")
}

func (c *Cluster) Client() (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Path("kubeconfig"))
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 5000, 5000
	return kubernetes.NewForConfig(config)
}

// readyz asks what the apiserver says of itself.
func readyz(ctx context.Context, client *kubernetes.Clientset) error {
	return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// podsCanBeMade: the controllers have made what every pod needs.
func podsCanBeMade(ctx context.Context, client *kubernetes.Clientset) error {
	_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", meta.GetOptions{})
	return err
}

// Up returns when pods can be made and placed. What it started it ends if it fails.
func (c *Cluster) Up(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Down(true))
		}
	}()
	if c.Ports, err = choosePorts(); err != nil {
		return err
	}
	if err = c.prepare(); err != nil {
		return err
	}
	if err = c.writePorts(); err != nil {
		return err
	}
	if err = c.startState(); err != nil {
		return err
	}
	client, err := c.Client()
	if err != nil {
		return err
	}
	err = c.Processes.Wait(ctx, "kube-apiserver", func() error { return readyz(ctx, client) })
	if err != nil {
		return err
	}
	if err = c.startControllers(); err != nil {
		return err
	}
	err = c.Processes.Wait(ctx, "kube-scheduler", func() error {
		return RespondsOK(LocalURL("https", c.Ports.Scheduler) + "/readyz")
	})
	if err != nil {
		return err
	}
	return c.Processes.Wait(ctx, "kube-controller-manager",
		func() error { return podsCanBeMade(ctx, client) })
}

// Down ends everything in the reverse order of its start and removes all but the programs (and the
// logs, if they are to stay). Doing it again is fine.
func (c *Cluster) Down(logs bool) error {
	if err := c.ours(); err != nil {
		return err
	}
	failed := c.removeNode()
	order := append(DivvyProcesses(), "kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd")
	for _, name := range order {
		if one, known := c.Processes.Find(name); known {
			failed = errors.Join(failed, one.End(StopBound))
		}
	}
	if failed != nil {
		return failed // who still runs must stay on record
	}
	remove := []string{"pki", "run", "etcd", "kubeconfig", "controller-manager.kubeconfig",
		"scheduler.kubeconfig", "audit-policy.yaml", "authentication.json", "policies.yaml", "ports.json",
		// What checks make.
		"device-config.yaml", "renamed", "pools.yaml"}
	for _, r := range replicas {
		remove = append(remove, r+".kubeconfig", r+"-direct.kubeconfig", r+"-ports.json",
			r+"-kube-scheduler.yaml", r+"-webhook.port")
	}
	if !logs {
		remove = append(remove, "log", "audit.log", marker)
	}
	for _, one := range remove {
		failed = errors.Join(failed, os.RemoveAll(c.Path(one)))
	}
	return failed
}
