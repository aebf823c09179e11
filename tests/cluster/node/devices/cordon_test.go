package main

import (
	"errors"
	"fmt"
	"slices"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-cordon-and-drain",
			"a card that is cordoned gets nobody new and who is there goes on; drained, its pods are evicted and no " +
				"others; uncordoned it is given again; without the cordon the same pod is placed on it",
			cordonedAndDrained})
}

// onClosed are the pods that a ReplicaSet keeps on the card that is closed.
const onClosed = 2

func cordonedAndDrained(w *world) (err error) {
	_, cards, err := w.nodeAndCards()
	if err != nil {
		return err
	}
	closed, other := cards[1], cards[2]
	where := kubeletNode + "/" + closed
	defer func() {
		_, open := w.tool(nil, "uncordon", where)
		err = errors.Join(err, open, w.unkept("kept"))
	}()
	if err := w.keepsOn("kept", closed); err != nil {
		return err
	}
	there, err := w.allRun("kept", onClosed)
	if err != nil {
		return err
	}
	if err := w.worksOn("beside", other); err != nil {
		return err
	}
	// The control: the card has room, and gives of it.
	if err := w.worksOn("early", closed); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	if err := w.remove("early"); err != nil {
		return err
	}
	number, err := w.numberOf(closed)
	if err != nil {
		return err
	}
	if _, err := w.tool(nil, "cordon", fmt.Sprintf("%s/%d", kubeletNode, number)); err != nil {
		return err
	}
	if err := w.closed(kubeletNode, closed, true); err != nil {
		return err
	}
	if err := w.nobodyNew(closed); err != nil {
		return err
	}
	if err := w.stayed(there); err != nil {
		return fmt.Errorf("under a cordon: %w", err)
	}
	if err := w.drains(where, there); err != nil {
		return err
	}
	if err := w.stillWorks("beside"); err != nil {
		return err
	}
	return w.opened(where, closed)
}

// numberOf is what people call the card by who read `divvy gpus`.
func (w *world) numberOf(card string) (int, error) {
	var devices []struct {
		Uuid  string
		Index int
	}
	if _, err := w.tool(&devices, "gpus", "--cluster", "--node", kubeletNode, "-o", "json"); err != nil {
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
func (w *world) keepsOn(name, card string) error {
	template := onCardOf(name, card)
	template.Labels = map[string]string{"app": name}
	template.Spec.Containers[0].Args = []string{"stay"}
	template.Spec.RestartPolicy = core.RestartPolicyAlways
	replicas := int32(onClosed)
	_, err := w.client.AppsV1().ReplicaSets(w.space).Create(w.ctx, &apps.ReplicaSet{
		ObjectMeta: meta.ObjectMeta{Name: name},
		Spec: apps.ReplicaSetSpec{Replicas: &replicas, Selector: &meta.LabelSelector{MatchLabels: template.Labels},
			Template: core.PodTemplateSpec{ObjectMeta: meta.ObjectMeta{Labels: template.Labels,
				Annotations: template.Annotations}, Spec: template.Spec}}}, meta.CreateOptions{})
	return err
}

// unkept: nobody makes them anew any more.
func (w *world) unkept(name string) error {
	err := w.client.AppsV1().ReplicaSets(w.space).Delete(w.ctx, name, meta.DeleteOptions{})
	if isNotFound(err) {
		err = nil
	}
	return err
}

// kept are the pods of that ReplicaSet that are not ending.
func (w *world) kept(name string) ([]core.Pod, error) {
	list, err := w.client.CoreV1().Pods(w.space).List(w.ctx, meta.ListOptions{LabelSelector: "app=" + name})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(p core.Pod) bool { return p.DeletionTimestamp != nil }), nil
}

// allRun are the names of the ReplicaSet's pods, when so many run.
func (w *world) allRun(name string, count int) ([]string, error) {
	var names []string
	err := w.until(name+" has its pods", func() error {
		pods, err := w.kept(name)
		if err != nil {
			return err
		}
		names = nil
		for _, p := range pods {
			if p.Status.Phase != core.PodRunning {
				return fmt.Errorf("%s is %s: %s", p.Name, p.Status.Phase, unscheduled(&p))
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
func (w *world) worksOn(name, card string) error {
	p := onCardOf(name, card)
	p.Spec.Containers[0].Args = []string{"stay"}
	if _, err := w.create(p); err != nil {
		return err
	}
	if err := w.runs(name); err != nil {
		return err
	}
	on, err := w.onCard(name)
	if err == nil && on != card {
		err = fmt.Errorf("%s is on %s, and asked for %s", name, on, card)
	}
	return err
}

// crowd are so many that each card would have three pods, were they spread over all four.
const crowd = 9

// nobodyNew: who asks for the card waits, who does not is elsewhere.
func (w *world) nobodyNew(closed string) error {
	if _, err := w.create(onCardOf("late", closed)); err != nil {
		return err
	}
	why, err := w.refused("late")
	if err != nil {
		return err
	}
	w.note = "refused meanwhile: " + why
	for at := range crowd {
		name := fmt.Sprintf("anywhere-%d", at)
		p := annotated(probe(name, one("2000", "10")), "use.divvy.dev/device-policy", "spread")
		p.Spec.Containers[0].Args = []string{"stay"}
		if _, err := w.create(p); err != nil {
			return err
		}
		on, err := w.onCard(name)
		if err == nil && on == closed {
			err = fmt.Errorf("%s is on %s, which is cordoned", name, on)
		}
		if err != nil {
			return err
		}
	}
	return w.remove("late")
}

func (w *world) stayed(names []string) error {
	for _, name := range names {
		if err := w.stillWorks(name); err != nil {
			return err
		}
	}
	return nil
}

// drains: just these are evicted, and the API server was asked for that as budgets have it.
func (w *world) drains(where string, there []string) error {
	log, err := openAudit(w.path("audit.log"))
	if err != nil {
		return err
	}
	defer log.close()
	if _, err := w.tool(nil, "drain", where, "--timeout", "30s"); err != nil {
		return err
	}
	for _, name := range there {
		if _, err := w.get(name); !isNotFound(err) {
			return fmt.Errorf("%s is still there: %w", name, err)
		}
	}
	var evicted, deleted []string
	return w.until("the audit log has their evictions", func() error {
		err := log.read(func(one *write) {
			ours := one.Object.Resource == "pods" && one.Object.Namespace == w.space && one.Status.Code < 300
			if ours && one.Verb == "create" && one.Object.Subresource == "eviction" {
				evicted = append(evicted, one.Object.Name)
			}
			// The kubelet says by a deletion that an evicted pod has ended.
			others := one.User.Username != "system:node:"+kubeletNode
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
func (w *world) opened(where, closed string) error {
	err := w.until("those that are made anew wait", func() error {
		pods, err := w.kept("kept")
		if err == nil && len(pods) != onClosed {
			err = fmt.Errorf("there are %d", len(pods))
		}
		for _, p := range pods {
			if p.Spec.NodeName != "" {
				return fmt.Errorf("%s is on %s", p.Name, p.Spec.NodeName)
			}
			if unscheduled(&p) == "" {
				return fmt.Errorf("of %s nothing is said yet", p.Name)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	if _, err := w.tool(nil, "uncordon", where); err != nil {
		return err
	}
	if err := w.closed(kubeletNode, closed, false); err != nil {
		return err
	}
	names, err := w.allRun("kept", onClosed)
	if err != nil {
		return err
	}
	for _, name := range names {
		if on, err := w.onCard(name); err != nil || on != closed {
			return errors.Join(err, fmt.Errorf("%s is on %s", name, on))
		}
	}
	return nil
}
