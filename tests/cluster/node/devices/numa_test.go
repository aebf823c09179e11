package devices

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
)

func TestNuma(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-numa-is-aligned",
			Requirement: "--announce-numa: a kubelet with a Topology Manager of policy single-numa-node takes a pod's units from one " +
				"node, turns a pod away that no node can have, and a pod with numa-strict has cards of one node; an agent " +
				"that does not say where cards are is not aligned by",
			Run: numaAligned})
}

// Simulated machines are told by it at which node each card is; agents inherit it.
const toldNuma = "SIMGPU_NUMA"

func numaAligned(env *harness.Env) (err error) {
	record, cards, err := env.NodeAndDevices()
	if err != nil {
		return err
	}
	_, idCount, err := env.Devices()
	if err != nil {
		return err
	}
	if len(cards) != 4 {
		return harness.Skip{Cause: fmt.Errorf("the node has %d cards that are well, and not 4", len(cards))}
	}
	two, err := twoNodes(env)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, os.Unsetenv(toldNuma), env.DeletePods(), kubeletBegins(env, env.RunKubelet),
			env.RestartAgent(record.Build), env.WaitDevices(cards, idCount), os.RemoveAll(two))
	}()
	if err := os.Setenv(toldNuma, "0,0,1,1"); err != nil {
		return err
	}
	if err := kubeletBegins(env, func() error { return runKubeletOn(env, two) }); err != nil {
		return err
	}
	// The control: the same kubelet and cards, and an agent that says nothing of their nodes.
	if err := numaBegins(env, record.Build, cards); err != nil {
		return err
	}
	if err := unaligned(env); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	if err := numaBegins(env, record.Build, cards, "--announce-numa"); err != nil {
		return err
	}
	return aligned(env, cards)
}

func numaBegins(env *harness.Env, build string, cards []string, options ...string) error {
	if err := env.RestartAgent(build, append(options, harness.OneDeviceIDEach...)...); err != nil {
		return err
	}
	return env.WaitDevices(cards, int64(len(cards)))
}

