package harness

import (
	"errors"
	"fmt"
	"strings"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type changed struct {
	Phase, Reason, Message, Container string
	Devices                           []struct {
		UUID      string
		MemoryMiB uint64
		Cores     int
	}
}

// RunSet asks for it, as a user does.
func (env *Env) RunSet(name string, args ...string) (said changed, no bool, err error) {
	no, err = env.RunDivvy(&said, append([]string{"resize", "pod/" + env.Namespace + "/" + name, "-o", "json"}, args...)...)
	return said, no, err
}

func (env *Env) SetMemory(name, memory string) (changed, error) {
	said, no, err := env.RunSet(name, "--memory", memory)
	if err == nil && (no || said.Phase != "done") {
		err = fmt.Errorf("%+v", said)
	}
	return said, err
}

// A TwoContainerPod are both containers of one pod, on one card.
type TwoContainerPod struct {
	Pod     string
	Workers [2]*Worker
}

// End has both containers end: the pod has ended when they have.
func (d *TwoContainerPod) End(env *Env) error {
	side := d.Workers[1]
	return errors.Join(side.Send("exit"), side.Conn.Close(), d.Workers[0].Exit(env))
}

// SetMemoryQuota gives the namespace a quota of so many MiB, and waits until the scheduler knows it.
func (env *Env) SetMemoryQuota(mebibytes int) error {
	made := &core.ResourceQuota{ObjectMeta: meta.ObjectMeta{Name: "devices"},
		Spec: core.ResourceQuotaSpec{Hard: core.ResourceList{
			"limits.nvidia.com/gpumem": resource.MustParse(fmt.Sprint(mebibytes))}}}
	if _, err := env.Client.CoreV1().ResourceQuotas(env.Namespace).Create(env.Ctx, made,
		meta.CreateOptions{}); err != nil {
		return err
	}
	never := Pod("never", Container("c", OneShare(fmt.Sprint(mebibytes+1), "10")))
	return env.WaitFor("the quota is known", func() error {
		_, err := env.Client.CoreV1().Pods(env.Namespace).Create(env.Ctx, never, meta.CreateOptions{DryRun: DryRun})
		if err == nil {
			return errors.New("who asks for more than that is admitted")
		}
		if !strings.Contains(err.Error(), "exceeding resource quota devices") {
			return err
		}
		return nil
	})
}
