package main

import (
	"errors"
	"fmt"
	"os"
)

func init() {
	checks = append(checks,
		check{"kubelet-manifests-for-volcanos-vgpu",
			"pods that ask by the names of Volcano's vGPU plugin are placed, given a share and held to it, where " +
				"Divvy is told that its resources are called so",
			underVolcanosNames})
}

// Source: Volcano 1.10, its vGPU device plugin's resources.
const volcanoConfig = `nvidia:
  resourceCountName: volcano.sh/vgpu-number
  resourceMemoryName: volcano.sh/vgpu-memory
  resourceMemoryPercentageName: volcano.sh/vgpu-memory-percentage
  resourceCoreName: volcano.sh/vgpu-cores
`

const volcanoCount = "volcano.sh/vgpu-number"

func underVolcanosNames(w *world) (err error) {
	if err := w.onKubelet(); err != nil {
		return err
	}
	record, err := w.readNodeRecord()
	if err != nil {
		return err
	}
	file := w.path("device-config.yaml")
	if err := os.WriteFile(file, []byte(volcanoConfig), 0o644); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.agentBegins(record.Build)) }()
	return w.called(volcanoCount, []string{"--device-config", file}, func() error {
		if err := w.agentBegins(record.Build, "--resource", volcanoCount); err != nil {
			return err
		}
		limits := asks{volcanoCount: "1", "volcano.sh/vgpu-memory": "2000", "volcano.sh/vgpu-cores": "10"}
		if _, err := w.create(probe("limited", limits)); err != nil {
			return err
		}
		said, err := w.ended("limited", 0)
		if err == nil {
			err = said.limited(2000 << 20)
		}
		if err != nil {
			return err
		}
		half := probe("half", asks{volcanoCount: "1", "volcano.sh/vgpu-memory-percentage": "50"})
		if _, err := w.create(half); err != nil {
			return err
		}
		said, err = w.ended("half", 0)
		if err != nil {
			return err
		}
		whole := uint64(80 << 30)
		if total := said["total"]; total < whole*45/100 || total > whole*51/100 {
			return fmt.Errorf("half of a card is %d bytes", total)
		}
		return nil
	})
}
