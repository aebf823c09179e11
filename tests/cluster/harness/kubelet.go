package main

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
	kubeletNode   = "kubelet-1"
	kubeletDir    = "/var/lib/kubelet" // a kubelet has its plugins there, whatever it is told
	pauseImage    = "cluster.test/pause:1"
	probeImage    = "cluster.test/share-probe:1"
	agentProcess  = "divvy-agent"
	helperProcess = "divvy-agent-helper"
	agentUser     = 65532 // of an agent with a helper
	agentAccount  = "divvy-agent"
	agentMetrics  = "127.0.0.1:19394"
)

// The cards of the node with a kubelet; a bench has others.
var simulated = "sim-h100x4"

// nodeParts are the processes of the node with a kubelet, in the order in which they are ended.
var nodeParts = []string{agentProcess, helperProcess, nvidiaProcess, "kubelet", "containerd"}

// What containerd and a kubelet make outside of our folder. Who is on record made what was not
// there before.
var outsiders = []string{kubeletDir, "/run/containerd", "/var/log/containers", "/var/log/pods",
	"/var/lib/cni", "/etc/cni", "/opt/cni", "/usr/libexec/kubernetes"}

// A nodeRecord is there while there is a node with a kubelet, or something is left of it.
type nodeRecord struct {
	Build string   `json:"build"` // where CMake put programs
	Made  []string `json:"made"`  // outside of our folder, by that node
	// Folder of containerd 2 and its shim; empty: the machine's own containerd, of 1.6.
	Runtime string `json:"runtime,omitempty"`
	// The agent has no rights, and a helper for them.
	Helper bool `json:"helper,omitempty"`
}

func (c *cluster) nodeFile() string { return c.path("node.json") }

func (c *cluster) readNodeRecord() (nodeRecord, error) {
	var record nodeRecord
	text, err := os.ReadFile(c.nodeFile())
	if err == nil {
		err = json.Unmarshal(text, &record)
	}
	return record, err
}

// claimNode notes what is not there yet, before anything is made.
func (c *cluster) claimNode(build, runtime string, helper bool) error {
	record := nodeRecord{Build: build, Runtime: runtime, Helper: helper}
	for _, path := range outsiders {
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			record.Made = append(record.Made, path)
		} else if path == kubeletDir {
			return fmt.Errorf("%s is there: is this a node of another cluster?", path)
		}
	}
	if err := takeLeftGroups(); err != nil {
		return err
	}
	return c.writeNodeRecord(record)
}

