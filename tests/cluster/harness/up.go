package main

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
var readyBound = patiently(3 * time.Minute)

// How long one may take to end by itself.
var stopBound = patiently(20 * time.Second)

// patiently: so many times as long where processors are emulated (DIVVY_PATIENCE, a whole number).
func patiently(bound time.Duration) time.Duration {
	if times, err := strconv.Atoi(os.Getenv("DIVVY_PATIENCE")); err == nil && times > 1 {
		return bound * time.Duration(times)
	}
	return bound
}

// A cluster is what is in one folder: certificates, kubeconfigs, logs, and who runs.
type cluster struct {
	dir       string
	self      string // this program
	processes processes
	ports     ports
}

// ports are on loopback, free at the time they were chosen.
type ports struct{ Etcd, EtcdPeer, Apiserver, Scheduler int }

func (c *cluster) path(parts ...string) string {
	return filepath.Join(append([]string{c.dir}, parts...)...)
}

func choosePorts() (ports, error) {
	var chosen ports
	err := chooseInto(&chosen.Etcd, &chosen.EtcdPeer, &chosen.Apiserver, &chosen.Scheduler)
	return chosen, err
}

// The kernel hands out ports from here on to whoever connects: one that was free would be somebody's
// by the time that a part which was ended listens again.
const firstEphemeral = 32768

// chooseInto holds all of them at once, so that they differ.
func chooseInto(numbers ...*int) error {
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
func (c *cluster) writePorts() error {
	text, err := json.Marshal(c.ports)
	if err != nil {
		return err
	}
	return os.WriteFile(c.path("ports.json"), text, 0o644)
}

func (c *cluster) readPorts() error {
	text, err := os.ReadFile(c.path("ports.json"))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, &c.ports)
}

func local(scheme string, port int) string {
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
func (c *cluster) ours() error {
	found, err := os.ReadDir(c.dir)
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
			return fmt.Errorf("%s was not made by up: %s is in it", c.dir, one.Name())
		}
	}
	return nil
}

func (c *cluster) prepare() error {
	for _, dir := range []string{"pki", "run", "log", "etcd", "bin"} {
		if err := os.MkdirAll(c.path(dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(c.path(marker), nil, 0o644); err != nil {
		return err
	}
	a, err := newAuthority(c.path("pki"))
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
	server := local("https", c.ports.Apiserver)
	for _, one := range identities {
		if err := a.client(one.name, one.user, one.groups...); err != nil {
			return err
		}
		path := c.path(one.name + ".kubeconfig")
		if one.name == "admin" {
			path = c.path("kubeconfig")
		}
		if err := writeKubeconfig(path, server, one.name, a); err != nil {
			return err
		}
	}
	kubectl := c.path("bin", "kubectl")
	if err := os.Symlink(c.self, kubectl); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return os.WriteFile(c.path("audit-policy.yaml"), []byte(auditPolicy), 0o644)
}

func (c *cluster) startState() error {
	err := c.processes.start("etcd", c.self, "etcd", "--data-dir", c.path("etcd"),
		"--client-url", local("http", c.ports.Etcd), "--peer-url", local("http", c.ports.EtcdPeer))
	if err != nil {
		return err
	}
	pki := func(file string) string { return c.path("pki", file) }
	return c.processes.start("kube-apiserver", c.self, "kube-apiserver",
		"--etcd-servers="+local("http", c.ports.Etcd),
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.ports.Apiserver),
		"--cert-dir="+c.path("pki"),
		"--tls-cert-file="+pki("apiserver.crt"), "--tls-private-key-file="+pki("apiserver.key"),
		"--client-ca-file="+pki("ca.crt"),
		"--service-account-key-file="+pki("service-accounts.pub"),
		"--service-account-signing-key-file="+pki("service-accounts.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-cluster-ip-range=198.18.80.0/20",
		"--authorization-mode=Node,RBAC", "--allow-privileged=true",
		"--endpoint-reconciler-type=none",
		// Nodes here have no kubelet that would ever lift the taint.
		"--disable-admission-plugins=TaintNodesByCondition",
		"--audit-policy-file="+c.path("audit-policy.yaml"), "--audit-log-path="+c.path("audit.log"),
		"--audit-log-mode=batch",
		"--max-requests-inflight=1500", "--max-mutating-requests-inflight=750",
		"--profiling=false", "--v=1")
}

func (c *cluster) startControllers() error {
	err := c.processes.start("kube-controller-manager", c.self, "kube-controller-manager",
		"--kubeconfig="+c.path("controller-manager.kubeconfig"), "--leader-elect=false",
		"--secure-port=0", "--use-service-account-credentials",
		"--service-account-private-key-file="+c.path("pki", "service-accounts.key"),
		"--root-ca-file="+c.path("pki", "ca.crt"),
		// Nodes here send no heartbeats: nobody shall find them dead.
		"--controllers=*,-node-lifecycle-controller,-taint-eviction-controller",
		"--profiling=false", "--v=1")
	if err != nil {
		return err
	}
	return c.processes.start("kube-scheduler", c.self, "kube-scheduler",
		"--kubeconfig="+c.path("scheduler.kubeconfig"),
		"--authentication-kubeconfig="+c.path("scheduler.kubeconfig"),
		"--authorization-kubeconfig="+c.path("scheduler.kubeconfig"),
		"--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics",
		"--leader-elect=false", "--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.ports.Scheduler), "--cert-dir="+c.path("pki"), "--v=1")
}

func (c *cluster) client() (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.path("kubeconfig"))
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

// up returns when pods can be made and placed. What it started it ends if it fails.
func (c *cluster) up(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, c.down(true))
		}
	}()
	if c.ports, err = choosePorts(); err != nil {
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
	client, err := c.client()
	if err != nil {
		return err
	}
	err = c.processes.wait(ctx, "kube-apiserver", func() error { return readyz(ctx, client) })
	if err != nil {
		return err
	}
	if err = c.startControllers(); err != nil {
		return err
	}
	err = c.processes.wait(ctx, "kube-scheduler", func() error {
		return answers(local("https", c.ports.Scheduler) + "/readyz")
	})
	if err != nil {
		return err
	}
	return c.processes.wait(ctx, "kube-controller-manager",
		func() error { return podsCanBeMade(ctx, client) })
}

// down ends everything in the reverse order of its start and removes all but the programs (and the
// logs, if they are to stay). Doing it again is fine.
func (c *cluster) down(logs bool) error {
	if err := c.ours(); err != nil {
		return err
	}
	failed := c.removeNode()
	order := append(divvyParts(), "kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd")
	for _, name := range order {
		if one, known := c.processes.find(name); known {
			failed = errors.Join(failed, one.end(stopBound))
		}
	}
	if failed != nil {
		return failed // who still runs must stay on record
	}
	remove := []string{"pki", "run", "etcd", "kubeconfig", "controller-manager.kubeconfig",
		"scheduler.kubeconfig", "audit-policy.yaml", "policies.yaml", "ports.json",
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
		failed = errors.Join(failed, os.RemoveAll(c.path(one)))
	}
	return failed
}
