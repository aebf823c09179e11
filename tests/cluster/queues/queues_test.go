package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	queueGate  = "divvy.dev/queued"
	queueKey   = "use.divvy.dev/queue"
	queuesPath = "/apis/divvy.dev/v1alpha1/queues"
)

func init() {
	checks = append(checks,
		check{"a-queue's-limit-holds-and-says-so",
			"queues: a limit holds, pods wait with a reason and start when room comes", queueLimit},
		check{"what-a-queue-does-not-use-is-lent",
			"queues: guarantee and borrowing; who does not borrow waits", queueBorrowing},
		check{"nobody-takes-a-gate-away-himself",
			"a tenant with patch rights cannot pass the queue", gateIsGuarded},
		check{"kueue's-gate-is-honoured", "Kueue's own gate is honoured", othersGate},
	)
}

type amount struct {
	Model     string `json:"model"`
	GpuMilli  *int64 `json:"gpuMilli,omitempty"`
	MemoryMiB *int64 `json:"memoryMiB,omitempty"`
}

type queueSpec struct {
	Parent     string   `json:"parent,omitempty"`
	Namespaces []string `json:"namespaces,omitempty"`
	Borrowing  *bool    `json:"borrowing,omitempty"`
	Reclaim    string   `json:"reclaim,omitempty"`
	Guarantee  []amount `json:"guarantee,omitempty"`
	Limit      []amount `json:"limit,omitempty"`
}

type queueStatus struct {
	Used    []amount `json:"used"`
	Running int      `json:"running"`
	Pending int      `json:"pending"`
	Waiting []struct {
		Reason  string `json:"reason"`
		Pods    int    `json:"pods"`
		Example string `json:"example"`
	} `json:"waiting"`
	Fault string `json:"fault"`
}

func cards(count int64) []amount {
	milli := count * 1000
	return []amount{{Model: "*", GpuMilli: &milli}}
}

// queue makes one; it is taken away when the check is over by whoever calls the function it returns.
func (w *world) queue(name string, spec queueSpec) (func(), error) {
	body, err := json.Marshal(map[string]any{"apiVersion": "divvy.dev/v1alpha1", "kind": "Queue",
		"metadata": map[string]string{"name": name}, "spec": spec})
	if err != nil {
		return func() {}, err
	}
	rest := w.client.CoreV1().RESTClient()
	err = rest.Post().AbsPath(queuesPath).SetHeader("Content-Type", "application/json").
		Body(body).Do(w.ctx).Error()
	return func() { _ = rest.Delete().AbsPath(queuesPath, name).Do(w.ctx).Error() }, err
}

func (w *world) queueStatus(name string) (queueStatus, error) {
	var found struct{ Status queueStatus }
	text, err := w.client.CoreV1().RESTClient().Get().AbsPath(queuesPath, name).DoRaw(w.ctx)
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	return found.Status, err
}

// waitsFor: so many pods of the queue wait, one of them for what holds these words.
func (w *world) waitsFor(queue string, pending int, words string) error {
	return w.until("queue "+queue+" says what its pods wait for", func() error {
		status, err := w.queueStatus(queue)
		if err != nil {
			return err
		}
		for _, one := range status.Waiting {
			if status.Pending == pending && strings.Contains(one.Reason, words) {
				return nil
			}
		}
		return fmt.Errorf("%+v", status)
	})
}

func gated(p *core.Pod) bool {
	for _, one := range p.Spec.SchedulingGates {
		if one.Name == queueGate {
			return true
		}
	}
	return false
}

func annotated(p *core.Pod, pairs ...string) *core.Pod {
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	for at := 0; at+1 < len(pairs); at += 2 {
		p.Annotations[pairs[at]] = pairs[at+1]
	}
	return p
}

// counts of pods whose names begin so: on a node, and at the gate.
func (w *world) counts(prefix string) (bound, waiting int, err error) {
	pods, err := w.client.CoreV1().Pods(w.space).List(w.ctx, meta.ListOptions{})
	if err != nil {
		return 0, 0, err
	}
	for at := range pods.Items {
		p := &pods.Items[at]
		if !strings.HasPrefix(p.Name, prefix) {
			continue
		}
		if p.Spec.NodeName != "" {
			bound++
		} else if gated(p) {
			waiting++
		}
	}
	return bound, waiting, nil
}

func (w *world) comesTo(prefix string, bound, waiting int) error {
	return w.until(fmt.Sprintf("%d of %s* are bound and %d wait", bound, prefix, waiting),
		func() error {
			b, g, err := w.counts(prefix)
			if err == nil && (b != bound || g != waiting) {
				err = fmt.Errorf("%d and %d", b, g)
			}
			return err
		})
}

