package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	authentication "k8s.io/api/authentication/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	KubeletNode   = "kubelet-1"
	KubeletDir    = "/var/lib/kubelet" // a kubelet has its plugins there, whatever it is told
	PauseImage    = "cluster.test/pause:1"
	probeImage    = "cluster.test/share-probe:1"
	AgentProcess  = "divvy-agent"
	HelperProcess = "divvy-agent-helper"
	AgentUser     = 65532 // of an agent with a helper
	AgentAccount  = "divvy-agent"
	AgentMetrics  = "127.0.0.1:19394"
)

// The cards of the node with a kubelet; a bench has others.
var SimulatedDevices = "sim-h100x4"

// NodeProcesses are the processes of the node with a kubelet, in the order in which they are ended.
var NodeProcesses = []string{AgentProcess, HelperProcess, NvidiaProcess, "kubelet", "containerd"}

// What containerd and a kubelet make outside of our folder. Who is on record made what was not
// there before.
var outsiders = []string{KubeletDir, "/run/containerd", "/var/log/containers", "/var/log/pods",
	"/var/lib/cni", "/etc/cni", "/opt/cni", "/usr/libexec/kubernetes"}

// A NodeRecord is there while there is a node with a kubelet, or something is left of it.
type NodeRecord struct {
	Build string   `json:"build"` // where CMake put programs
	Made  []string `json:"made"`  // outside of our folder, by that node
	// Folder of containerd 2 and its shim; empty: the machine's own containerd, of 1.6.
	Runtime string `json:"runtime,omitempty"`
	// The agent has no rights, and a helper for them.
	Helper bool `json:"helper,omitempty"`
}

func (c *Cluster) nodeFile() string { return c.Path("node.json") }

func (c *Cluster) ReadNodeRecord() (NodeRecord, error) {
	var record NodeRecord
	text, err := os.ReadFile(c.nodeFile())
	if err == nil {
		err = json.Unmarshal(text, &record)
	}
	return record, err
}

// claimNode notes what is not there yet, before anything is made.
func (c *Cluster) claimNode(build, runtime string, helper bool) error {
	record := NodeRecord{Build: build, Runtime: runtime, Helper: helper}
	for _, path := range outsiders {
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			record.Made = append(record.Made, path)
		} else if path == KubeletDir {
			return fmt.Errorf("%s is there: is this a node of another cluster?", path)
		}
	}
	if err := takeLeftGroups(); err != nil {
		return err
	}
	return c.WriteNodeRecord(record)
}

func (c *Cluster) WriteNodeRecord(record NodeRecord) error {
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	return os.WriteFile(c.nodeFile(), text, 0o644)
}

