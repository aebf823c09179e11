package main

import (
	"fmt"

	core "k8s.io/api/core/v1"
)

// wishing prefers a node, as strongly as a pod can.
func wishing(name, node string) *core.Pod {
	p := pod(name, container("c", one("3000", "30")))
	p.Spec.Affinity = &core.Affinity{NodeAffinity: &core.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []core.PreferredSchedulingTerm{{Weight: 100,
			Preference: core.NodeSelectorTerm{MatchExpressions: []core.NodeSelectorRequirement{{
				Key: core.LabelHostname, Operator: core.NodeSelectorOpIn, Values: []string{node}}}}}}}}
	return p
}

// lands places it and takes it away again.
func (w *world) lands(p *core.Pod) (string, error) {
	if _, err := w.create(p); err != nil {
		return "", err
	}
	placed, err := w.bound(p.Name)
	if err != nil {
		return "", err
	}
	return placed.Spec.NodeName, w.goes(p.Name)
}

// goes removes it, until nothing is held by it any more.
func (w *world) goes(name string) error {
	if err := w.remove(name); err != nil {
		return err
	}
	return w.alone()
}

// Where a pod goes that wishes nothing is Divvy's choice, the same each time in an empty cluster.
func preferences(w *world) (err error) {
	chosen, err := w.lands(pod("none", container("c", one("3000", "30"))))
	if err != nil {
		return err
	}
	wish := "node-00000"
	if chosen == wish {
		wish = "node-00001"
	}
	got, err := w.lands(wishing("overridden", wish))
	if err != nil {
		return err
	}
	if got != chosen {
		return fmt.Errorf("it went to %s by preference, and not to %s", got, chosen)
	}
	w.all = true
	defer func() {
		w.all = false
		if again := w.again(); err == nil {
			err = again
		}
	}()
	if err = w.again(); err != nil {
		return err
	}
	if got, err = w.lands(wishing("honoured", wish)); err != nil {
		return err
	}
	if got != wish {
		return fmt.Errorf("it went to %s, and %s was preferred", got, wish)
	}
	// Nothing is reserved while kube-scheduler chooses: who loses a race asks again.
	return manyAtOnce(w)
}
