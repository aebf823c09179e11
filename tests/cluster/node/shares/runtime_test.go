package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func init() {
	checks = append(checks,
		check{"kubelet-restricted",
			"a pod in a namespace of level restricted, as an arbitrary uid, with a read-only root and no " +
				"capabilities, sees its share and no more",
			restricted},
		check{"kubelet-containerd-restart",
			"containerd is killed and begins anew under a tenant: it sees no error, and new pods start",
			containerdAnew})
}

// restrictedProbe is what level `restricted` lets through.
func restrictedProbe(name string, limits asks) *core.Pod {
	yes, no, uid := true, false, int64(1234567)
	p := probe(name, limits)
	p.Spec.HostNetwork = false
	p.Spec.SecurityContext = &core.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &uid, RunAsGroup: &uid,
		SeccompProfile: &core.SeccompProfile{Type: core.SeccompProfileTypeRuntimeDefault}}
	p.Spec.Containers[0].SecurityContext = &core.SecurityContext{AllowPrivilegeEscalation: &no,
		ReadOnlyRootFilesystem: &yes, Capabilities: &core.Capabilities{Drop: []core.Capability{"ALL"}}}
	return p
}

func restricted(w *world) error {
	if err := w.onKubelet(); err != nil {
		return err
	}
	record, err := w.readNodeRecord()
	if err != nil {
		return err
	}
	// The control: as restricted, and without Divvy, it sees the whole card.
	const mebibytes = 3000
	whole := w.bare("whole", record.Build)
	whole.Spec.SecurityContext = restrictedProbe("", nil).Spec.SecurityContext
	whole.Spec.Containers[0].SecurityContext = restrictedProbe("", nil).Spec.Containers[0].SecurityContext
	if _, err := w.create(whole); err != nil {
		return err
	}
	unlimited, err := w.ended("whole", 0)
	if err != nil || unlimited.limited(mebibytes<<20) == nil {
		return fmt.Errorf("control: without Divvy it sees %v, %w", unlimited, err)
	}
	label := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	_, err = w.client.CoreV1().Namespaces().Patch(w.ctx, w.space, types.MergePatchType, label, meta.PatchOptions{})
	if err != nil {
		return err
	}
	// What sees the whole card cannot be made here: the namespace is what it says, as soon as the API server has heard.
	err = w.until("a pod with the host's network and folders is refused", func() error {
		err := w.tryPod(w.bare("bare", record.Build))
		if err == nil {
			return errors.New("it is let in")
		}
		if !strings.Contains(err.Error(), "restricted") {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := w.create(restrictedProbe("limited", one(fmt.Sprint(mebibytes), "30"))); err != nil {
		return err
	}
	said, err := w.ended("limited", 0)
	if err == nil {
		err = said.limited(mebibytes << 20)
	}
	if err != nil {
		return err
	}
	// One that works is known to the agent, whoever it is.
	working := restrictedProbe("working", one("2000", "10"))
	working.Spec.Containers[0].Args = []string{"work"}
	if _, err := w.create(working); err != nil {
		return err
	}
	return w.until("it is counted", func() error {
		found, err := w.samples("divvy_tenant_processes", "working")
		if err == nil && (len(found) != 1 || !strings.HasSuffix(found[0], " 1")) {
			err = fmt.Errorf("%v", found)
		}
		return err
	})
}

func containerdAnew(w *world) error {
	if err := w.onKubelet(); err != nil {
		return err
	}
	working := probe("working", one("3000", "10"))
	working.Spec.Containers[0].Args = []string{"work"}
	if _, err := w.create(working); err != nil {
		return err
	}
	if err := w.runs("working"); err != nil {
		return err
	}
	one, known := w.processes.find("containerd")
	if !known {
		return errors.New("containerd does not run")
	}
	if err := syscall.Kill(one.Pid, syscall.SIGKILL); err != nil {
		return err
	}
	if err := one.end(stopBound); err != nil {
		return err
	}
	// It is away: nobody starts a container now.
	gone := w.ctr("version")
	if err := w.startContainerd(w.ctx); err != nil {
		return err
	}
	if gone == nil {
		return errors.New("containerd answered while it was away")
	}
	return w.afterContainerd()
}

// afterContainerd: who was there works with what it had, who comes gets a share.
func (w *world) afterContainerd() error {
	const mebibytes = 2000
	if _, err := w.create(probe("after", one(fmt.Sprint(mebibytes), "10"))); err != nil {
		return err
	}
	said, err := w.ended("after", 0)
	if err == nil {
		err = said.limited(mebibytes << 20)
	}
	if err != nil {
		return err
	}
	if err := w.stillWorks("working"); err != nil {
		return err
	}
	return w.shows("divvy_tenant_info", "working", `state="running"`)
}
