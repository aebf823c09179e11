package shares

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestRuntime(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-restricted",
			Requirement: "a pod in a namespace of level restricted, as an arbitrary uid, with a read-only root and no " +
				"capabilities, sees its share and no more",
			Run: restricted},
		checks.Check{Name: "kubelet-containerd-restart",
			Requirement: "containerd is killed and begins anew under a tenant: it sees no error, and new pods start",
			Run:         containerdAnew})
}

// restrictedProbe is what level `restricted` lets through.
func restrictedProbe(name string, limits harness.Limits) *core.Pod {
	yes, no, uid := true, false, int64(1234567)
	p := harness.ProbePod(name, limits)
	p.Spec.HostNetwork = false
	p.Spec.SecurityContext = &core.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &uid, RunAsGroup: &uid,
		SeccompProfile: &core.SeccompProfile{Type: core.SeccompProfileTypeRuntimeDefault}}
	p.Spec.Containers[0].SecurityContext = &core.SecurityContext{AllowPrivilegeEscalation: &no,
		ReadOnlyRootFilesystem: &yes, Capabilities: &core.Capabilities{Drop: []core.Capability{"ALL"}}}
	return p
}

func restricted(env *harness.Env) error {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	// The control: as restricted, and without Divvy, it sees the whole card.
	const mebibytes = 3000
	whole := env.UnmanagedPod("whole", record.Build)
	whole.Spec.SecurityContext = restrictedProbe("", nil).Spec.SecurityContext
	whole.Spec.Containers[0].SecurityContext = restrictedProbe("", nil).Spec.Containers[0].SecurityContext
	if _, err := env.Create(whole); err != nil {
		return err
	}
	unlimited, err := env.WaitResult("whole", 0)
	if err != nil || unlimited.Limited(mebibytes<<20) == nil {
		return fmt.Errorf("control: without Divvy it sees %v, %w", unlimited, err)
	}
	label := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	_, err = env.Client.CoreV1().Namespaces().Patch(env.Ctx, env.Namespace, types.MergePatchType, label,
		meta.PatchOptions{})
	if err != nil {
		return err
	}
	// What sees the whole card cannot be made here: the namespace is what it says, as soon as the API server has heard.
	err = env.WaitFor("a pod with the host's network and folders is refused", func() error {
		err := env.DryRunPod(env.UnmanagedPod("bare", record.Build))
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
	if _, err := env.Create(restrictedProbe("limited", harness.OneShare(fmt.Sprint(mebibytes), "30"))); err != nil {
		return err
	}
	said, err := env.WaitResult("limited", 0)
	if err == nil {
		err = said.Limited(mebibytes << 20)
	}
	if err != nil {
		return err
	}
	// One that works is known to the agent, whoever it is.
	working := restrictedProbe("working", harness.OneShare("2000", "10"))
	working.Spec.Containers[0].Args = []string{"work"}
	if _, err := env.Create(working); err != nil {
		return err
	}
	return env.WaitFor("it is counted", func() error {
		found, err := env.Metrics("divvy_tenant_processes", "working")
		if err == nil && (len(found) != 1 || !strings.HasSuffix(found[0], " 1")) {
			err = fmt.Errorf("%v", found)
		}
		return err
	})
}

func containerdAnew(env *harness.Env) error {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	working := harness.ProbePod("working", harness.OneShare("3000", "10"))
	working.Spec.Containers[0].Args = []string{"work"}
	if _, err := env.Create(working); err != nil {
		return err
	}
	if err := env.WaitRunning("working"); err != nil {
		return err
	}
	one, known := env.Processes.Find("containerd")
	if !known {
		return errors.New("containerd does not run")
	}
	if err := syscall.Kill(one.Pid, syscall.SIGKILL); err != nil {
		return err
	}
	if err := one.End(harness.StopBound); err != nil {
		return err
	}
	// It is away: nobody starts a container now.
	gone := env.Ctr("version")
	if err := env.StartContainerd(env.Ctx); err != nil {
		return err
	}
	if gone == nil {
		return errors.New("containerd answered while it was away")
	}
	return afterContainerd(env)
}

// afterContainerd: who was there works with what it had, who comes gets a share.
func afterContainerd(env *harness.Env) error {
	const mebibytes = 2000
	if _, err := env.Create(harness.ProbePod("after", harness.OneShare(fmt.Sprint(mebibytes), "10"))); err != nil {
		return err
	}
	said, err := env.WaitResult("after", 0)
	if err == nil {
		err = said.Limited(mebibytes << 20)
	}
	if err != nil {
		return err
	}
	if err := env.StillRunning("working"); err != nil {
		return err
	}
	return env.WaitMetric("divvy_tenant_info", "working", `state="running"`)
}
