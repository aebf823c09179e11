package isolation

import (
	"fmt"
	"path/filepath"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
)

func TestRegistration(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-nobody-enrolls-as-another-pods",
			Requirement: "a process that says at the agent's socket that it is of another pod's share is told that there is none such; " +
				"it is believed of its own, as far as that goes: the slot it names is not its",
			Run: enrolledByTheKernelsWord})
}

// What the agent answers (ledger/registration.h).
const (
	unknownTenant = 1
	badSlot       = 2
)

// enrolled is what a pod with a share of its own is answered that says it is of that tenant.
func enrolled(env *harness.Env, name, tenant string) (uint64, error) {
	p := harness.ProbePod(name, harness.OneShare("1000", "10"))
	p.Spec.Containers[0].Args = []string{"enroll", tenant}
	if _, err := env.Create(p); err != nil {
		return 0, err
	}
	said, err := env.WaitResult(name, 0)
	return said["status"], err
}

func enrolledByTheKernelsWord(env *harness.Env) error {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	owner := harness.ProbePod("owner", harness.OneShare("2000", "10"))
	owner.Spec.Containers[0].Args = []string{"work"}
	if _, err := env.Create(owner); err != nil {
		return err
	}
	if err := env.WaitRunning("owner"); err != nil {
		return err
	}
	ledger, err := env.TenantFolder("owner")
	if err != nil {
		return err
	}
	status, err := enrolled(env, "foreign", filepath.Base(ledger))
	if err != nil || status != unknownTenant {
		return fmt.Errorf("a foreign process is answered %d, %w", status, err)
	}
	// The control: the kernel's word is all that differs.
	status, err = enrolled(env, "itself", "own")
	if err != nil || status != badSlot {
		return fmt.Errorf("control: who says who he is is answered %d, %w", status, err)
	}
	return env.StillRunning("owner")
}
