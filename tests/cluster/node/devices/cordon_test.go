package devices

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestCordon(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-cordon-and-drain",
			Requirement: "a card that is cordoned gets nobody new and who is there goes on; drained, its pods are evicted and no " +
				"others; uncordoned it is given again; without the cordon the same pod is placed on it",
			Run: cordonedAndDrained})
}

// onClosed are the pods that a ReplicaSet keeps on the card that is closed.
const onClosed = 2

func cordonedAndDrained(env *harness.Env) (err error) {
	_, cards, err := env.NodeAndDevices()
	if err != nil {
		return err
	}
	closed, other := cards[1], cards[2]
	where := harness.KubeletNode + "/" + closed
	defer func() {
		_, open := env.RunDivvy(nil, "uncordon", where)
		err = errors.Join(err, open, unkept(env, "kept"))
	}()
	if err := keepsOn(env, "kept", closed); err != nil {
		return err
	}
	there, err := allRun(env, "kept", onClosed)
	if err != nil {
		return err
	}
	if err := worksOn(env, "beside", other); err != nil {
		return err
	}
	// The control: the card has room, and gives of it.
	if err := worksOn(env, "early", closed); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	if err := env.Delete("early"); err != nil {
		return err
	}
	number, err := numberOf(env, closed)
	if err != nil {
		return err
	}
	if _, err := env.RunDivvy(nil, "cordon", fmt.Sprintf("%s/%d", harness.KubeletNode, number)); err != nil {
		return err
	}
	if err := env.WaitCordoned(harness.KubeletNode, closed, true); err != nil {
		return err
	}
	if err := nobodyNew(env, closed); err != nil {
		return err
	}
	if err := stayed(env, there); err != nil {
		return fmt.Errorf("under a cordon: %w", err)
	}
	if err := drains(env, where, there); err != nil {
		return err
	}
	if err := env.StillRunning("beside"); err != nil {
		return err
	}
	return opened(env, where, closed)
}

// numberOf is what people call the card by who read `divvy gpus`.
func numberOf(env *harness.Env, card string) (int, error) {
	var devices []struct {
		Uuid  string
		Index int
	}
	if _, err := env.RunDivvy(&devices, "gpus", "--cluster", "--node", harness.KubeletNode, "-o", "json"); err != nil {
		return 0, err
	}
	for _, one := range devices {
		if one.Uuid == card {
			return one.Index, nil
		}
	}
	return 0, fmt.Errorf("%s is not among %v", card, devices)
}

// keepsOn has a ReplicaSet keep pods on that card.
func keepsOn(env *harness.Env, name, card string) error {
	template := harness.PodOnDevice(name, card)
	template.Labels = map[string]string{"app": name}
	template.Spec.Containers[0].Args = []string{"stay"}
	template.Spec.RestartPolicy = core.RestartPolicyAlways
	replicas := int32(onClosed)
	_, err := env.Client.AppsV1().ReplicaSets(env.Namespace).Create(env.Ctx, &apps.ReplicaSet{
		ObjectMeta: meta.ObjectMeta{Name: name},
		Spec: apps.ReplicaSetSpec{Replicas: &replicas, Selector: &meta.LabelSelector{MatchLabels: template.Labels},
			Template: core.PodTemplateSpec{ObjectMeta: meta.ObjectMeta{Labels: template.Labels,
				Annotations: template.Annotations}, Spec: template.Spec}}}, meta.CreateOptions{})
	return err
}

// unkept: nobody makes them anew any more.
func unkept(env *harness.Env, name string) error {
	err := env.Client.AppsV1().ReplicaSets(env.Namespace).Delete(env.Ctx, name, meta.DeleteOptions{})
	if harness.IsNotFound(err) {
		err = nil
	}
	return err
}

// kept are the pods of that ReplicaSet that are not ending.
func kept(env *harness.Env, name string) ([]core.Pod, error) {
	list, err := env.Client.CoreV1().Pods(env.Namespace).List(env.Ctx, meta.ListOptions{LabelSelector: "app=" + name})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(p core.Pod) bool { return p.DeletionTimestamp != nil }), nil
}

// allRun are the names of the ReplicaSet's pods, when so many run.
func allRun(env *harness.Env, name string, count int) ([]string, error) {
	var names []string
	err := env.WaitFor(name+" has its pods", func() error {
		pods, err := kept(env, name)
		if err != nil {
			return err
		}
		names = nil
		for _, p := range pods {
			if p.Status.Phase != core.PodRunning {
				return fmt.Errorf("%s is %s: %s", p.Name, p.Status.Phase, harness.UnschedulableMessage(&p))
			}
			names = append(names, p.Name)
		}
		if len(names) != count {
			return fmt.Errorf("it has %v", names)
		}
		return nil
	})
	return names, err
}

