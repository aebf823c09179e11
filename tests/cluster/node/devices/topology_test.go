package devices

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestTopology(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-links-of-cards-are-registered",
			Requirement: "how well each two cards are linked stands in the node, in HAMi's form, once; where they are linked " +
				"otherwise it says otherwise",
			Run: linksRegistered},
		checks.Check{Name: "kubelet-units-are-those-of-the-cards-that-were-given",
			Requirement: "GetPreferredAllocation: what the kubelet counts is of the card that the scheduler gave; where that is said " +
				"too late it is not",
			Run: deviceIDsOfCards})
}

type cardScores struct {
	UUID  string
	Score map[string]int
}

// scoresOf are the scores of each two of the node's cards, and the cards in their order.
func scoresOf(env *harness.Env) ([]string, map[string]map[string]int, error) {
	node, err := env.Client.CoreV1().Nodes().Get(env.Ctx, harness.KubeletNode, meta.GetOptions{})
	if err != nil {
		return nil, nil, err
	}
	devices, err := harness.RegisteredDevices(node)
	if err != nil {
		return nil, nil, err
	}
	var all []cardScores
	if err := json.Unmarshal([]byte(node.Annotations["hami.io/node-nvidia-score"]), &all); err != nil {
		return nil, nil, err
	}
	if len(all) != len(devices) {
		return nil, nil, fmt.Errorf("%d cards are registered, %d have scores", len(devices), len(all))
	}
	var cards []string
	scores := map[string]map[string]int{}
	for at, one := range all {
		cards = append(cards, devices[at].ID)
		scores[one.UUID] = one.Score
	}
	return cards, scores, nil
}

// linkedBy: each two cards have so many NVLinks, by what stands in the node.
func linkedBy(env *harness.Env, links func(a, b int) int) error {
	cards, scores, err := scoresOf(env)
	if err != nil {
		return err
	}
	for at, a := range cards {
		for other, b := range cards {
			there, back := scores[a][b], scores[b][a]
			// A hundred for each link, and less than that for where they are.
			if wanted := links(at, other); there != back || there/100 != wanted || (there == 0) != (at == other) {
				return fmt.Errorf("from %s to %s: %d, and back: %d, and not %d links", a, b, there, back, wanted)
			}
		}
	}
	return nil
}

// Eighteen each, by switches that join all.
func allLinked(a, b int) int {
	if a == b {
		return 0
	}
	return 18
}

func linksRegistered(env *harness.Env) (err error) {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	// The agent that is there may have just begun.
	if err := env.WaitFor("all are linked", func() error { return linkedBy(env, allLinked) }); err != nil {
		return err
	}
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	// Simulated machines are told by it which links there are; agents inherit it.
	const told = "SIMGPU_NVLINKS"
	defer func() {
		err = errors.Join(err, os.Unsetenv(told), env.RestartAgent(record.Build),
			env.WaitFor("all are linked again", func() error { return linkedBy(env, allLinked) }))
	}()
	if err := os.Setenv(told, "0-1=4"); err != nil {
		return err
	}
	if err := env.RestartAgent(record.Build); err != nil {
		return err
	}
	// The control: another machine has other scores.
	err = env.WaitFor("only the first two are linked", func() error {
		return linkedBy(env, func(a, b int) int {
			if a+b == 1 {
				return 4
			}
			return 0
		})
	})
	if err == nil && linkedBy(env, allLinked) == nil {
		err = errors.New("control: whatever the links are, all are linked: nothing is shown")
	}
	return err
}

func deviceIDsOf(p *core.Pod) ([]string, error) {
	noted, err := harness.KubeletDevicesOf(p)
	var deviceIDs []string
	for _, ids := range noted {
		deviceIDs = append(deviceIDs, ids...)
	}
	return deviceIDs, err
}

// deviceIDMatches: the pod has one device ID, and it is of the card of its assignment.
func deviceIDMatches(p *core.Pod) (bool, error) {
	deviceIDs, err := deviceIDsOf(p)
	if err != nil {
		return false, err
	}
	shares, err := harness.SharesOf(p)
	if err != nil {
		return false, err
	}
	if len(deviceIDs) != 1 || len(shares) != 1 || len(shares[0]) != 1 {
		return false, fmt.Errorf("%s has units %v of %v", p.Name, deviceIDs, shares)
	}
	return strings.HasPrefix(deviceIDs[0], shares[0][0].UUID+"::"), nil
}

