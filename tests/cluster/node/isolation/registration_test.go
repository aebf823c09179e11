package main

import (
	"fmt"
	"path/filepath"
)

func init() {
	checks = append(checks,
		check{"kubelet-nobody-enrolls-as-another-pods",
			"a process that says at the agent's socket that it is of another pod's share is told that there is none such; " +
				"it is believed of its own, as far as that goes: the slot it names is not its",
			enrolledByTheKernelsWord})
}

// What the agent answers (ledger/registration.h).
const (
	unknownTenant = 1
	badSlot       = 2
)

// enrolled is what a pod with a share of its own is answered that says it is of that tenant.
func (w *world) enrolled(name, tenant string) (uint64, error) {
	p := probe(name, one("1000", "10"))
	p.Spec.Containers[0].Args = []string{"enroll", tenant}
	if _, err := w.create(p); err != nil {
		return 0, err
	}
	said, err := w.ended(name, 0)
	return said["status"], err
}

func enrolledByTheKernelsWord(w *world) error {
	if err := w.onKubelet(); err != nil {
		return err
	}
	owner := probe("owner", one("2000", "10"))
	owner.Spec.Containers[0].Args = []string{"work"}
	if _, err := w.create(owner); err != nil {
		return err
	}
	if err := w.runs("owner"); err != nil {
		return err
	}
	ledger, err := w.ledgerOf("owner")
	if err != nil {
		return err
	}
	status, err := w.enrolled("stranger", filepath.Base(ledger))
	if err != nil || status != unknownTenant {
		return fmt.Errorf("a stranger is answered %d, %w", status, err)
	}
	// The control: the kernel's word is all that differs.
	status, err = w.enrolled("itself", "own")
	if err != nil || status != badSlot {
		return fmt.Errorf("control: who says who he is is answered %d, %w", status, err)
	}
	return w.stillWorks("owner")
}