const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 127.0.0.1
port: %[1]d
healthzBindAddress: 127.0.0.1
healthzPort: %[2]d
readOnlyPort: 0
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
containerRuntimeEndpoint: unix://%[3]s
podLogsDir: %[4]s
volumePluginDir: %[5]s
cgroupDriver: %[6]s
failCgroupV1: false
failSwapOn: false
enforceNodeAllocatable: []
oomScoreAdj: 0
imageGCHighThresholdPercent: 100
imageMinimumGCAge: 24h
evictionHard: {memory.available: 0%%, nodefs.available: 0%%, nodefs.inodesFree: 0%%, imagefs.available: 0%%}
`

func (c *Cluster) startKubelet(ctx context.Context) error {
	if err := os.Mkdir(KubeletDir, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount(c.Path("kubelet"), KubeletDir, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting %s: %w", KubeletDir, err)
	}
	a, err := openAuthority(c.Path("pki"))
	if err != nil {
		return err
	}
	if err := a.client("kubelet", "system:node:"+KubeletNode, "system:nodes"); err != nil {
		return err
	}
	kubeconfig := c.Path("kubelet.kubeconfig")
	if err := writeKubeconfig(kubeconfig, LocalURL("https", c.Ports.Apiserver), "kubelet", a); err != nil {
		return err
	}
	var port, health int
	if err := ChooseFreePorts(&port, &health); err != nil {
		return err
	}
	config := fmt.Sprintf(kubeletConfig, port, health, c.containerdSocket(), c.Path("pods-log"),
		c.Path("kubelet", "volume-plugins"), cgroupDriver())
	if err := os.WriteFile(c.Path("kubelet.yaml"), []byte(config), 0o644); err != nil {
		return err
	}
	if err := c.RunKubelet(); err != nil {
		return err
	}
	return c.Processes.Wait(ctx, "kubelet", func() error {
		_, err := c.KubeletNode(ctx, core.NodeReady)
		return err
	})
}

// RunKubelet is for kubelets that begin anew, too.
func (c *Cluster) RunKubelet() error {
	return c.Processes.Start("kubelet", c.Self, "kubelet", "--config="+c.Path("kubelet.yaml"),
		"--kubeconfig="+c.Path("kubelet.kubeconfig"), "--hostname-override="+KubeletNode,
		"--cert-dir="+c.Path("kubelet", "pki"), "--v=2")
}

// KubeletNode is the node, if its condition is true.
func (c *Cluster) KubeletNode(ctx context.Context, wanted core.NodeConditionType) (*core.Node, error) {
	client, err := c.Client()
	if err != nil {
		return nil, err
	}
	node, err := client.CoreV1().Nodes().Get(ctx, KubeletNode, meta.GetOptions{})
	if err != nil {
		return nil, err
	}
	for _, one := range node.Status.Conditions {
		if one.Type == wanted && one.Status == core.ConditionTrue {
			return node, nil
		}
	}
	return nil, fmt.Errorf("node %s is not %s: %v", KubeletNode, wanted, node.Status.Conditions)
}

// RunAgent runs Divvy's agent on simulated cards; its runtime folder is ours.
func (c *Cluster) RunAgent(build string, options ...string) error {
	return c.runAgentOn(SimulatedDevices, build, options...)
}

// runAgentOn runs it on these cards.
func (c *Cluster) runAgentOn(cards, build string, options ...string) error {
	words := append([]string{"DIVVY_RUNTIME_DIR=" + c.Path("divvy"),
		filepath.Join(build, "bin", "divvy"), "agent", "--node", cards,
		"--node-name", KubeletNode, "--kubeconfig", c.Path("divvy-agent.kubeconfig"),
		"--metrics-listen", AgentMetrics}, options...)
	// The runtime here looks for devices in a folder of its own, of which early builds know nothing.
	help, err := exec.Command(filepath.Join(build, "bin", "divvy"), "agent", "--help").Output()
	if err != nil {
		return err
	}
	if strings.Contains(string(help), "--cdi-dir") {
		words = append(words, "--cdi-dir", c.CdiDir())
	}
	record, err := c.ReadNodeRecord()
	// Of earlier builds' agents root's is the one that is replaced.
	if err != nil || record.Build != build || !record.Helper {
		return errors.Join(c.endHelper(), c.Processes.Start(AgentProcess, "/usr/bin/env", words...))
	}
	if err := c.RunHelper(cards, build); err != nil {
		return err
	}
	return c.Processes.startWithout(AgentUser, AgentProcess, "/usr/bin/env", append(words, "--helper")...)
}

// RunHelper runs the agent's helper of these cards, unless it does already.
func (c *Cluster) RunHelper(cards, build string) error {
	if one, known := c.Processes.Find(HelperProcess); known && one.Alive() {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", one.Pid)); err == nil &&
			strings.Contains(string(text), "\x00"+cards+"\x00") {
			return nil
		}
	}
	if err := c.endHelper(); err != nil {
		return err
	}
	return c.Processes.Start(HelperProcess, "/usr/bin/env", "DIVVY_RUNTIME_DIR="+c.Path("divvy"),
		filepath.Join(build, "bin", "divvy"), "agent-helper", "--node", cards, "--cdi-dir", c.CdiDir(),
		"--agent-user", fmt.Sprint(AgentUser))
}

func (c *Cluster) endHelper() error {
	if one, known := c.Processes.Find(HelperProcess); known {
		return one.End(StopBound)
	}
	return nil
}

// writeAgentAccount makes a kubeconfig of the service account's on this node, as a pod there has it.
func (c *Cluster) writeAgentAccount(ctx context.Context, deploy string) error {
	i := Installation{Cluster: c, Deploy: deploy}
	for _, rights := range []string{"agent-rbac.yaml", "agent-announce-rbac.yaml"} {
		if err := i.apply(ctx, rights); err != nil {
			return err
		}
	}
	node, err := c.KubeletNode(ctx, core.NodeReady)
	if err != nil {
		return err
	}
	client, err := c.Client()
	if err != nil {
		return err
	}
	seconds := tokenSeconds
	request := &authentication.TokenRequest{Spec: authentication.TokenRequestSpec{
		ExpirationSeconds: &seconds, BoundObjectRef: &authentication.BoundObjectReference{
			Kind: "Node", APIVersion: "v1", Name: node.Name, UID: node.UID}}}
	made, err := client.CoreV1().ServiceAccounts(SystemNamespace).CreateToken(ctx, AgentAccount, request,
		meta.CreateOptions{})
	if err != nil {
		return err
	}
	file := c.Path("divvy-agent.kubeconfig")
	if err := writeTokenKubeconfig(file, LocalURL("https", c.Ports.Apiserver), c.Path("pki", "ca.crt"),
		made.Status.Token); err != nil {
		return err
	}
	return os.Chmod(file, 0o640) // its group is the agent's
}

func (c *Cluster) startAgent(ctx context.Context, build, deploy string) error {
	if err := c.writeAgentAccount(ctx, deploy); err != nil {
		return err
	}
	if err := c.RunAgent(build); err != nil {
		return err
	}
	return c.Processes.Wait(ctx, AgentProcess, func() error {
		node, err := c.KubeletNode(ctx, core.NodeReady)
		if err != nil {
			return err
		}
		count := node.Status.Allocatable["nvidia.com/gpu"]
		if count.IsZero() || node.Annotations["hami.io/node-nvidia-register"] == "" {
			return fmt.Errorf("node %s has %s nvidia.com/gpu, registered: %q", KubeletNode,
				count.String(), node.Annotations["hami.io/node-nvidia-register"])
		}
		return nil
	})
}

// AddNode makes this machine a node of the cluster, with a kubelet, containerd and, unless it is to
// be `bare`, Divvy's agent.
func (c *Cluster) AddNode(ctx context.Context, build, runtime, deploy string, bare, helper bool) (err error) {
	if c.ReadPorts() != nil {
		return errors.New("there is no cluster that a node could join")
	}
	if _, known := c.Processes.Find("kubelet"); known {
		return nil
	}
	if build, err = filepath.Abs(build); err != nil {
		return err
	}
	if err = c.claimNode(build, runtime, helper); err != nil {
		return err
	}
	if err = c.StartContainerd(ctx); err == nil {
		err = c.importImages(build)
	}
	if err == nil {
		err = c.startKubelet(ctx)
	}
	if err == nil && !bare {
		err = c.startAgent(ctx, build, deploy)
	}
	return err
}

// removeNode ends the node and what it made outside of our folder. Without a record there is none.
func (c *Cluster) removeNode() error {
	record, err := c.ReadNodeRecord()
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range NodeProcesses {
		if name == "containerd" {
			c.endContainers()
		}
		if one, known := c.Processes.Find(name); known {
			if err := one.End(StopBound); err != nil {
				return err
			}
		}
	}
	c.endShims()
	if err := endPodGroups(); err != nil {
		return err
	}
	if err := c.unmountAll(); err != nil {
		return err
	}
	for _, path := range record.Made {
		err = errors.Join(err, os.RemoveAll(path))
	}
	for _, name := range []string{"ctd", "kubelet", "pods-log", "divvy", "cdi", "kubelet.yaml",
		"kubelet.kubeconfig", "divvy-agent.kubeconfig", "node-settings.yaml"} {
		err = errors.Join(err, os.RemoveAll(c.Path(name)))
	}
	if err == nil {
		err = os.Remove(c.nodeFile())
	}
	return err
}

// unmountAll takes away what is mounted below our folder and the kubelet's.
func (c *Cluster) unmountAll() error {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	var points []string
	for _, line := range strings.Split(string(text), "\n") {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		for _, root := range []string{c.Dir, KubeletDir} {
			if fields[4] == root || strings.HasPrefix(fields[4], root+"/") {
				points = append(points, fields[4])
			}
		}
	}
	var failed error
	for at := len(points) - 1; at >= 0; at-- {
		if err := syscall.Unmount(points[at], syscall.MNT_DETACH); err != nil {
			failed = errors.Join(failed, fmt.Errorf("unmounting %s: %w", points[at], err))
		}
	}
	return failed
}
