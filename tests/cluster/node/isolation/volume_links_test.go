package isolation

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
)

func TestVolumeLinks(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-a-volume-by-way-of-a-link-is-a-bypass",
			Requirement: "a volume whose mount path leads by a link in the image over the share's control page gives the container " +
				"another page: it is told of a bypass; a neighbour is not", Run: volumeByLink})
}

func volumeByLink(env *harness.Env) error {
	_, cards, err := env.NodeAndDevices()
	if err != nil {
		return err
	}
	large, err := env.StartWorker(harness.ShareOf("large", cards[0], 4000), "busy")
	if err != nil {
		return err
	}
	if err := large.Must("open", 1); err != nil {
		return err
	}
	tenant, err := tenantOf(env, harness.ContainerRef{Pod: "large", Container: "probe"})
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "page-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// A page that the library takes for good, with more than the share has.
	page, err := os.ReadFile(env.Path("divvy", harness.SimulatedDevices, "tenants", tenant, "control"))
	if err != nil {
		return err
	}
	made := filepath.Join(dir, "control")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(made, page, 0o644)); err != nil {
		return err
	}
	kind := core.HostPathFile
	small := harness.ShareOf("small", cards[0], 1000)
	small.Spec.Volumes = append(small.Spec.Volumes, core.Volume{Name: "made", VolumeSource: core.VolumeSource{
		HostPath: &core.HostPathVolumeSource{Path: made, Type: &kind}}})
	small.Spec.Containers[0].VolumeMounts = append(small.Spec.Containers[0].VolumeMounts,
		core.VolumeMount{Name: "made", MountPath: harness.LinkInContainer + "/control", ReadOnly: true})
	h, err := env.StartWorker(small, "busy")
	if err != nil {
		return err
	}
	clock := harness.NewStallClock()
	defer clock.Stop()
	if err := h.Must("open", 1); err != nil {
		return err
	}
	// Which comes first: that it registers with other pages, or that the driver tells of a process that did not register.
	if err := env.WaitBypassCondition("small", "process "); err != nil {
		return err
	}
	took := clock.Elapsed()
	condition, err := env.BypassCondition("small")
	if err != nil {
		return err
	}
	env.Note = "after " + took.Round(time.Second/10).String() + ": " + condition.Message
	if took > harness.BypassBound {
		return errors.New(env.Note)
	}
	condition, err = env.BypassCondition("large")
	if err == nil && condition.Type != "" {
		err = errors.New("its neighbour is told, too: " + condition.Message)
	}
	return errors.Join(err, h.Exit(env), large.Exit(env))
}
