package harness

import (
	"encoding/json"
	"fmt"
	"strings"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	QueueGate  = "divvy.dev/queued"
	QueueKey   = "use.divvy.dev/queue"
	queuesPath = "/apis/divvy.dev/v1alpha1/queues"
)

type amount struct {
	Model     string `json:"model"`
	GpuMilli  *int64 `json:"gpuMilli,omitempty"`
	MemoryMiB *int64 `json:"memoryMiB,omitempty"`
}

type QueueSpec struct {
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

func DeviceAmount(count int64) []amount {
	milli := count * 1000
	return []amount{{Model: "*", GpuMilli: &milli}}
}

// CreateQueue makes one; it is taken away when the check is over by whoever calls the function it returns.
func (env *Env) CreateQueue(name string, spec QueueSpec) (func(), error) {
	body, err := json.Marshal(map[string]any{"apiVersion": "divvy.dev/v1alpha1", "kind": "Queue",
		"metadata": map[string]string{"name": name}, "spec": spec})
	if err != nil {
		return func() {}, err
	}
	rest := env.Client.CoreV1().RESTClient()
	err = rest.Post().AbsPath(queuesPath).SetHeader("Content-Type", "application/json").
		Body(body).Do(env.Ctx).Error()
	return func() { _ = rest.Delete().AbsPath(queuesPath, name).Do(env.Ctx).Error() }, err
}

func (env *Env) QueueStatus(name string) (queueStatus, error) {
	var found struct{ Status queueStatus }
	text, err := env.Client.CoreV1().RESTClient().Get().AbsPath(queuesPath, name).DoRaw(env.Ctx)
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	return found.Status, err
}

// WaitQueuePending: so many pods of the queue wait, one of them for what holds these words.
func (env *Env) WaitQueuePending(queue string, pending int, words string) error {
	return env.WaitFor("queue "+queue+" says what its pods wait for", func() error {
		status, err := env.QueueStatus(queue)
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

func IsGated(p *core.Pod) bool {
	for _, one := range p.Spec.SchedulingGates {
		if one.Name == QueueGate {
			return true
		}
	}
	return false
}

func WithAnnotations(p *core.Pod, pairs ...string) *core.Pod {
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	for at := 0; at+1 < len(pairs); at += 2 {
		p.Annotations[pairs[at]] = pairs[at+1]
	}
	return p
}

// CountPods of pods whose names begin so: on a node, and at the gate.
func (env *Env) CountPods(prefix string) (bound, waiting int, err error) {
	pods, err := env.Client.CoreV1().Pods(env.Namespace).List(env.Ctx, meta.ListOptions{})
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
		} else if IsGated(p) {
			waiting++
		}
	}
	return bound, waiting, nil
}

func (env *Env) WaitCounts(prefix string, bound, waiting int) error {
	return env.WaitFor(fmt.Sprintf("%d of %s* are bound and %d wait", bound, prefix, waiting),
		func() error {
			b, g, err := env.CountPods(prefix)
			if err == nil && (b != bound || g != waiting) {
				err = fmt.Errorf("%d and %d", b, g)
			}
			return err
		})
}

// WaitTerminating end: so many.
func (a *ContendedNode) WaitTerminating(count int) (names []string, err error) {
	err = a.WaitFor(fmt.Sprintf("%d end", count), func() error {
		names, err = a.Terminating()
		if err == nil && len(names) != count {
			err = fmt.Errorf("%v do", names)
		}
		return err
	})
	return names, err
}