func queueLimit(w *world) error {
	name := "limited-" + w.space
	away, err := w.queue(name, queueSpec{Namespaces: []string{w.space}, Limit: cards(2)})
	if err != nil {
		return err
	}
	defer away()
	// It is the namespace's: nobody names it. Until the webhook has heard of it pods pass.
	err = w.until("the webhook knows the queue", func() error {
		tried, err := w.client.CoreV1().Pods(w.space).Create(w.ctx, whole("tried"),
			meta.CreateOptions{DryRun: []string{meta.DryRunAll}})
		if err == nil && tried.Annotations[queueKey] != name {
			err = fmt.Errorf("a pod is of queue %q", tried.Annotations[queueKey])
		}
		return err
	})
	if err != nil {
		return err
	}
	for at := 0; at < 4; at++ {
		if _, err := w.create(whole(fmt.Sprintf("p%d", at))); err != nil {
			return err
		}
	}
	if err := w.comesTo("p", 2, 2); err != nil {
		return err
	}
	if err := w.waitsFor(name, 2, "left of the limit of queue "+name); err != nil {
		return err
	}
	pods, err := w.client.CoreV1().Pods(w.space).List(w.ctx, meta.ListOptions{})
	if err != nil {
		return err
	}
	for at := range pods.Items {
		if pods.Items[at].Spec.NodeName == "" {
			continue
		}
		if err := w.remove(pods.Items[at].Name); err != nil {
			return err
		}
		break
	}
	began := time.Now()
	if err := w.comesTo("p", 2, 1); err != nil {
		return err
	}
	w.note = fmt.Sprintf("the next is bound %.0f ms after one was deleted",
		float64(time.Since(began).Microseconds())/1000)
	if err := w.waitsFor(name, 1, "left of the limit"); err != nil {
		return err
	}
	return w.until("the queue says what is used of it", func() error {
		status, err := w.queueStatus(name)
		if err == nil && (status.Running != 2 || len(status.Used) != 1 || *status.Used[0].GpuMilli != 2000) {
			err = fmt.Errorf("it says %+v", status)
		}
		return err
	})
}

func queueBorrowing(w *world) error {
	lender, borrower := "lender-"+w.space, "borrower-"+w.space
	no := false
	for name, spec := range map[string]queueSpec{
		lender:   {Guarantee: cards(1), Borrowing: &no},
		borrower: {Guarantee: cards(1)},
	} {
		away, err := w.queue(name, spec)
		if err != nil {
			return err
		}
		defer away()
	}
	for at := 0; at < 3; at++ {
		for prefix, queue := range map[string]string{"l": lender, "b": borrower} {
			made := annotated(whole(fmt.Sprintf("%s%d", prefix, at)), queueKey, queue)
			if _, err := w.create(made); err != nil {
				return err
			}
		}
	}
	if err := w.comesTo("b", 3, 0); err != nil {
		return err
	}
	if err := w.comesTo("l", 1, 2); err != nil {
		return err
	}
	return w.waitsFor(lender, 2, "which does not borrow")
}

func gateIsGuarded(w *world) error {
	tenant, err := w.tenant()
	if err != nil {
		return err
	}
	name := "closed-" + w.space
	away, err := w.queue(name, queueSpec{Limit: cards(0)})
	if err != nil {
		return err
	}
	defer away()
	if _, err := w.create(annotated(whole("p"), queueKey, name)); err != nil {
		return err
	}
	if err := w.waitsFor(name, 1, "limit of queue "+name); err != nil {
		return err
	}
	patch := []byte(`{"spec":{"schedulingGates":[{"$patch":"delete","name":"` + queueGate + `"}]}}`)
	return w.until("the gate stays", func() error {
		_, err := tenant.CoreV1().Pods(w.space).Patch(w.ctx, "p", types.StrategicMergePatchType,
			patch, meta.PatchOptions{DryRun: []string{meta.DryRunAll}})
		if err == nil {
			return fmt.Errorf("the gate could be taken away")
		}
		if !strings.Contains(err.Error(), queueGate) {
			return err
		}
		return nil
	})
}

func othersGate(w *world) error {
	name := "open-" + w.space
	away, err := w.queue(name, queueSpec{})
	if err != nil {
		return err
	}
	defer away()
	const theirs = "kueue.x-k8s.io/admission"
	made := annotated(whole("p"), queueKey, name)
	made.Spec.SchedulingGates = []core.PodSchedulingGate{{Name: theirs}}
	if _, err := w.create(made); err != nil {
		return err
	}
	if err := w.waitsFor(name, 1, theirs); err != nil {
		return err
	}
	patch := []byte(`{"spec":{"schedulingGates":[{"$patch":"delete","name":"` + theirs + `"}]}}`)
	_, err = w.client.CoreV1().Pods(w.space).Patch(w.ctx, "p", types.StrategicMergePatchType, patch,
		meta.PatchOptions{})
	if err != nil {
		return err
	}
	_, err = w.bound("p")
	return err
}
