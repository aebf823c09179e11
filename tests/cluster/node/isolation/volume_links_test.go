package main

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	core "k8s.io/api/core/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-a-volume-by-way-of-a-link-is-a-bypass",
			"a volume whose mount path leads by a link in the image over the share's control page gives the container " +
				"another page: it is told of a bypass; a neighbour is not", volumeByLink})
}

const (
	tenantInside = "/run/divvy/tenant"
	// Deeper than the pages: runtimes mount what has more folders in its path later.
	linkInside = "/made/by/the/image/pages"
)

func volumeByLink(w *world) error {
	_, cards, err := w.nodeAndCards()
	if err != nil {
		return err
	}
	large, err := w.hand(shareOf("large", cards[0], 4000), "busy")
	if err != nil {
		return err
	}
	if err := large.must("open", 1); err != nil {
		return err
	}
	tenant, err := w.tenantOf(lodger{"large", "probe"})
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "page-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// A page that the library takes for good, with more than the share has.
	page, err := os.ReadFile(w.path("divvy", simulated, "tenants", tenant, "control"))
	if err != nil {
		return err
	}
	made := filepath.Join(dir, "control")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(made, page, 0o644)); err != nil {
		return err
	}
	kind := core.HostPathFile
	small := shareOf("small", cards[0], 1000)
	small.Spec.Volumes = append(small.Spec.Volumes, core.Volume{Name: "made", VolumeSource: core.VolumeSource{
		HostPath: &core.HostPathVolumeSource{Path: made, Type: &kind}}})
	small.Spec.Containers[0].VolumeMounts = append(small.Spec.Containers[0].VolumeMounts,
		core.VolumeMount{Name: "made", MountPath: linkInside + "/control", ReadOnly: true})
	h, err := w.hand(small, "busy")
	if err != nil {
		return err
	}
	clock := watchStalls()
	defer clock.end()
	if err := h.must("open", 1); err != nil {
		return err
	}
	// Which comes first: that it registers with other pages, or that the driver tells of a process that did not register.
	if err := w.toldOfBypass("small", "process "); err != nil {
		return err
	}
	took := clock.passed()
	condition, err := w.bypassCondition("small")
	if err != nil {
		return err
	}
	w.note = "after " + took.Round(time.Second/10).String() + ": " + condition.Message
	if took > bypassBound {
		return errors.New(w.note)
	}
	condition, err = w.bypassCondition("large")
	if err == nil && condition.Type != "" {
		err = errors.New("its neighbour is told, too: " + condition.Message)
	}
	return errors.Join(err, h.end(w), large.end(w))
}
