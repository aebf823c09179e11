package devices

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
)

func TestMigInstances(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-instances-of-a-partitioned-card-are-shared",
			Requirement: "of a card in MIG mode its instances are the node's devices: two pods share one, each is held to its " +
				"limit, a pod that names a profile gets such an instance, and one that wants two devices gets none; " +
				"who asks by a profile's resource has all of one",
			Run: instancesShared})
}

const partitionedCards = "sim-h100-mig"

func instancesShared(env *harness.Env) error {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	return env.WithDevices(partitionedCards, nil, func(uuids []string) error {
		if len(uuids) != 4 {
			return fmt.Errorf("the node has %v", uuids)
		}
		for _, uuid := range uuids {
			if !strings.HasPrefix(uuid, "MIG-") {
				return fmt.Errorf("%s is no instance", uuid)
			}
		}
		if err := onOneInstance(env, uuids[0]); err != nil {
			return err
		}
		named := harness.WithAnnotations(harness.ProbePod("named", harness.OneShare("3000", "0")), "nvidia.com/use-gputype",
			"MIG 2g.20gb")
		if _, err := env.Create(named); err != nil {
			return err
		}
		if _, err := env.WaitResult("named", 0); err != nil {
			return err
		}
		if on, err := env.DeviceOf("named"); err != nil || on != uuids[1] {
			return errors.Join(err, fmt.Errorf("who names a profile is on %s, not %s", on, uuids[1]))
		}
		two := harness.ProbePod("two", harness.Limits{"nvidia.com/gpu": "2", "nvidia.com/gpumem": "1000"})
		if _, err := env.Create(two); err != nil {
			return err
		}
		if _, err := env.WaitRefusedFor("two", "devices of models that were not asked for"); err != nil {
			return err
		}
		return byProfile(env, uuids[1])
	})
}

// byProfile: there is one of that profile, and who has it has all of it.
func byProfile(env *harness.Env, uuid string) error {
	const profile = "nvidia.com/mig-2g.20gb"
	if err := env.WaitKubeletCapacity(profile, 1); err != nil {
		return err
	}
	p := harness.ProbePod("all-of-it", harness.Limits{profile: "1"})
	p.Spec.Containers[0].Args = []string{"work"}
	if _, err := env.Create(p); err != nil {
		return err
	}
	if err := env.WaitRunning("all-of-it"); err != nil {
		return err
	}
	if on, err := env.DeviceOf("all-of-it"); err != nil || on != uuid {
		return errors.Join(err, fmt.Errorf("who asks by a profile is on %s, not %s", on, uuid))
	}
	for name, limits := range map[string]harness.Limits{"second": {profile: "1"}, "beside": harness.OneShare("1000",
		"10")} {
		if _, err := env.Create(harness.WithAnnotations(harness.ProbePod(name, limits), "nvidia.com/use-gpuuuid",
			uuid)); err != nil {
			return err
		}
	}
	for _, name := range []string{"second", "beside"} {
		if _, err := env.WaitRefused(name); err != nil {
			return err
		}
	}
	if err := env.Delete("all-of-it"); err != nil {
		return err
	}
	// Whoever is first, the other one waits for it.
	for _, name := range []string{"second", "beside"} {
		if _, err := env.WaitResult(name, 0); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// onOneInstance: two pods at once, of which neither can have what the other was given.
func onOneInstance(env *harness.Env, uuid string) error {
	for _, name := range []string{"left", "right"} {
		p := harness.WithAnnotations(harness.ProbePod(name, harness.OneShare("2000", "30")), "nvidia.com/use-gpuuuid", uuid)
		if _, err := env.Create(p); err != nil {
			return err
		}
	}
	for _, name := range []string{"left", "right"} {
		said, err := env.WaitResult(name, 0)
		if err == nil {
			err = said.Limited(2000 << 20)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if on, err := env.DeviceOf(name); err != nil || on != uuid {
			return errors.Join(err, fmt.Errorf("%s is on %s, not %s", name, on, uuid))
		}
	}
	return nil
}
