package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

func init() {
	checks = append(checks,
		check{"kubelet-what-a-pod-says-of-its-share-is-heeded-and-shown",
			"native dialect on the node; /metrics of the node names pods: priority, policy, limit and use",
			wordsHeeded},
		check{"kubelet-words-that-no-node-can-heed-start-nothing",
			"bad input: what a node cannot do is said in the pod's events, and nothing runs without it",
			wordsRefused})
}

// scraped are the lines of a family that the agent's /metrics has.
func scraped(family string) ([]string, error) {
	answer, err := http.Get("http://" + agentMetrics + "/metrics")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, family+"{") {
			found = append(found, line)
		}
	}
	return found, nil
}

// samples are those of a pod.
func (w *world) samples(family, pod string) ([]string, error) {
	all, err := scraped(family)
	if err != nil {
		return nil, err
	}
	var found []string
	whose := fmt.Sprintf(`namespace="%s",pod="%s",container="probe"`, w.space, pod)
	for _, line := range all {
		if strings.Contains(line, whose) {
			found = append(found, line)
		}
	}
	return found, nil
}

// shows waits for a sample of the pod in which all of these are.
func (w *world) shows(family, pod string, words ...string) error {
	return w.until(pod+" is in "+family, func() error {
		found, err := w.samples(family, pod)
		if err != nil {
			return err
		}
		for _, line := range found {
			missing := 0
			for _, word := range words {
				if !strings.Contains(line, word) {
					missing++
				}
			}
			if missing == 0 {
				return nil
			}
		}
		return fmt.Errorf("%q have not all of %q", found, words)
	})
}

func (w *world) staying(name string, words map[string]string) error {
	p := probe(name, one("3000", "10"))
	p.Annotations = words
	p.Spec.Containers[0].Args = []string{"stay"}
	_, err := w.create(p)
	return err
}

func (w *world) runsWith(name string, words map[string]string) error {
	if err := w.staying(name, words); err != nil {
		return err
	}
	return w.runs(name)
}

func wordsHeeded(w *world) error {
	if err := w.onKubelet(); err != nil {
		return err
	}
	// The control: who says nothing has what holds for all.
	if err := w.runsWith("silent", nil); err != nil {
		return err
	}
	// From here on the other one has the gaps that it leaves.
	err := w.runsWith("wordy", map[string]string{"use.divvy.dev/priority": "low",
		"probe.use.divvy.dev/priority": "high"})
	if err != nil {
		return err
	}
	return errors.Join(
		w.shows("divvy_tenant_info", "wordy", `priority="high"`, `mode="latency"`),
		w.shows("divvy_tenant_info", "silent", `priority="normal"`, `mode="best-effort"`),
		w.shows("divvy_tenant_memory_limit_bytes", "wordy", fmt.Sprintf("} %d", 3000<<20)))
}

func wordsRefused(w *world) error {
	if err := w.onKubelet(); err != nil {
		return err
	}
	if err := w.staying("demanding", map[string]string{"use.divvy.dev/enforce": "mps"}); err != nil {
		return err
	}
	return w.until("the kubelet is told why not", func() error {
		p, err := w.get("demanding")
		if err != nil {
			return err
		}
		for _, one := range p.Status.ContainerStatuses {
			waits := one.State.Waiting
			if waits != nil && strings.Contains(waits.Message, "use.divvy.dev/enforce") {
				return nil
			}
			return fmt.Errorf("%+v", one.State)
		}
		return fmt.Errorf("it is %s: %s", p.Status.Phase, unscheduled(p))
	})
}
