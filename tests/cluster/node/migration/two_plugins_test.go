package main

import (
	"errors"
	"fmt"
	"os"
)

func init() {
	checks = append(checks,
		check{"kubelet-beside-nvidias-plugin",
			"while NVIDIA's own plugin serves its name, Divvy's agent does not, says why, and does once that has " +
				"ended; by a name of its own it serves beside it, and who asks by NVIDIA's is not placed there",
			besideNvidias})
}

func besideNvidias(w *world) (err error) {
	if err := w.onKubelet(); err != nil {
		return err
	}
	if _, err := os.Stat(w.nvidia); err != nil {
		return err
	}
	record, err := w.agentEnds()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.endProcess(nvidiaProcess), w.agentBegins(record.Build)) }()
	if err := w.nvidiaServes(record.Build); err != nil {
		return err
	}
	if err := w.waitsForNvidias(record.Build); err != nil {
		return err
	}
	if err := w.endProcess(agentProcess); err != nil {
		return err
	}
	if err := w.nvidiaServes(record.Build); err != nil {
		return err
	}
	if err := w.agentServesOwnName(record.Build); err != nil {
		return err
	}
	return w.ownNameBeside()
}

// waitsForNvidias: whoever registers last is heeded by the kubelet, so that one must not.
func (w *world) waitsForNvidias(build string) error {
	mark := w.agentLogs()
	before := w.registrations()
	if err := w.runAgent(build); err != nil {
		return err
	}
	for _, name := range []string{"nvidia.com/gpu", ownName} {
		if err := w.agentSays("not registering "+name+" until it has ended", mark); err != nil {
			return err
		}
	}
	if now := w.registrations(); now != before {
		return fmt.Errorf("there were %d registrations, and now %d", before, now)
	}
	if err := w.countedBy("nvidia.com/gpu", 4); err != nil {
		return err
	}
	if err := w.endProcess(nvidiaProcess); err != nil {
		return err
	}
	return errors.Join(w.countedBy("nvidia.com/gpu", 40), w.countedBy(ownName, 40))
}

func (w *world) ownNameBeside() error {
	if err := errors.Join(w.countedBy(ownName, 40), w.countedBy("nvidia.com/gpu", 4)); err != nil {
		return err
	}
	if _, err := w.create(probe("theirs", asks{"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1000"})); err != nil {
		return err
	}
	if _, err := w.create(probe("ours", asks{ownName: "1", "divvy.dev/gpumem": "1000"})); err != nil {
		return err
	}
	said, err := w.ended("ours", 0)
	if err == nil {
		err = said.limited(1000 << 20)
	}
	if err != nil {
		return err
	}
	_, err = w.refusedFor("theirs", "models that were not asked for")
	return err
}
