package memory

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
)

func TestContention(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-priority",
			Requirement: "a high-priority pod takes compute and memory from a sandbox pod, which is not restarted and comes " +
				"back; of equal priority neither does",
			Run: priorityTakes},
		checks.Check{Name: "kubelet-shares",
			Requirement: "shares of 30 and 60 % of a card are 33:67 of it while both compute; without Divvy they are even",
			Run:         sharesHold})
}

func withPriority(p *core.Pod, priority string) *core.Pod {
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations["use.divvy.dev/priority"] = priority
	return p
}

// computing are two pods that have their contexts, and wait for a word.
func computing(env *harness.Env, pods [2]*core.Pod) (workers [2]*harness.Worker, err error) {
	for at, p := range pods {
		if workers[at], err = env.StartWorker(p, "busy"); err != nil {
			return workers, err
		}
		if err = workers[at].Must("open", 1); err != nil {
			return workers, err
		}
	}
	return workers, nil
}

func bothExit(env *harness.Env, workers [2]*harness.Worker) error {
	return errors.Join(workers[0].Exit(env), workers[1].Exit(env))
}

func sharesHold(env *harness.Env) error {
	record, uuids, err := env.NodeAndDevices()
	if err != nil {
		return err
	}
	var pods [2]*core.Pod
	for at, cores := range []string{"30", "60"} {
		pods[at] = harness.ProbePod("cores-"+cores, harness.OneShare("4000", cores))
		pods[at].Annotations = map[string]string{"use.divvy.dev/uuid": uuids[0]}
	}
	shared, err := computing(env, pods)
	if err != nil {
		return err
	}
	const wanted, within = 1.0 / 3, 0.03
	part, err := env.ComputeShareWithin(shared, wanted-within, wanted+within)
	if err == nil {
		err = bothExit(env, shared)
	}
	if err != nil {
		return fmt.Errorf("30:60 is not 33:67: %w", err)
	}
	plain, err := computing(env, [2]*core.Pod{env.UnmanagedPod("bare-30", record.Build), env.UnmanagedPod("bare-60",
		record.Build)})
	if err != nil {
		return err
	}
	even, err := env.ComputeShare(plain)
	if err == nil {
		err = bothExit(env, plain)
	}
	env.Note = fmt.Sprintf("of %v: %.1f %% and %.1f %%; without Divvy %.1f %%", harness.MeasureWindow, 100*part,
		100*(1-part), 100*even)
	if err == nil && math.Abs(even-wanted) <= within {
		err = errors.New("without Divvy it is no different: nothing is shown")
	}
	return err
}

// goesOn: it does so many rounds more.
func goesOn(env *harness.Env, h *harness.Worker, rounds int) error {
	before, err := h.Number("rounds")
	if err != nil {
		return err
	}
	return env.WaitFor(h.Name+" goes on", func() error {
		now, err := h.Number("rounds")
		if err == nil && now < before+rounds {
			err = fmt.Errorf("%d rounds, %d before", now, before)
		}
		return err
	})
}

// givesWay: it has done nothing while the other one did so many rounds.
func givesWay(env *harness.Env, h, other *harness.Worker, rounds int) (bool, error) {
	before, err := h.Number("rounds")
	if err == nil {
		err = goesOn(env, other, rounds)
	}
	if err != nil {
		return false, err
	}
	after, err := h.Number("rounds")
	return after == before, err
}

// Together more than a card has.
const sandboxBlocks, highBlocks = 70, 90

// both work, the sandbox first.
func sandboxAnd(env *harness.Env, uuid, sandbox, other string) (low, high *harness.Worker, err error) {
	low, err = filledWith(env, withPriority(harness.ShareOf("sandbox-"+sandbox, uuid, 320), sandbox), sandboxBlocks)
	if err == nil {
		err = errors.Join(low.Must("work", 5000), goesOn(env, low, 3))
	}
	if err != nil {
		return nil, nil, err
	}
	high, err = filledWith(env, withPriority(harness.ShareOf("service-"+other, uuid, 400), other), highBlocks)
	if err == nil {
		err = errors.Join(high.Must("work", 5000), goesOn(env, high, 1))
	}
	return low, high, err
}

func memoryYields(env *harness.Env, uuid string) error {
	low, high, err := sandboxAnd(env, uuid, "low", "high")
	if err != nil {
		return err
	}
	if err := env.WaitMetric("divvy_tenant_info", low.Name, `memory="waiting"`); err != nil {
		return err
	}
	if quiet, err := givesWay(env, low, high, 5); err != nil || !quiet {
		return errors.Join(err, errors.New("the sandbox goes on beside who is higher"))
	}
	if times, err := swapsOf(env, high.Name); err != nil || times != 0 {
		return errors.Join(err, fmt.Errorf("who is higher was swapped %d times", times))
	}
	if _, err := high.Stop(); err != nil {
		return err
	}
	if err := errors.Join(high.VerifyMemory(), high.Exit(env)); err != nil {
		return err
	}
	if err := goesOn(env, low, 3); err != nil {
		return fmt.Errorf("when who is higher has ended: %w", err)
	}
	if _, err := low.Stop(); err != nil {
		return err
	}
	return errors.Join(low.VerifyMemory(), env.StillRunning(low.Name), low.Exit(env))
}

// equalsTakeTurns is what happens where nobody is higher: both go on.
func equalsTakeTurns(env *harness.Env, uuid string) error {
	one, two, err := sandboxAnd(env, uuid, "normal", "normal")
	if err != nil {
		return err
	}
	if err := errors.Join(takeTurns(env, 1, one, two), goesOn(env, one, 3), goesOn(env, two, 3)); err != nil {
		return err
	}
	for _, h := range []*harness.Worker{one, two} {
		if _, err := h.Stop(); err != nil {
			return err
		}
		if err := errors.Join(h.VerifyMemory(), h.Exit(env)); err != nil {
			return err
		}
	}
	return nil
}

func priorityTakes(env *harness.Env) error {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	var parts []string
	err := env.WithDevices(harness.SwapCards, append([]string{"--overcommit", "2"}, harness.SwapTurns...),
		func(uuids []string) error {
			if err := memoryYields(env, uuids[0]); err != nil {
				return fmt.Errorf("memory: %w", err)
			}
			if err := equalsTakeTurns(env, uuids[0]); err != nil {
				return fmt.Errorf("control, memory: %w", err)
			}
			for _, so := range []struct {
				first string
				least float64
				most  float64
			}{{"high", 0.75, 1}, {"low", 0.3, 0.7}} {
				workers, err := computing(env, [2]*core.Pod{
					withPriority(harness.ShareOf("first-"+so.first, uuids[1], 100), so.first),
					withPriority(harness.ShareOf("beside-"+so.first, uuids[1], 100), "low")})
				if err != nil {
					return err
				}
				part, err := env.ComputeShareWithin(workers, so.least, so.most)
				if err == nil {
					err = bothExit(env, workers)
				}
				if err != nil {
					return fmt.Errorf("%s beside low: %w", so.first, err)
				}
				parts = append(parts, fmt.Sprintf("%s beside low %.1f %%", so.first, 100*part))
			}
			return nil
		})
	env.Note = "compute: " + strings.Join(parts, ", ")
	return err
}
