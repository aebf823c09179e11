package placement

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
)

// The pools of these checks: three nodes with 4 cards each, two of which train.
const (
	poolNodes    = 3
	poolTraining = 2 // cards of a node
	poolCards    = 4
)

func TestPools(t *testing.T) {
	checks.Run(t, checks.Check{Name: "no-card-is-shared-across-pools",
		Requirement: "pools: 12 cards, a training and an inference pool, no card ever shared across them; one " +
			"native whole-card pool and one shared pool side by side", Run: pools})
}

func poolsFile(env *harness.Env, nodes, training []string) (string, error) {
	text := fmt.Sprintf("pools:\n- {name: training, uuids: [%s], mode: exclusive, users: [%s], default_of: [%s]}\n"+
		"- {name: inference, nodes: [%s], mode: shared, device_policy: spread}\n",
		strings.Join(training, ", "), env.Namespace, env.Namespace, strings.Join(nodes, ", "))
	file := env.Path("pools.yaml")
	return file, os.WriteFile(file, []byte(text), 0o644)
}

func pools(env *harness.Env) (err error) {
	var nodes, training []string
	for at := range poolNodes {
		name := fmt.Sprintf("%s-pool-%d", env.Namespace, at)
		models := []string{}
		for card := range poolCards {
			models = append(models, "NVIDIA H100 80GB HBM3")
			if card < poolTraining {
				training = append(training, fmt.Sprintf("GPU-%s-%d", name, card))
			}
		}
		if err = env.CreateNode(name, models...); err != nil {
			return err
		}
		defer env.DeleteNode(name, &err)
		nodes = append(nodes, name)
	}
	file, err := poolsFile(env, nodes, training)
	if err != nil {
		return err
	}
	defer os.Remove(file)
	return env.WithOptions([]string{"--pools", file}, func() error { return pooled(env, nodes, training) })
}

// Alternating, so that both kinds meet free cards of the other pool.
func pooled(env *harness.Env, nodes, training []string) error {
	const serving = poolNodes * (poolCards - poolTraining) * 2
	owner := map[string]string{} // by card: the first pod there
	trains := map[string]bool{}
	for _, card := range training {
		trains[card] = true
	}
	var names []string
	for at := range serving {
		names = append(names, fmt.Sprintf("infer-%d", at))
		if at < len(training) {
			names = append(names, fmt.Sprintf("train-%d", at))
		}
	}
	for _, name := range names {
		// Whoever trains says nothing of pools: the namespace has one.
		p := harness.Pod(name, harness.Container("c", harness.OneShare("40000", "10")))
		if strings.HasPrefix(name, "infer") {
			p = harness.WithAnnotationMap(p, map[string]string{"use.divvy.dev/pool": "inference"})
		}
		if _, err := env.Create(p); err != nil {
			return err
		}
	}
	for _, name := range names {
		card, err := env.DeviceOf(name)
		if err != nil {
			return err
		}
		mine := trains[card] == strings.HasPrefix(name, "train")
		there := false
		for _, node := range nodes {
			there = there || strings.HasPrefix(card, "GPU-"+node+"-")
		}
		if !mine || !there {
			return fmt.Errorf("%s is on %s", name, card)
		}
		if before, taken := owner[card]; taken && trains[card] {
			return fmt.Errorf("%s and %s are on %s, which trains", before, name, card)
		}
		owner[card] = name
	}
	if len(owner) != poolNodes*poolCards {
		return fmt.Errorf("%d cards of 12 are used", len(owner))
	}
	env.Note = fmt.Sprintf("%d pods on %d cards", len(names), len(owner))
	return poolIsFull(env)
}

// Either pool is full, and the 24 cards that are in none are not lent to it.
func poolIsFull(env *harness.Env) error {
	for name, notes := range map[string]map[string]string{"more-training": nil,
		"more-inference": {"use.divvy.dev/pool": "inference"}} {
		if _, err := env.Create(harness.WithAnnotationMap(harness.Pod(name, harness.Container("c", harness.OneShare("40000",
			"1"))), notes)); err != nil {
			return err
		}
		if _, err := env.WaitRefused(name); err != nil {
			return err
		}
	}
	_, err := env.Create(harness.WithAnnotationMap(harness.Pod("unknown", harness.Container("c", harness.OneShare("100",
		"1"))),
		map[string]string{"use.divvy.dev/pool": "trainig"}))
	if err == nil || !strings.Contains(err.Error(), "trainig") {
		return fmt.Errorf("a pool that is not there: %v", err)
	}
	return nil
}
