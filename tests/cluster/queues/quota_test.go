package queues

import (
	"fmt"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestQuota(t *testing.T) {
	checks.Run(t, checks.Check{Name: "a-namespace-holds-no-more-than-its-quota",
		Requirement: "quota from ResourceQuota: refused at the door what may never be, waits what may not be now",
		Run:         quotas})
}

func quotas(env *harness.Env) error {
	made := &core.ResourceQuota{ObjectMeta: meta.ObjectMeta{Name: "devices"},
		Spec: core.ResourceQuotaSpec{Hard: core.ResourceList{
			"limits.nvidia.com/gpumem": resource.MustParse("20000")}}}
	_, err := env.Client.CoreV1().ResourceQuotas(env.Namespace).Create(env.Ctx, made, meta.CreateOptions{})
	if err != nil {
		return err
	}
	// Known as soon as what may never be is refused.
	err = env.WaitFor("the quota is known", func() error {
		_, err := env.Create(harness.Pod("never", harness.Container("c", harness.OneShare("20001", "10"))))
		if err == nil {
			if err = env.Delete("never"); err == nil {
				err = fmt.Errorf("it was admitted")
			}
			return err
		}
		if !strings.Contains(err.Error(), "exceeding resource quota devices") {
			return fmt.Errorf("%q", err.Error())
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range []string{"first", "second"} {
		if _, err := env.Create(harness.Pod(name, harness.Container("c", harness.OneShare("10000", "10")))); err != nil {
			return err
		}
		if _, err := env.WaitBound(name); err != nil {
			return err
		}
	}
	if _, err := env.Create(harness.Pod("third", harness.Container("c", harness.OneShare("4000", "10")))); err != nil {
		return err
	}
	if _, err := env.WaitRefusedFor("third", "ResourceQuotaNotFit"); err != nil {
		return err
	}
	if err := env.Delete("first"); err != nil {
		return err
	}
	_, err = env.WaitBound("third")
	return err
}
