package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-a-name-is-said-once-the-kubelet-knows-it",
			"an agent that was killed is followed by one that serves more names, while the kubelet is busy: who asks by " +
				"one of these is not sent there, to be turned away for good, until the kubelet knows it; then he gets his share",
			saidOnceKnown})
}

const servedKey = "divvy.dev/served"

// unheardFor is several times as long as an agent takes to write into its node, and a scheduler to read it.
const unheardFor = 5 * time.Second

// servedNames is what the node says.
func (w *world) servedNames() ([]string, error) {
	node, err := w.client.CoreV1().Nodes().Get(w.ctx, kubeletNode, meta.GetOptions{})
	if err != nil {
		return nil, err
	}
	return strings.Split(node.Annotations[servedKey], ","), nil
}

// serves waits until the node says that name.
func (w *world) serves(name string) error {
	return w.until("the node serves "+name, func() error {
		names, err := w.servedNames()
		if err == nil && !slices.Contains(names, name) {
			err = fmt.Errorf("it serves %v; %s", names, w.processes.tail(agentProcess))
		}
		return err
	})
}

// servesOnly waits until the node says no other one.
func (w *world) servesOnly(name string) error {
	return w.until("the node serves "+name+" only", func() error {
		names, err := w.servedNames()
		if err == nil && (len(names) != 1 || names[0] != name) {
			err = fmt.Errorf("it serves %v; %s", names, w.processes.tail(agentProcess))
		}
		return err
	})
}

// agentUnready waits until an agent says that it is not ready for that reason.
func (w *world) agentUnready(reason string) error {
	return w.until("an agent waits: "+reason, func() error {
		answer, err := http.Get("http://" + agentMetrics + "/readyz")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err == nil && (answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text), reason)) {
			err = fmt.Errorf("it answers %s: %s", answer.Status, text)
		}
		return err
	})
}

// unplacedFor: for so long it is bound to no node, and the node does not say that name.
func (w *world) unplacedFor(pod, name string, long time.Duration) error {
	for until := time.Now().Add(long); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		p, err := w.get(pod)
		if err != nil {
			return err
		}
		if p.Spec.NodeName != "" {
			return fmt.Errorf("%s is on %s, whose kubelet has not heard of %s", pod, p.Spec.NodeName, name)
		}
		if names, err := w.servedNames(); err != nil || slices.Contains(names, name) {
			return errors.Join(err, fmt.Errorf("the node says that it serves %v", names))
		}
	}
	return nil
}

func saidOnceKnown(w *world) (err error) {
	record, uuids, err := w.nodeAndCards()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.agentIsThere(record.Build)) }()
	if err := w.agentServesOwnName(record.Build); err != nil {
		return err
	}
	if err := w.servesOnly(ownName); err != nil {
		return err
	}
	if _, err := w.create(by("nvidia.com/gpu", "early", uuids[0], "2000")); err != nil {
		return err
	}
	if _, err := w.refused("early"); err != nil {
		return err
	}
	if err := w.succeededUnheard(record.Build); err != nil {
		return err
	}
	said, err := w.ended("early", 0)
	if err == nil {
		err = said.limited(2000 << 20)
	}
	return errors.Join(err, w.serves("nvidia.com/gpu"), w.serves(modelName), w.serves(ownName))
}

// succeededUnheard: an agent that serves all names comes after one that was killed; the kubelet, which is stopped, does
// not hear of it yet.
func (w *world) succeededUnheard(build string) (err error) {
	kubelet, known := w.processes.find("kubelet")
	if !known {
		return errors.New("there is no kubelet")
	}
	if err := w.killed(agentProcess); err != nil {
		return err
	}
	if err := syscall.Kill(kubelet.Pid, syscall.SIGSTOP); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, syscall.Kill(kubelet.Pid, syscall.SIGCONT)) }()
	if err := w.runAgent(build); err != nil {
		return err
	}
	if err := w.agentUnready("the kubelet does not know"); err != nil {
		return err
	}
	return w.unplacedFor("early", "nvidia.com/gpu", unheardFor)
}