func (c *cluster) writeNodeRecord(record nodeRecord) error {
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

func (c *cluster) startKubelet(ctx context.Context) error {
	if err := os.Mkdir(kubeletDir, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount(c.path("kubelet"), kubeletDir, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting %s: %w", kubeletDir, err)
	}
	a, err := openAuthority(c.path("pki"))
	if err != nil {
		return err
	}
	if err := a.client("kubelet", "system:node:"+kubeletNode, "system:nodes"); err != nil {
		return err
	}
	kubeconfig := c.path("kubelet.kubeconfig")
	if err := writeKubeconfig(kubeconfig, local("https", c.ports.Apiserver), "kubelet", a); err != nil {
		return err
	}
	var port, health int
	if err := chooseInto(&port, &health); err != nil {
		return err
	}
	config := fmt.Sprintf(kubeletConfig, port, health, c.containerdSocket(), c.path("pods-log"),
		c.path("kubelet", "volume-plugins"), cgroupDriver())
	if err := os.WriteFile(c.path("kubelet.yaml"), []byte(config), 0o644); err != nil {
		return err
	}
	if err := c.runKubelet(); err != nil {
		return err
	}
	return c.processes.wait(ctx, "kubelet", func() error {
		_, err := c.kubeletNode(ctx, core.NodeReady)
		return err
	})
}

// runKubelet is for kubelets that begin anew, too.
func (c *cluster) runKubelet() error {
	return c.processes.start("kubelet", c.self, "kubelet", "--config="+c.path("kubelet.yaml"),
		"--kubeconfig="+c.path("kubelet.kubeconfig"), "--hostname-override="+kubeletNode,
		"--cert-dir="+c.path("kubelet", "pki"), "--v=2")
}

// kubeletNode is the node, if its condition is true.
func (c *cluster) kubeletNode(ctx context.Context, wanted core.NodeConditionType) (*core.Node, error) {
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	node, err := client.CoreV1().Nodes().Get(ctx, kubeletNode, meta.GetOptions{})
	if err != nil {
		return nil, err
	}
	for _, one := range node.Status.Conditions {
		if one.Type == wanted && one.Status == core.ConditionTrue {
			return node, nil
		}
	}
	return nil, fmt.Errorf("node %s is not %s: %v", kubeletNode, wanted, node.Status.Conditions)
}

// runAgent runs Divvy's agent on simulated cards; its runtime folder is ours.
func (c *cluster) runAgent(build string, options ...string) error {
	return c.runAgentOn(simulated, build, options...)
}

// runAgentOn runs it on these cards.
func (c *cluster) runAgentOn(cards, build string, options ...string) error {
	words := append([]string{"DIVVY_RUNTIME_DIR=" + c.path("divvy"),
		filepath.Join(build, "bin", "divvy"), "agent", "--node", cards,
		"--node-name", kubeletNode, "--kubeconfig", c.path("divvy-agent.kubeconfig"),
		"--metrics-listen", agentMetrics}, options...)
	// The runtime here looks for devices in a folder of its own, of which early builds know nothing.
	help, err := exec.Command(filepath.Join(build, "bin", "divvy"), "agent", "--help").Output()
	if err != nil {
		return err
	}
	if strings.Contains(string(help), "--cdi-dir") {
		words = append(words, "--cdi-dir", c.cdiDir())
	}
	record, err := c.readNodeRecord()
	// Of earlier builds' agents root's is the one that is replaced.
	if err != nil || record.Build != build || !record.Helper {
		return errors.Join(c.endHelper(), c.processes.start(agentProcess, "/usr/bin/env", words...))
	}
	if err := c.runHelper(cards, build); err != nil {
		return err
	}
	return c.processes.startWithout(agentUser, agentProcess, "/usr/bin/env", append(words, "--helper")...)
}

// runHelper runs the agent's helper of these cards, unless it does already.
func (c *cluster) runHelper(cards, build string) error {
	if one, known := c.processes.find(helperProcess); known && one.alive() {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", one.Pid)); err == nil &&
			strings.Contains(string(text), "\x00"+cards+"\x00") {
			return nil
		}
	}
	if err := c.endHelper(); err != nil {
		return err
	}
	return c.processes.start(helperProcess, "/usr/bin/env", "DIVVY_RUNTIME_DIR="+c.path("divvy"),
		filepath.Join(build, "bin", "divvy"), "agent-helper", "--node", cards, "--cdi-dir", c.cdiDir(),
		"--agent-user", fmt.Sprint(agentUser))
}

func (c *cluster) endHelper() error {
	if one, known := c.processes.find(helperProcess); known {
		return one.end(stopBound)
	}
	return nil
}

// writeAgentAccount makes a kubeconfig of the service account's on this node, as a pod there has it.
func (c *cluster) writeAgentAccount(ctx context.Context, deploy string) error {
	i := installation{cluster: c, deploy: deploy}
	for _, rights := range []string{"agent-rbac.yaml", "agent-announce-rbac.yaml"} {
		if err := i.apply(ctx, rights); err != nil {
			return err
		}
	}
	node, err := c.kubeletNode(ctx, core.NodeReady)
	if err != nil {
		return err
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	seconds := tokenSeconds
	request := &authentication.TokenRequest{Spec: authentication.TokenRequestSpec{
		ExpirationSeconds: &seconds, BoundObjectRef: &authentication.BoundObjectReference{
			Kind: "Node", APIVersion: "v1", Name: node.Name, UID: node.UID}}}
	made, err := client.CoreV1().ServiceAccounts(space).CreateToken(ctx, agentAccount, request,
		meta.CreateOptions{})
	if err != nil {
		return err
	}
	file := c.path("divvy-agent.kubeconfig")
	if err := writeTokenKubeconfig(file, local("https", c.ports.Apiserver), c.path("pki", "ca.crt"),
		made.Status.Token); err != nil {
		return err
	}
	return os.Chmod(file, 0o640) // its group is the agent's
}

func (c *cluster) startAgent(ctx context.Context, build, deploy string) error {
	if err := c.writeAgentAccount(ctx, deploy); err != nil {
		return err
	}
	if err := c.runAgent(build); err != nil {
		return err
	}
	return c.processes.wait(ctx, agentProcess, func() error {
		node, err := c.kubeletNode(ctx, core.NodeReady)
		if err != nil {
			return err
		}
		count := node.Status.Allocatable["nvidia.com/gpu"]
		if count.IsZero() || node.Annotations["hami.io/node-nvidia-register"] == "" {
			return fmt.Errorf("node %s has %s nvidia.com/gpu, registered: %q", kubeletNode,
				count.String(), node.Annotations["hami.io/node-nvidia-register"])
		}
		return nil
	})
}

// addNode makes this machine a node of the cluster, with a kubelet, containerd and, unless it is to
// be `bare`, Divvy's agent.
func (c *cluster) addNode(ctx context.Context, build, runtime, deploy string, bare, helper bool) (err error) {
	if c.readPorts() != nil {
		return errors.New("there is no cluster that a node could join")
	}
	if _, known := c.processes.find("kubelet"); known {
		return nil
	}
	if build, err = filepath.Abs(build); err != nil {
		return err
	}
	if err = c.claimNode(build, runtime, helper); err != nil {
		return err
	}
	if err = c.startContainerd(ctx); err == nil {
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
func (c *cluster) removeNode() error {
	record, err := c.readNodeRecord()
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range nodeParts {
		if name == "containerd" {
			c.endContainers()
		}
		if one, known := c.processes.find(name); known {
			if err := one.end(stopBound); err != nil {
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
		err = errors.Join(err, os.RemoveAll(c.path(name)))
	}
	if err == nil {
		err = os.Remove(c.nodeFile())
	}
	return err
}

// unmountAll takes away what is mounted below our folder and the kubelet's.
func (c *cluster) unmountAll() error {
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
		for _, root := range []string{c.dir, kubeletDir} {
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
