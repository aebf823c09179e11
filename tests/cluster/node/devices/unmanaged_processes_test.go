package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-a-card-that-somebody-unknown-uses-is-not-offered",
			"a process outside of all pods has a context on a card: nobody new gets it, who has something of it " +
				"goes on, and it is offered again when that has ended",
			occupied})
}

// stranger is a program on the first simulated card, of which nobody told Divvy.
func (w *world) stranger(build string) (*exec.Cmd, error) {
	program := exec.Command(filepath.Join(build, "tests", "share_probe"), "contend", "1000000")
	program.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(build, "simgpu"),
		"SIMGPU_PROFILE="+strings.TrimPrefix(simulated, "sim-"), "SIMGPU_DIR="+w.path("divvy", simulated, "card"))
	return program, program.Start()
}

func occupied(w *world) (err error) {
	if err := w.onKubelet(); err != nil {
		return err
	}
	record, err := w.readNodeRecord()
	if err != nil {
		return err
	}
	node, err := w.kubeletNode(w.ctx, core.NodeReady)
	if err != nil {
		return err
	}
	cards, err := registered(node)
	if err != nil {
		return err
	}
	// The control: before, it is offered.
	there := shareOf("there", cards[0].ID, 2000)
	there.Spec.Containers[0].Args = []string{"work"}
	if _, err := w.create(there); err != nil {
		return err
	}
	if err := w.runs("there"); err != nil {
		return err
	}
	stranger, err := w.stranger(record.Build)
	if err != nil {
		return err
	}
	ended := false
	end := func() error {
		if ended {
			return nil
		}
		ended = true
		err := stranger.Process.Kill()
		_ = stranger.Wait()
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	begun := time.Now()
	if err := w.offers(len(cards) - 1); err != nil {
		return err
	}
	w.note = fmt.Sprintf("not offered after %.1f s", time.Since(begun).Seconds())
	late := shareOf("late", cards[0].ID, 2000)
	late.Spec.Containers[0].Args = []string{"stay"}
	if _, err := w.create(late); err != nil {
		return err
	}
	if _, err := w.refused("late"); err != nil {
		return err
	}
	if err := w.stillWorks("there"); err != nil {
		return err
	}
	if err := end(); err != nil {
		return err
	}
	return errors.Join(w.offers(len(cards)), w.runs("late"))
}
