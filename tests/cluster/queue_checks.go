package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	queueGate  = "divvy.dev/queued"
	queueKey   = "use.divvy.dev/queue"
	gangKey    = "use.divvy.dev/gang"
	gangMinKey = "use.divvy.dev/gang-min"
	planKey    = "divvy.dev/plan"
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
		check{"a-gang-starts-whole-or-not-at-all",
			"a gang of 4 starts whole or not at all; too few members wait with a reason", gangOfFour},
		check{"a-gang-is-recognised-in-others'-words",
			"gangs of scheduler-plugins, Kueue and Jobs that say so", gangWords},
		check{"kills-between-gates-leave-no-gang-in-part",
			"controller SIGKILLed between any two gate removals: the gang starts whole or not at all",
			killedBetweenGates},
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
	status, err := w.queueStatus(name)
	if err == nil && (status.Running != 2 || len(status.Used) != 1 || *status.Used[0].GpuMilli != 2000) {
		err = fmt.Errorf("it says %+v", status)
	}
	return err
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

func gateIsGuarded(w *world) (err error) {
	// With all of them nobody here could register the checks' nodes again.
	defer func() {
		err = errors.Join(err, w.kubectl(w.ctx, "delete", "-f",
			filepath.Join(w.deploy, "policies.yaml")))
	}()
	if err := w.apply(w.ctx, "policies.yaml"); err != nil {
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
	return w.until("the policy is in force", func() error {
		_, err := w.client.CoreV1().Pods(w.space).Patch(w.ctx, "p", types.StrategicMergePatchType,
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

func member(name, gang string, least int) *core.Pod {
	return annotated(whole(name), gangKey, gang, gangMinKey, fmt.Sprint(least))
}

// fill leaves so many cards free.
func (w *world) fill(free int) error {
	for at := 0; at < checkNodes*checkDevices-free; at++ {
		if _, err := w.create(whole(fmt.Sprintf("fill-%d", at))); err != nil {
			return err
		}
	}
	return w.comesTo("fill-", checkNodes*checkDevices-free, 0)
}

func gangOfFour(w *world) error {
	if err := w.fill(3); err != nil {
		return err
	}
	name := "gangs-" + w.space
	away, err := w.queue(name, queueSpec{})
	if err != nil {
		return err
	}
	defer away()
	for at := 0; at < 3; at++ {
		made := annotated(member(fmt.Sprintf("g%d", at), "g", 4), queueKey, name)
		if _, err := w.create(made); err != nil {
			return err
		}
	}
	if err := w.waitsFor(name, 3, "3 of 4 members of the gang are there"); err != nil {
		return err
	}
	if _, err := w.create(annotated(member("g3", "g", 4), queueKey, name)); err != nil {
		return err
	}
	if err := w.waitsFor(name, 4, "3 of 4 members fit"); err != nil {
		return err
	}
	if bound, waiting, err := w.counts("g"); err != nil || bound != 0 || waiting != 4 {
		return fmt.Errorf("%d are bound, %d wait: %v", bound, waiting, err)
	}
	if err := w.remove("fill-0"); err != nil {
		return err
	}
	began := time.Now()
	if err := w.comesTo("g", 4, 0); err != nil {
		return err
	}
	w.note = fmt.Sprintf("all four bound %.0f ms after the room came",
		float64(time.Since(began).Microseconds())/1000)
	return w.noneTwice()
}

// noneTwice: whole cards are nobody else's.
func (w *world) noneTwice() error {
	count, _, err := w.bookings()
	for device, pods := range count {
		if pods > 1 {
			err = fmt.Errorf("%d pods are on %s", pods, device)
		}
	}
	return err
}

func gangWords(w *world) error {
	words := map[string]func(p *core.Pod){
		"kueue": func(p *core.Pod) {
			p.Labels = map[string]string{"kueue.x-k8s.io/pod-group-name": "k"}
			annotated(p, "kueue.x-k8s.io/pod-group-total-count", "2")
		},
		"plugins": func(p *core.Pod) {
			p.Labels = map[string]string{"scheduling.x-k8s.io/pod-group": "s"}
			annotated(p, gangMinKey, "2")
		},
		"job": func(p *core.Pod) {
			p.Labels = map[string]string{"batch.kubernetes.io/job-name": "j"}
			annotated(p, gangMinKey, "2")
		},
	}
	for name, say := range words {
		first, second := whole(name+"-1"), whole(name+"-2")
		say(first)
		say(second)
		made, err := w.create(first)
		if err == nil && !gated(made) {
			err = fmt.Errorf("%s: it has no gate", name)
		}
		if err != nil {
			return err
		}
		if _, err := w.create(second); err != nil {
			return err
		}
		if err := w.comesTo(name, 2, 0); err != nil {
			return err
		}
	}
	_, err := w.create(annotated(whole("wrong"), gangKey, "g", gangMinKey, "none"))
	if err == nil || !strings.Contains(err.Error(), gangMinKey) {
		return fmt.Errorf("a gang of \"none\": %v", err)
	}
	return nil
}

// killedBetweenGates ends the scheduler as soon as the first gates of a gang are gone, again and
// again, and takes the room away half of the time before the next one begins.
func killedBetweenGates(w *world) error {
	const members = 12
	const rounds = 4
	inPart := 0
	for round := 0; round < rounds; round++ {
		prefix := fmt.Sprintf("r%d-", round)
		for at := 0; at < members; at++ {
			made := member(fmt.Sprintf("%s%d", prefix, at), prefix+"gang", members)
			if _, err := w.create(made); err != nil {
				return err
			}
		}
		err := w.until("the first gate is gone", func() error {
			_, waiting, err := w.counts(prefix)
			if err == nil && waiting == members {
				err = fmt.Errorf("all wait")
			}
			return err
		})
		if err != nil {
			return err
		}
		if err := w.kill(extender); err != nil {
			return err
		}
		bound, waiting, err := w.counts(prefix)
		if err != nil {
			return err
		}
		if waiting > 0 {
			inPart++
			if bound > 0 {
				return fmt.Errorf("%d are bound while %d have their gate", bound, waiting)
			}
		}
		if err := w.again(); err != nil {
			return err
		}
		if err := w.comesTo(prefix, members, 0); err != nil {
			return err
		}
		if err := w.noneTwice(); err != nil {
			return err
		}
		for at := 0; at < members; at++ {
			if err := w.remove(fmt.Sprintf("%s%d", prefix, at)); err != nil {
				return err
			}
		}
	}
	w.note = fmt.Sprintf("%d kills, %d of them between the gates of a gang", rounds, inPart)
	return nil
}
