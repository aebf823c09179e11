package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-an-idle-pod-is-reclaimed",
			"idle reclaim: notice as condition, Event and HTTP call, a deadline that the platform extends, " +
				"eviction; who works again stays, and so does who may be idle; agent and scheduler are " +
				"killed in between, and nobody is told or evicted twice",
			idleReclaimed})
}

// A platform is told of pods that are about to be evicted.
type platform struct {
	sync.Mutex
	heard  map[string][]string // by pod: kinds of news, in order
	due    map[string]time.Time
	extend int // seconds that the first call that says it is due is answered with
	seen   func(pod, kind string)
}

func (p *platform) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	var news struct{ Kind, Namespace, Pod, UID, Deadline string }
	if err := json.NewDecoder(request.Body).Decode(&news); err != nil || request.Method != http.MethodPost {
		http.Error(answer, "no news", http.StatusBadRequest)
		return
	}
	if p.seen != nil {
		p.seen(news.Pod, news.Kind)
	}
	p.Lock()
	defer p.Unlock()
	before := p.heard[news.Pod]
	p.heard[news.Pod] = append(before, news.Kind)
	if news.Kind != "idle-due" {
		return
	}
	if _, known := p.due[news.Pod]; !known {
		p.due[news.Pod] = time.Now()
		fmt.Fprintf(answer, `{"extendSeconds": %d}`, p.extend)
	}
}

func (p *platform) of(pod string) []string {
	p.Lock()
	defer p.Unlock()
	return append([]string{}, p.heard[pod]...)
}

const idleStop = "3s"

// idlePod is one that never works, and may be idle for so long; empty: for ever.
func (w *world) idlePod(name, stop string) error {
	p := probe(name, one("3000", "10"))
	if stop != "" {
		p.Annotations = map[string]string{"use.divvy.dev/idle-stop": stop}
	}
	p.Spec.Containers[0].Args = []string{"stay"}
	if _, err := w.create(p); err != nil {
		return err
	}
	return w.runs(name)
}

// restingPod works when it is told to, and may be idle as long as others.
func (w *world) restingPod(name string) (*hand, error) {
	h, err := w.hand(annotated(probe(name, one("3000", "10")), "use.divvy.dev/idle-stop", idleStop), "busy")
	if err != nil {
		return nil, err
	}
	return h, errors.Join(h.must("open", 1), h.must("once", kernelMicros))
}

// toldAndNoted: who is killed before it has noted that it told somebody tells it again.
func (w *world) toldAndNoted(name string) error {
	return w.until(name+" is told, and that is noted", func() error {
		p, err := w.get(name)
		if err == nil && !strings.Contains(p.Annotations["divvy.dev/idle-state"], `"told":true`) {
			return fmt.Errorf("its state is %q", p.Annotations["divvy.dev/idle-state"])
		}
		condition, err := w.idleCondition(name)
		if err == nil && (condition.Status != core.ConditionTrue || !strings.Contains(condition.Message, "it is evicted at ")) {
			err = fmt.Errorf("%+v", condition)
		}
		return err
	})
}

// worksAgain: that is told, and noted, before anybody is killed.
func (w *world) worksAgain(h *hand, told *platform) error {
	if err := h.must("run", kernelMicros); err != nil {
		return err
	}
	return w.until("it is called off", func() error {
		p, err := w.get(h.name)
		if err == nil && p.Annotations["divvy.dev/idle-state"] != "" {
			return fmt.Errorf("its state is %q", p.Annotations["divvy.dev/idle-state"])
		}
		condition, err := w.idleCondition(h.name)
		if heard := strings.Join(told.of(h.name), " "); err == nil && (condition.Status != core.ConditionFalse ||
			heard != "idle-notice idle-called-off") {
			err = fmt.Errorf("%+v, and its platform heard: %s", condition, heard)
		}
		return err
	})
}