func deviceIDsOfCards(env *harness.Env) error {
	_, cards, err := env.NodeAndDevices()
	if err != nil {
		return err
	}
	unassigned, err := matchesWithoutAssignment(env, cards)
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	if err := oneByOne(env, cards); err != nil {
		return err
	}
	crowd := map[string]string{}
	for at := range cards {
		for round := 0; round < 2; round++ {
			crowd[fmt.Sprintf("crowd-%d-%d", at, round)] = cards[len(cards)-1-at]
		}
	}
	right, err := countMatches(env, crowd)
	env.Note = fmt.Sprintf("one by one all; of %d pods at once %d; of %d told of too late %d", len(crowd),
		right, len(cards), unassigned)
	return err
}

// oneByOne: one after the other it is clear who is meant. From the last card on: the kubelet begins at none. An agent
// that hears of a pod a quarter of a second after its kubelet cannot say it, which may happen to half of them.
func oneByOne(env *harness.Env, cards []string) error {
	wrong := 0
	for at := 0; at < len(cards); {
		name, card := fmt.Sprintf("single-%d-%d", at, wrong), cards[len(cards)-1-at]
		right, err := countMatches(env, map[string]string{name: card})
		if err != nil {
			return err
		}
		if right == 1 {
			at++
			continue
		}
		if wrong++; wrong > len(cards)/2 {
			return fmt.Errorf("%s has %s, and a unit of another card, as others before", name, card)
		}
	}
	return nil
}

// countMatches creates pods of these names on these cards at once, and counts those whose device ID is of their card.
func countMatches(env *harness.Env, cards map[string]string) (int, error) {
	for name, card := range cards {
		p := harness.PodOnDevice(name, card)
		p.Spec.Containers[0].Args = []string{"work"}
		if _, err := env.Create(p); err != nil {
			return 0, err
		}
	}
	right := 0
	for name, card := range cards {
		if err := env.WaitRunning(name); err != nil {
			return 0, err
		}
		if on, err := env.DeviceOf(name); err != nil || on != card {
			return 0, errors.Join(err, fmt.Errorf("%s is on %s, not %s", name, on, card))
		}
		p, err := env.Get(name)
		if err != nil {
			return 0, err
		}
		so, err := deviceIDMatches(p)
		if err != nil {
			return 0, err
		}
		if so {
			right++
		}
	}
	return right, nil
}

// matchesWithoutAssignment is the control: how many pods have a device ID of their card, though the kubelet chose it
// before the pod had its assignment.
func matchesWithoutAssignment(env *harness.Env, cards []string) (right int, err error) {
	pods, none := env.Client.CoreV1().Pods("kube-system"), int64(0)
	var names []string
	defer func() {
		for _, name := range names {
			err = errors.Join(err, pods.Delete(context.WithoutCancel(env.Ctx), name,
				meta.DeleteOptions{GracePeriodSeconds: &none}))
		}
		err = errors.Join(err, env.WaitDevicesFree())
	}()
	// Without a word cards come by turns, the first by name first: these are given theirs the other way round.
	backwards := slices.Sorted(slices.Values(cards))
	slices.Reverse(backwards)
	for at, card := range backwards {
		p := harness.ProbePod(fmt.Sprintf("%s-%d", env.Namespace, at), harness.OneShare("2000", "10"))
		p.Spec.NodeName = harness.KubeletNode
		if p, err = pods.Create(env.Ctx, p, meta.CreateOptions{}); err != nil {
			return right, err
		}
		names = append(names, p.Name)
		if err := takesDeviceID(env, p); err != nil {
			return right, err
		}
		p, err = pods.Patch(env.Ctx, p.Name, types.MergePatchType, harness.AnnotationValuePatch(harness.AllocatedKey,
			card+",NVIDIA,2000,10:;"),
			meta.PatchOptions{})
		if err != nil {
			return right, err
		}
		so, err := deviceIDMatches(p)
		if err != nil {
			return right, err
		}
		if so {
			right++
		}
	}
	if right == len(cards) {
		err = errors.New("who is told of too late is no different: nothing is shown")
	}
	return right, err
}

// takesDeviceID waits until the kubelet has allocated a device ID to the pod.
func takesDeviceID(env *harness.Env, p *core.Pod) error {
	return env.WaitFor("the kubelet takes a unit for "+p.Name, func() error {
		deviceIDs, err := deviceIDsOf(p)
		if err == nil && len(deviceIDs) == 0 {
			err = errors.New("it has none")
		}
		return err
	})
}
