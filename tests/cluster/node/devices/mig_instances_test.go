package main

import (
	"errors"
	"fmt"
	"strings"
)

func init() {
	checks = append(checks,
		check{"kubelet-instances-of-a-partitioned-card-are-shared",
			"of a card in MIG mode its instances are the node's devices: two pods share one, each is held to its " +
				"limit, a pod that names a profile gets such an instance, and one that wants two devices gets none; " +
				"who asks by a profile's resource has all of one",
			instancesShared})
}

const partitionedCards = "sim-h100-mig"

func instancesShared(w *world) error {
	if err := w.onKubelet(); err != nil {
		return err
	}
	return w.onCards(partitionedCards, nil, func(uuids []string) error {
		if len(uuids) != 4 {
			return fmt.Errorf("the node has %v", uuids)
		}
		for _, uuid := range uuids {
			if !strings.HasPrefix(uuid, "MIG-") {
				return fmt.Errorf("%s is no instance", uuid)
			}
		}
		if err := w.onOneInstance(uuids[0]); err != nil {
			return err
		}
		named := annotated(probe("named", one("3000", "0")), "nvidia.com/use-gputype", "MIG 2g.20gb")
		if _, err := w.create(named); err != nil {
			return err
		}
		if _, err := w.ended("named", 0); err != nil {
			return err
		}
		if on, err := w.onCard("named"); err != nil || on != uuids[1] {
			return errors.Join(err, fmt.Errorf("who names a profile is on %s, not %s", on, uuids[1]))
		}
		two := probe("two", asks{"nvidia.com/gpu": "2", "nvidia.com/gpumem": "1000"})
		if _, err := w.create(two); err != nil {
			return err
		}
		if _, err := w.refusedFor("two", "devices of models that were not asked for"); err != nil {
			return err
		}
		return w.byProfile(uuids[1])
	})
}

// byProfile: there is one of that profile, and who has it has all of it.
func (w *world) byProfile(uuid string) error {
	const profile = "nvidia.com/mig-2g.20gb"
	if err := w.countedBy(profile, 1); err != nil {
		return err
	}
	p := probe("all-of-it", asks{profile: "1"})
	p.Spec.Containers[0].Args = []string{"work"}
	if _, err := w.create(p); err != nil {
		return err
	}
	if err := w.runs("all-of-it"); err != nil {
		return err
	}
	if on, err := w.onCard("all-of-it"); err != nil || on != uuid {
		return errors.Join(err, fmt.Errorf("who asks by a profile is on %s, not %s", on, uuid))
	}
	for name, limits := range map[string]asks{"second": {profile: "1"}, "beside": one("1000", "10")} {
		if _, err := w.create(annotated(probe(name, limits), "nvidia.com/use-gpuuuid", uuid)); err != nil {
			return err
		}
	}
	for _, name := range []string{"second", "beside"} {
		if _, err := w.refused(name); err != nil {
			return err
		}
	}
	if err := w.remove("all-of-it"); err != nil {
		return err
	}
	// Whoever is first, the other one waits for it.
	for _, name := range []string{"second", "beside"} {
		if _, err := w.ended(name, 0); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// onOneInstance: two pods at once, of which neither can have what the other was given.
func (w *world) onOneInstance(uuid string) error {
	for _, name := range []string{"left", "right"} {
		p := annotated(probe(name, one("2000", "30")), "nvidia.com/use-gpuuuid", uuid)
		if _, err := w.create(p); err != nil {
			return err
		}
	}
	for _, name := range []string{"left", "right"} {
		said, err := w.ended(name, 0)
		if err == nil {
			err = said.limited(2000 << 20)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if on, err := w.onCard(name); err != nil || on != uuid {
			return errors.Join(err, fmt.Errorf("%s is on %s, not %s", name, on, uuid))
		}
	}
	return nil
}
