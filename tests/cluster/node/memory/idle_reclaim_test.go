package memory

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestIdleReclaim(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-an-idle-pod-is-reclaimed",
			Requirement: "idle reclaim: notice as condition, Event and HTTP call, a deadline that the platform extends, " +
				"eviction; who works again stays, and so does who may be idle; agent and scheduler are " +
				"killed in between, and nobody is told or evicted twice",
			Run: idleReclaimed})
}

// idlePod is one that never works, and may be idle for so long; empty: for ever.
func idlePod(env *harness.Env, name, stop string) error {
	p := harness.ProbePod(name, harness.OneShare("3000", "10"))
	if stop != "" {
		p.Annotations = map[string]string{"use.divvy.dev/idle-stop": stop}
	}
	p.Spec.Containers[0].Args = []string{"stay"}
	if _, err := env.Create(p); err != nil {
		return err
	}
	return env.WaitRunning(name)
}

// restingPod works when it is told to, and may be idle as long as others.
func restingPod(env *harness.Env, name string) (*harness.Worker, error) {
	h, err := env.StartWorker(harness.WithAnnotations(harness.ProbePod(name, harness.OneShare("3000", "10")),
		"use.divvy.dev/idle-stop", harness.IdleStop), "busy")
	if err != nil {
		return nil, err
	}
	return h, errors.Join(h.Must("open", 1), h.Must("once", harness.KernelMicros))
}

// toldAndNoted: who is killed before it has noted that it told somebody tells it again.
func toldAndNoted(env *harness.Env, name string) error {
	return env.WaitFor(name+" is told, and that is noted", func() error {
		p, err := env.Get(name)
		if err == nil && !strings.Contains(p.Annotations["divvy.dev/idle-state"], `"told":true`) {
			return fmt.Errorf("its state is %q", p.Annotations["divvy.dev/idle-state"])
		}
		condition, err := idleCondition(env, name)
		if err == nil && (condition.Status != core.ConditionTrue || !strings.Contains(condition.Message,
			"it is evicted at ")) {
			err = fmt.Errorf("%+v", condition)
		}
		return err
	})
}

// worksAgain: that is told, and noted, before anybody is killed.
func worksAgain(env *harness.Env, h *harness.Worker, told *harness.Platform) error {
	if err := h.Must("run", harness.KernelMicros); err != nil {
		return err
	}
	return env.WaitFor("it is called off", func() error {
		p, err := env.Get(h.Name)
		if err == nil && p.Annotations["divvy.dev/idle-state"] != "" {
			return fmt.Errorf("its state is %q", p.Annotations["divvy.dev/idle-state"])
		}
		condition, err := idleCondition(env, h.Name)
		if notices := strings.Join(told.Of(h.Name), " "); err == nil && (condition.Status != core.ConditionFalse ||
			notices != "idle-notice idle-called-off") {
			err = fmt.Errorf("%+v, and its platform heard: %s", condition, notices)
		}
		return err
	})
}

func idleCondition(env *harness.Env, name string) (core.PodCondition, error) {
	p, err := env.Get(name)
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

func idleReclaimed(env *harness.Env) error {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	told := &harness.Platform{Extend: 4}
	return env.WithPlatform(told, "20s", func() error { return idlePods(env, told, record.Build) })
}

func idlePods(env *harness.Env, told *harness.Platform, build string) error {
	if err := idlePod(env, "kept", ""); err != nil {
		return err
	}
	rests, err := restingPod(env, "rests")
	if err != nil {
		return err
	}
	if err := toldAndNoted(env, "rests"); err != nil {
		return err
	}
	if err := worksAgain(env, rests, told); err != nil {
		return err
	}
	if err := idlePod(env, "idle", harness.IdleStop); err != nil {
		return err
	}
	if err := toldAndNoted(env, "idle"); err != nil {
		return err
	}
	// Whoever was about to do it is killed: agent and scheduler.
	if one, known := env.Processes.Find(harness.DefaultReplica.Extender()); known {
		if err := syscall.Kill(one.Pid, syscall.SIGKILL); err != nil {
			return err
		}
	}
	if err := env.Reinstall(); err != nil {
		return err
	}
	if err := env.RestartAgent(build); err != nil {
		return err
	}
	err = env.WaitFor("it is evicted", func() error {
		if p, err := env.Get("idle"); err == nil && p.DeletionTimestamp == nil {
			return fmt.Errorf("it is %s; its platform heard %v", p.Status.Phase, told.Of("idle"))
		} else if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	told.Lock()
	waited := time.Since(told.Due["idle"])
	told.Unlock()
	if notices := strings.Join(told.Of("idle"), " "); notices != "idle-notice idle-due idle-due" {
		return fmt.Errorf("its platform heard: %s", notices)
	}
	if waited < time.Duration(told.Extend)*time.Second {
		return fmt.Errorf("it was evicted %v after its platform had asked for %d s", waited, told.Extend)
	}
	if notices := strings.Join(told.Of("rests"), " "); notices != "idle-notice idle-called-off" {
		return fmt.Errorf("of one that works again the platform heard: %s", notices)
	}
	if condition, err := idleCondition(env, "rests"); err != nil || condition.Status != core.ConditionFalse {
		return fmt.Errorf("who works again: %+v, %w", condition, err)
	}
	for _, name := range []string{"rests", "kept"} {
		if err := env.StillRunning(name); err != nil {
			return err
		}
	}
	if launches, err := rests.Stop(); err != nil || launches == 0 {
		return errors.Join(err, fmt.Errorf("who works again launched %d kernels", launches))
	}
	if notices := told.Of("kept"); len(notices) > 0 {
		return fmt.Errorf("of one that may be idle the platform heard %v", notices)
	}
	return env.WaitEvents("idle", "Idle", "EvictedIdle")
}