// worksOn: a pod that asks for that card has it, and runs.
func worksOn(env *harness.Env, name, card string) error {
	p := harness.PodOnDevice(name, card)
	p.Spec.Containers[0].Args = []string{"stay"}
	if _, err := env.Create(p); err != nil {
		return err
	}
	if err := env.WaitRunning(name); err != nil {
		return err
	}
	on, err := env.DeviceOf(name)
	if err == nil && on != card {
		err = fmt.Errorf("%s is on %s, and asked for %s", name, on, card)
	}
	return err
}

// crowd are so many that each card would have three pods, were they spread over all four.
const crowd = 9

// nobodyNew: who asks for the card waits, who does not is elsewhere.
func nobodyNew(env *harness.Env, closed string) error {
	if _, err := env.Create(harness.PodOnDevice("late", closed)); err != nil {
		return err
	}
	why, err := env.WaitRefused("late")
	if err != nil {
		return err
	}
	env.Note = "refused meanwhile: " + why
	for at := range crowd {
		name := fmt.Sprintf("anywhere-%d", at)
		p := harness.WithAnnotations(harness.ProbePod(name, harness.OneShare("2000", "10")), "use.divvy.dev/device-policy",
			"spread")
		p.Spec.Containers[0].Args = []string{"stay"}
		if _, err := env.Create(p); err != nil {
			return err
		}
		on, err := env.DeviceOf(name)
		if err == nil && on == closed {
			err = fmt.Errorf("%s is on %s, which is cordoned", name, on)
		}
		if err != nil {
			return err
		}
	}
	return env.Delete("late")
}

func stayed(env *harness.Env, names []string) error {
	for _, name := range names {
		if err := env.StillRunning(name); err != nil {
			return err
		}
	}
	return nil
}

// drains: just these are evicted, and the API server was asked for that as budgets have it.
func drains(env *harness.Env, where string, there []string) error {
	log, err := harness.OpenAudit(env.Path("audit.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	if _, err := env.RunDivvy(nil, "drain", where, "--timeout", "30s"); err != nil {
		return err
	}
	for _, name := range there {
		if _, err := env.Get(name); !harness.IsNotFound(err) {
			return fmt.Errorf("%s is still there: %w", name, err)
		}
	}
	var evicted, deleted []string
	return env.WaitFor("the audit log has their evictions", func() error {
		err := log.Read(func(one *harness.AuditedWrite) {
			ours := one.Object.Resource == "pods" && one.Object.Namespace == env.Namespace && one.Status.Code < 300
			if ours && one.Verb == "create" && one.Object.Subresource == "eviction" {
				evicted = append(evicted, one.Object.Name)
			}
			// The kubelet says by a deletion that an evicted pod has ended.
			others := one.User.Username != "system:node:"+harness.KubeletNode
			if ours && one.Verb == "delete" && others && slices.Contains(there, one.Object.Name) {
				deleted = append(deleted, one.Object.Name)
			}
		})
		if err != nil {
			return err
		}
		slices.Sort(evicted)
		if slices.Sort(there); !slices.Equal(evicted, there) || len(deleted) > 0 {
			return fmt.Errorf("evicted are %v, deleted %v, and not just %v evicted", evicted, deleted, there)
		}
		return nil
	})
}

// opened: who was made anew meanwhile waits for the card, and has it when it is uncordoned.
func opened(env *harness.Env, where, closed string) error {
	err := env.WaitFor("those that are made anew wait", func() error {
		pods, err := kept(env, "kept")
		if err == nil && len(pods) != onClosed {
			err = fmt.Errorf("there are %d", len(pods))
		}
		for _, p := range pods {
			if p.Spec.NodeName != "" {
				return fmt.Errorf("%s is on %s", p.Name, p.Spec.NodeName)
			}
			if harness.UnschedulableMessage(&p) == "" {
				return fmt.Errorf("of %s nothing is said yet", p.Name)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	if _, err := env.RunDivvy(nil, "uncordon", where); err != nil {
		return err
	}
	if err := env.WaitCordoned(harness.KubeletNode, closed, false); err != nil {
		return err
	}
	names, err := allRun(env, "kept", onClosed)
	if err != nil {
		return err
	}
	for _, name := range names {
		if on, err := env.DeviceOf(name); err != nil || on != closed {
			return errors.Join(err, fmt.Errorf("%s is on %s", name, on))
		}
	}
	return nil
}
