package harness

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// A ConditionRecorder has heard all that was said of the check's pods since it was there, also of those who are
// gone: what is
// said for some seconds only is not missed, however long nobody looks.
type ConditionRecorder struct {
	changes watch.Interface
	ended   chan struct{}
	mutex   sync.Mutex
	said    map[string][]core.PodCondition // by pod: all that were true, in their order
}

// RecordConditions hears from now on; whoever asked for it ends it.
func (env *Env) RecordConditions() (*ConditionRecorder, error) {
	pods := env.Client.CoreV1().Pods(env.Namespace)
	list, err := pods.List(env.Ctx, meta.ListOptions{})
	if err != nil {
		return nil, err
	}
	changes, err := pods.Watch(env.Ctx, meta.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return nil, err
	}
	l := &ConditionRecorder{changes: changes, ended: make(chan struct{}), said: map[string][]core.PodCondition{}}
	for at := range list.Items {
		l.record(&list.Items[at])
	}
	go func() {
		defer close(l.ended)
		for change := range changes.ResultChan() {
			if p, is := change.Object.(*core.Pod); is {
				l.record(p)
			}
		}
	}()
	return l, nil
}

func (l *ConditionRecorder) record(p *core.Pod) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, one := range p.Status.Conditions {
		if one.Status == core.ConditionTrue && !slices.Contains(l.said[p.Name], one) {
			l.said[p.Name] = append(l.said[p.Name], one)
		}
	}
}

func (l *ConditionRecorder) Stop() {
	l.changes.Stop()
	<-l.ended
}

// WaitCondition: the pod was told so, by a condition of that kind that was true.
func (l *ConditionRecorder) WaitCondition(env *Env, name, kind, words string) error {
	return env.WaitFor(name+" is told", func() error {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		for _, one := range l.said[name] {
			if string(one.Type) == kind && strings.Contains(one.Message, words) {
				return nil
			}
		}
		return fmt.Errorf("of %s it was told %+v; %s", kind, l.said[name], env.Processes.Tail(AgentProcess))
	})
}
