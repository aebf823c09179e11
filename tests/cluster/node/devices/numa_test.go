package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	core "k8s.io/api/core/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-numa-is-aligned",
			"--announce-numa: a kubelet with a Topology Manager of policy single-numa-node takes a pod's units from one " +
				"node, turns a pod away that no node can have, and a pod with numa-strict has cards of one node; an agent " +
				"that does not say where cards are is not aligned by",
			numaAligned})
}

// Simulated machines are told by it at which node each card is; agents inherit it.
const toldNuma = "SIMGPU_NUMA"

// One unit for each card, and one name for it: so that three are more than a node has, or of a card it can only be that.
var oneUnitEach = []string{"--resource", "nvidia.com/gpu", "--model-names", "off", "--per-device", "1"}

func numaAligned(w *world) (err error) {
	record, cards, err := w.nodeAndCards()
	if err != nil {
		return err
	}
	_, units, err := w.cardsNow()
	if err != nil {
		return err
	}
	if len(cards) != 4 {
		return skip{fmt.Errorf("the node has %d cards that are well, and not 4", len(cards))}
	}
	two, err := w.twoNodes()
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, os.Unsetenv(toldNuma), w.emptied(), w.kubeletBegins(w.runKubelet),
			w.agentBegins(record.Build), w.settle(cards, units), os.RemoveAll(two))
	}()
	if err := os.Setenv(toldNuma, "0,0,1,1"); err != nil {
		return err
	}
	if err := w.kubeletBegins(func() error { return w.runKubeletOn(two) }); err != nil {
		return err
	}
	// The control: the same kubelet and cards, and an agent that says nothing of their nodes.
	if err := w.numaBegins(record.Build, cards); err != nil {
		return err
	}
	if err := w.unaligned(); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	if err := w.numaBegins(record.Build, cards, "--announce-numa"); err != nil {
		return err
	}
	return w.aligned(cards)
}

func (w *world) numaBegins(build string, cards []string, options ...string) error {
	if err := w.agentBegins(build, append(options, oneUnitEach...)...); err != nil {
		return err
	}
	return w.settle(cards, int64(len(cards)))
}