func (w *world) idleCondition(name string) (core.PodCondition, error) {
	p, err := w.get(name)
	if err != nil {
		return core.PodCondition{}, err
	}
	for _, one := range p.Status.Conditions {
		if one.Type == "divvy.dev/Idle" {
			return one, nil
		}
	}
	return core.PodCondition{}, fmt.Errorf("%s has no such condition", name)
}

func idleReclaimed(w *world) error {
	if err := w.onKubelet(); err != nil {
		return err
	}
	record, err := w.readNodeRecord()
	if err != nil {
		return err
	}
	told := &platform{extend: 4}
	return w.withPlatform(told, "20s", func() error { return w.idlePods(told, record.Build) })
}

// withPlatform runs Divvy with the address of one that is told, so long before an eviction.
func (w *world) withPlatform(told *platform, notice string, run func() error) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	told.heard, told.due = map[string][]string{}, map[string]time.Time{}
	server := &http.Server{Handler: told}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	return w.with([]string{"--idle-url", "http://" + listener.Addr().String() + "/idle", "--idle-notice", notice,
		"--idle-extension", "60s"}, run)
}

func (w *world) idlePods(told *platform, build string) error {
	if err := w.idlePod("kept", ""); err != nil {
		return err
	}
	rests, err := w.restingPod("rests")
	if err != nil {
		return err
	}
	if err := w.toldAndNoted("rests"); err != nil {
		return err
	}
	if err := w.worksAgain(rests, told); err != nil {
		return err
	}
	if err := w.idlePod("idle", idleStop); err != nil {
		return err
	}
	if err := w.toldAndNoted("idle"); err != nil {
		return err
	}
	// Whoever was about to do it is killed: agent and scheduler.
	if one, known := w.processes.find(standing.extender()); known {
		if err := syscall.Kill(one.Pid, syscall.SIGKILL); err != nil {
			return err
		}
	}
	if err := w.again(); err != nil {
		return err
	}
	if err := w.agentBegins(build); err != nil {
		return err
	}
	err = w.until("it is evicted", func() error {
		if p, err := w.get("idle"); err == nil && p.DeletionTimestamp == nil {
			return fmt.Errorf("it is %s; its platform heard %v", p.Status.Phase, told.of("idle"))
		} else if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	told.Lock()
	waited := time.Since(told.due["idle"])
	told.Unlock()
	if heard := strings.Join(told.of("idle"), " "); heard != "idle-notice idle-due idle-due" {
		return fmt.Errorf("its platform heard: %s", heard)
	}
	if waited < time.Duration(told.extend)*time.Second {
		return fmt.Errorf("it was evicted %v after its platform had asked for %d s", waited, told.extend)
	}
	if heard := strings.Join(told.of("rests"), " "); heard != "idle-notice idle-called-off" {
		return fmt.Errorf("of one that works again the platform heard: %s", heard)
	}
	if condition, err := w.idleCondition("rests"); err != nil || condition.Status != core.ConditionFalse {
		return fmt.Errorf("who works again: %+v, %w", condition, err)
	}
	for _, name := range []string{"rests", "kept"} {
		if err := w.stillWorks(name); err != nil {
			return err
		}
	}
	if launches, err := rests.rest(); err != nil || launches == 0 {
		return errors.Join(err, fmt.Errorf("who works again launched %d kernels", launches))
	}
	if heard := told.of("kept"); len(heard) > 0 {
		return fmt.Errorf("of one that may be idle the platform heard %v", heard)
	}
	return w.saysOf("idle", "Idle", "EvictedIdle")
}

// saysOf: its Events have these reasons.
func (w *world) saysOf(name string, reasons ...string) error {
	return w.until("its events are there", func() error {
		events, err := w.client.CoreV1().Events(w.space).List(w.ctx, meta.ListOptions{})
		if err != nil {
			return err
		}
		found := map[string]bool{}
		for _, one := range events.Items {
			if one.InvolvedObject.Name == name {
				found[one.Reason] = true
			}
		}
		for _, reason := range reasons {
			if !found[reason] {
				return errors.New("no event " + reason)
			}
		}
		return nil
	})
}
