package placement

import (
	"fmt"

	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
)

// wishing prefers a node, as strongly as a pod can.
func preferring(name, node string) *core.Pod {
	p := harness.Pod(name, harness.Container("c", harness.OneShare("3000", "30")))
	p.Spec.Affinity = &core.Affinity{NodeAffinity: &core.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []core.PreferredSchedulingTerm{{Weight: 100,
			Preference: core.NodeSelectorTerm{MatchExpressions: []core.NodeSelectorRequirement{{
				Key: core.LabelHostname, Operator: core.NodeSelectorOpIn, Values: []string{node}}}}}}}}
	return p
}

// lands places it and takes it away again.
func lands(env *harness.Env, p *core.Pod) (string, error) {
	if _, err := env.Create(p); err != nil {
		return "", err
	}
	placed, err := env.WaitBound(p.Name)
	if err != nil {
		return "", err
	}
	return placed.Spec.NodeName, goes(env, p.Name)
}

// goes removes it, until nothing is held by it any more.
func goes(env *harness.Env, name string) error {
	if err := env.Delete(name); err != nil {
		return err
	}
	return env.WaitDevicesFree()
}

// Where a pod goes that wishes nothing is Divvy's choice, the same each time in an empty cluster.
func preferences(env *harness.Env) (err error) {
	chosen, err := lands(env, harness.Pod("none", harness.Container("c", harness.OneShare("3000", "30"))))
	if err != nil {
		return err
	}
	preferred := "node-00000"
	if chosen == preferred {
		preferred = "node-00001"
	}
	got, err := lands(env, preferring("overridden", preferred))
	if err != nil {
		return err
	}
	if got != chosen {
		return fmt.Errorf("it went to %s by preference, and not to %s", got, chosen)
	}
	env.AllFeasible = true
	defer func() {
		env.AllFeasible = false
		if again := env.Reinstall(); err == nil {
			err = again
		}
	}()
	if err = env.Reinstall(); err != nil {
		return err
	}
	if got, err = lands(env, preferring("honoured", preferred)); err != nil {
		return err
	}
	if got != preferred {
		return fmt.Errorf("it went to %s, and %s was preferred", got, preferred)
	}
	// Nothing is reserved while kube-scheduler chooses: who loses a race asks again.
	return manyAtOnce(env)
}