// twoNodes is a folder as /sys/devices/system/node of a machine of two nodes: the processors of this one, half each.
// Kubelets read there what nodes a machine has, and nothing tells them otherwise.
func (w *world) twoNodes() (string, error) {
	cpus, err := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*")
	if err == nil && len(cpus) < 2 {
		err = skip{errors.New("one processor is at one node")}
	}
	if err != nil {
		return "", err
	}
	// As they are, but for the number of the node.
	memory, err := os.ReadFile("/sys/devices/system/node/node0/meminfo")
	if err != nil {
		return "", skip{fmt.Errorf("this machine says nothing of its nodes: %w", err)}
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
func (w *world) runKubeletOn(nodes string) error {
	config, err := os.ReadFile(w.path("kubelet.yaml"))
	if err != nil {
		return err
	}
	file := filepath.Join(nodes, "kubelet.yaml")
	config = append(config, "topologyManagerPolicy: single-numa-node\n"...)
	if err := os.WriteFile(file, config, 0o644); err != nil {
		return err
	}
	const inside = `mount --bind "$1" /sys/devices/system/node && shift && exec "$@"`
	return w.processes.start("kubelet", "/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-c",
		inside, "sh", nodes, w.self, "kubelet", "--config="+file, "--kubeconfig="+w.path("kubelet.kubeconfig"),
		"--hostname-override="+kubeletNode, "--cert-dir="+w.path("kubelet", "pki"), "--v=2")
}

// kubeletBegins kills the kubelet, has another one begin, and waits until that knows the agent.
func (w *world) kubeletBegins(begin func() error) error {
	before := w.registrations()
	if err := w.killed("kubelet"); err != nil {
		return err
	}
	if err := begin(); err != nil {
		return err
	}
	err := w.until("the kubelet knows the agent again", func() error {
		if one, known := w.processes.find("kubelet"); !known || !one.alive() {
			return fmt.Errorf("it has ended: %s", w.processes.tail("kubelet"))
		}
		if w.registrations() == before {
			return errors.New(w.processes.tail(agentProcess))
		}
		return nil
	})
	if err != nil {
		return err
	}
	// Until it has heard of a pod it takes units for given that pods had who are gone: its checkpoint has them.
	heard := probe(fmt.Sprintf("heard-of-%d", w.registrations()), nil)
	heard.Spec.Containers[0].Args = []string{"begin"}
	if _, err := w.create(heard); err != nil {
		return err
	}
	_, err = w.ended(heard.Name, 0)
	return err
}

// numaPod is one that asks for so many, of one node where that is said.
func numaPod(name string, count int, strict bool) *core.Pod {
	p := probe(name, asks{"nvidia.com/gpu": fmt.Sprint(count), memoryName: "2000", coresName: "10"})
	p.Spec.Containers[0].Args = []string{"stay"}
	if strict {
		p.Annotations = map[string]string{"use.divvy.dev/device-policy": "numa-strict"}
	}
	return p
}

// runsAt makes the pod, and says of which nodes its units are by the kubelet's word.
func (w *world) runsAt(p *core.Pod) (map[string][]string, error) {
	if _, err := w.create(p); err != nil {
		return nil, err
	}
	if err := w.runs(p.Name); err != nil {
		return nil, err
	}
	return w.notedFor(p.Name)
}

// oneAndThree makes a pod with one device, and one with all that are left: more than a node has. Once the first one
// runs the kubelet is known to have heard of all four.
func (w *world) oneAndThree() (*core.Pod, error) {
	if _, err := w.runsAt(numaPod("one", 1, false)); err != nil {
		return nil, err
	}
	return w.create(numaPod("three", 3, false))
}

// unaligned: they are of more than one node, and nobody minds.
func (w *world) unaligned() error {
	p, err := w.oneAndThree()
	if err != nil {
		return err
	}
	if err := w.runs(p.Name); err != nil {
		return err
	}
	units, err := w.notedFor(p.Name)
	if err == nil && (len(units) != 1 || len(units["-1"]) != 3) {
		err = fmt.Errorf("units by node: %v", units)
	}
	return errors.Join(err, w.emptied())
}

func (w *world) aligned(cards []string) error {
	p, err := w.oneAndThree()
	if err == nil {
		err = w.turnedAwayByNuma(p.Name)
	}
	if err = errors.Join(err, w.emptied()); err != nil {
		return err
	}
	nodeOf := map[string]string{}
	for at, card := range cards {
		nodeOf[card] = fmt.Sprint(at / 2)
	}
	var taken []string
	for _, name := range []string{"first", "second"} {
		units, err := w.runsAt(numaPod(name, 2, true))
		if err != nil {
			return err
		}
		at, err := atOneNode(units, nodeOf)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := w.cardsOfOneNode(name, nodeOf); err != nil {
			return err
		}
		taken = append(taken, at)
	}
	// The second one is there where the first one left something.
	if taken[0] == taken[1] {
		return fmt.Errorf("both are at node %s, which has units for one", taken[0])
	}
	w.note = "units are at nodes " + strings.Join(taken, " and ")
	return nil
}

// atOneNode is where the units are by the kubelet's word, if that is also what their names say.
func atOneNode(units map[string][]string, nodeOf map[string]string) (string, error) {
	for at, ids := range units {
		if len(units) != 1 || len(ids) != 2 || at == "-1" {
			break
		}
		for _, id := range ids {
			if card, _, _ := strings.Cut(id, "::"); nodeOf[card] != at {
				return "", fmt.Errorf("unit %s is at node %s for the kubelet, and its card at %q", id, at, nodeOf[card])
			}
		}
		return at, nil
	}
	return "", fmt.Errorf("its units by node: %v", units)
}

// cardsOfOneNode: what it was given by the scheduler.
func (w *world) cardsOfOneNode(name string, nodeOf map[string]string) error {
	p, err := w.get(name)
	if err != nil {
		return err
	}
	shares, err := sharesOf(p)
	if err != nil {
		return err
	}
	if len(shares) != 1 || len(shares[0]) != 2 || nodeOf[shares[0][0].uuid] != nodeOf[shares[0][1].uuid] {
		return fmt.Errorf("%s was given %v of %v", name, shares, nodeOf)
	}
	return nil
}

// turnedAwayByNuma: the scheduler knows nothing of units, and the kubelet has no node with so many.
func (w *world) turnedAwayByNuma(name string) error {
	return w.until("the kubelet turns it away", func() error {
		p, err := w.get(name)
		if err == nil && (p.Status.Phase != core.PodFailed || p.Status.Reason != "TopologyAffinityError") {
			err = fmt.Errorf("it is %s on %q: %s %s%s", p.Status.Phase, p.Spec.NodeName, p.Status.Reason,
				p.Status.Message, unscheduled(p))
		}
		return err
	})
}
