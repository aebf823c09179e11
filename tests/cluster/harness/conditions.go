package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// A listener has heard all that was said of the check's pods since it was there, also of those who are gone: what is
// said for some seconds only is not missed, however long nobody looks.
type listener struct {
	changes watch.Interface
	ended   chan struct{}
	mutex   sync.Mutex
	said    map[string][]core.PodCondition // by pod: all that were true, in their order
}

// listens hears from now on; whoever asked for it ends it.
func (w *world) listens() (*listener, error) {
	pods := w.client.CoreV1().Pods(w.space)
	list, err := pods.List(w.ctx, meta.ListOptions{})
	if err != nil {
		return nil, err
	}
	changes, err := pods.Watch(w.ctx, meta.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return nil, err
	}
	l := &listener{changes: changes, ended: make(chan struct{}), said: map[string][]core.PodCondition{}}
	for at := range list.Items {
		l.heard(&list.Items[at])
	}
	go func() {
		defer close(l.ended)
		for change := range changes.ResultChan() {
			if p, is := change.Object.(*core.Pod); is {
				l.heard(p)
			}
		}
	}()
	return l, nil
}

func (l *listener) heard(p *core.Pod) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, one := range p.Status.Conditions {
		if one.Status == core.ConditionTrue && !slices.Contains(l.said[p.Name], one) {
			l.said[p.Name] = append(l.said[p.Name], one)
		}
	}
}

func (l *listener) end() {
	l.changes.Stop()
	<-l.ended
}

// told: the pod was told so, by a condition of that kind that was true.
func (l *listener) told(w *world, name, kind, words string) error {
	return w.until(name+" is told", func() error {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		for _, one := range l.said[name] {
			if string(one.Type) == kind && strings.Contains(one.Message, words) {
				return nil
			}
		}
		return fmt.Errorf("of %s it was told %+v; %s", kind, l.said[name], w.processes.tail(agentProcess))
	})
}