// twoNodes is a folder as /sys/devices/system/node of a machine of two nodes: the processors of this one, half each.
// Kubelets read there what nodes a machine has, and nothing tells them otherwise.
func twoNodes(env *harness.Env) (string, error) {
	cpus, err := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*")
	if err == nil && len(cpus) < 2 {
		err = harness.Skip{Cause: errors.New("one processor is at one node")}
	}
	if err != nil {
		return "", err
	}
	// As they are, but for the number of the node.
	memory, err := os.ReadFile("/sys/devices/system/node/node0/meminfo")
	if err != nil {
		return "", harness.Skip{Cause: fmt.Errorf("this machine says nothing of its nodes: %w", err)}
	}
	dir, err := os.MkdirTemp("", "nodes-")
	if err != nil {
		return "", err
	}
	first := regexp.MustCompile(`(?m)^Node \d+ `)
	for at, distances := range []string{"10 20\n", "20 10\n"} {
		node := filepath.Join(dir, fmt.Sprintf("node%d", at))
		err = errors.Join(err, os.Mkdir(node, 0o755),
			os.WriteFile(filepath.Join(node, "meminfo"), first.ReplaceAll(memory, fmt.Appendf(nil, "Node %d ", at)), 0o644),
			os.WriteFile(filepath.Join(node, "distance"), []byte(distances), 0o644))
	}
	for at, cpu := range cpus {
		err = errors.Join(err, os.Symlink(cpu, filepath.Join(dir, fmt.Sprintf("node%d", at%2), filepath.Base(cpu))))
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// runKubeletOn runs one that aligns, where `nodes` is what the machine says of its nodes: mounted where nobody else
// sees it. What that kubelet mounts for pods containers do not see either; those of these checks need none of it.
func runKubeletOn(env *harness.Env, nodes string) error {
	config, err := os.ReadFile(env.Path("kubelet.yaml"))
	if err != nil {
		return err
	}
	file := filepath.Join(nodes, "kubelet.yaml")
	config = append(config, "topologyManagerPolicy: single-numa-node\n"...)
	if err := os.WriteFile(file, config, 0o644); err != nil {
		return err
	}
	const inside = `mount --bind "$1" /sys/devices/system/node && shift && exec "$@"`
	return env.Processes.Start("kubelet", "/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-c",
		inside, "sh", nodes, env.Self, "kubelet", "--config="+file, "--kubeconfig="+env.Path("kubelet.kubeconfig"),
		"--hostname-override="+harness.KubeletNode, "--cert-dir="+env.Path("kubelet", "pki"), "--v=2")
}

// kubeletBegins kills the kubelet, has another one begin, and waits until that knows the agent.
func kubeletBegins(env *harness.Env, begin func() error) error {
	before := env.RegistrationCount()
	if err := env.KillProcess("kubelet"); err != nil {
		return err
	}
	if err := begin(); err != nil {
		return err
	}
	err := env.WaitFor("the kubelet knows the agent again", func() error {
		if one, known := env.Processes.Find("kubelet"); !known || !one.Alive() {
			return fmt.Errorf("it has ended: %s", env.Processes.Tail("kubelet"))
		}
		if env.RegistrationCount() == before {
			return errors.New(env.Processes.Tail(harness.AgentProcess))
		}
		return nil
	})
	if err != nil {
		return err
	}
	// Until it has heard of a pod it takes units for given that pods had who are gone: its checkpoint has them.
	probe := harness.ProbePod(fmt.Sprintf("heard-of-%d", env.RegistrationCount()), nil)
	probe.Spec.Containers[0].Args = []string{"begin"}
	if _, err := env.Create(probe); err != nil {
		return err
	}
	_, err = env.WaitResult(probe.Name, 0)
	return err
}

// numaPod is one that asks for so many, of one node where that is said.
func numaPod(name string, count int, strict bool) *core.Pod {
	p := harness.ProbePod(name, harness.Limits{"nvidia.com/gpu": fmt.Sprint(count), harness.MemoryResource: "2000",
		harness.CoresResource: "10"})
	p.Spec.Containers[0].Args = []string{"stay"}
	if strict {
		p.Annotations = map[string]string{"use.divvy.dev/device-policy": "numa-strict"}
	}
	return p
}

// runsAt makes the pod, and says of which nodes its units are by the kubelet's word.
func runsAt(env *harness.Env, p *core.Pod) (map[string][]string, error) {
	if _, err := env.Create(p); err != nil {
		return nil, err
	}
	if err := env.WaitRunning(p.Name); err != nil {
		return nil, err
	}
	return env.KubeletDevices(p.Name)
}

// oneAndThree makes a pod with one device, and one with all that are left: more than a node has. Once the first one
// runs the kubelet is known to have heard of all four.
func oneAndThree(env *harness.Env) (*core.Pod, error) {
	if _, err := runsAt(env, numaPod("one", 1, false)); err != nil {
		return nil, err
	}
	return env.Create(numaPod("three", 3, false))
}

// unaligned: they are of more than one node, and nobody minds.
func unaligned(env *harness.Env) error {
	p, err := oneAndThree(env)
	if err != nil {
		return err
	}
	if err := env.WaitRunning(p.Name); err != nil {
		return err
	}
	deviceIDs, err := env.KubeletDevices(p.Name)
	if err == nil && (len(deviceIDs) != 1 || len(deviceIDs["-1"]) != 3) {
		err = fmt.Errorf("units by node: %v", deviceIDs)
	}
	return errors.Join(err, env.DeletePods())
}

func aligned(env *harness.Env, cards []string) error {
	p, err := oneAndThree(env)
	if err == nil {
		err = turnedAwayByNuma(env, p.Name)
	}
	if err = errors.Join(err, env.DeletePods()); err != nil {
		return err
	}
	nodeOf := map[string]string{}
	for at, card := range cards {
		nodeOf[card] = fmt.Sprint(at / 2)
	}
	var taken []string
	for _, name := range []string{"first", "second"} {
		deviceIDs, err := runsAt(env, numaPod(name, 2, true))
		if err != nil {
			return err
		}
		at, err := atOneNode(deviceIDs, nodeOf)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := cardsOfOneNode(env, name, nodeOf); err != nil {
			return err
		}
		taken = append(taken, at)
	}
	// The second one is there where the first one left something.
	if taken[0] == taken[1] {
		return fmt.Errorf("both are at node %s, which has units for one", taken[0])
	}
	env.Note = "units are at nodes " + strings.Join(taken, " and ")
	return nil
}

// atOneNode is where the units are by the kubelet's word, if that is also what their names say.
func atOneNode(deviceIDs map[string][]string, nodeOf map[string]string) (string, error) {
	for at, ids := range deviceIDs {
		if len(deviceIDs) != 1 || len(ids) != 2 || at == "-1" {
			break
		}
		for _, id := range ids {
			if card, _, _ := strings.Cut(id, "::"); nodeOf[card] != at {
				return "", fmt.Errorf("unit %s is at node %s for the kubelet, and its card at %q", id, at, nodeOf[card])
			}
		}
		return at, nil
	}
	return "", fmt.Errorf("its units by node: %v", deviceIDs)
}

// cardsOfOneNode: what it was given by the scheduler.
func cardsOfOneNode(env *harness.Env, name string, nodeOf map[string]string) error {
	p, err := env.Get(name)
	if err != nil {
		return err
	}
	shares, err := harness.SharesOf(p)
	if err != nil {
		return err
	}
	if len(shares) != 1 || len(shares[0]) != 2 || nodeOf[shares[0][0].UUID] != nodeOf[shares[0][1].UUID] {
		return fmt.Errorf("%s was given %v of %v", name, shares, nodeOf)
	}
	return nil
}

// turnedAwayByNuma: the scheduler knows nothing of units, and the kubelet has no node with so many.
func turnedAwayByNuma(env *harness.Env, name string) error {
	return env.WaitFor("the kubelet turns it away", func() error {
		p, err := env.Get(name)
		if err == nil && (p.Status.Phase != core.PodFailed || p.Status.Reason != "TopologyAffinityError") {
			err = fmt.Errorf("it is %s on %q: %s %s%s", p.Status.Phase, p.Spec.NodeName, p.Status.Reason,
				p.Status.Message, harness.UnschedulableMessage(p))
		}
		return err
	})
}
