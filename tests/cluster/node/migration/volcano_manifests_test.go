package migration

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
)

func TestVolcanoManifests(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-manifests-for-volcanos-vgpu",
			Requirement: "pods that ask by the names of Volcano's vGPU plugin are placed, given a share and held to it, where " +
				"Divvy is told that its resources are called so",
			Run: underVolcanosNames})
}

// Source: Volcano 1.10, its vGPU device plugin's resources.
const volcanoConfig = `nvidia:
  resourceCountName: volcano.sh/vgpu-number
  resourceMemoryName: volcano.sh/vgpu-memory
  resourceMemoryPercentageName: volcano.sh/vgpu-memory-percentage
  resourceCoreName: volcano.sh/vgpu-cores
`

const volcanoCount = "volcano.sh/vgpu-number"

func underVolcanosNames(env *harness.Env) (err error) {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	file := env.Path("device-config.yaml")
	if err := os.WriteFile(file, []byte(volcanoConfig), 0o644); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.RestartAgent(record.Build)) }()
	return env.WithResourceNames(volcanoCount, []string{"--device-config", file}, func() error {
		if err := env.RestartAgent(record.Build, "--resource", volcanoCount); err != nil {
			return err
		}
		limits := harness.Limits{volcanoCount: "1", "volcano.sh/vgpu-memory": "2000", "volcano.sh/vgpu-cores": "10"}
		if _, err := env.Create(harness.ProbePod("limited", limits)); err != nil {
			return err
		}
		said, err := env.WaitResult("limited", 0)
		if err == nil {
			err = said.Limited(2000 << 20)
		}
		if err != nil {
			return err
		}
		half := harness.ProbePod("half", harness.Limits{volcanoCount: "1", "volcano.sh/vgpu-memory-percentage": "50"})
		if _, err := env.Create(half); err != nil {
			return err
		}
		said, err = env.WaitResult("half", 0)
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
