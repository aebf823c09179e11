package shares

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestContainers(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-two-containers-are-changed-live",
			Requirement: "divvy resize pod/NS/NAME -c CONTAINER changes that one of two and not the other, seen inside both; who names " +
				"none, and who asks for more than the namespace may have, is refused with the reason; without the quota " +
				"he has it",
			Run: oneOfTwoChanged})
}

// The two containers of a pod, by their workers.
const (
	mainContainer = "main"
	sideContainer = "side"
	eachHas       = 3000 // MiB, before
	mainGets      = 5000
	mainWants     = 7000 // with what the other has more than the namespace may
	spaceMay      = 9000
)

func duo(env *harness.Env, name, card string) (*harness.TwoContainerPod, error) {
	p := harness.ShareOf(name, card, eachHas)
	p.Spec.Containers[0].Name = mainContainer
	side := *p.Spec.Containers[0].DeepCopy()
	side.Name = sideContainer
	p.Spec.Containers = append(p.Spec.Containers, side)
	workers, err := env.StartWorkers(p, "busy")
	if err != nil {
		return nil, err
	}
	both := &harness.TwoContainerPod{Pod: name, Workers: [2]*harness.Worker{workers[0], workers[1]}}
	for _, h := range both.Workers {
		if err := h.Must("open", 1); err != nil {
			return nil, err
		}
	}
	return both, nil
}

// allots: inside, so many MiB more are had, or are too many.
func allots(d *harness.TwoContainerPod, at, mebibytes int, had bool) error {
	code, err := d.Workers[at].Code("alloc", mebibytes<<20)
	if err != nil {
		return err
	}
	if (code == 0) != had || (!had && code != harness.OutOfMemory) {
		return fmt.Errorf("container %d asked for %d MiB more, and is told %d", at, mebibytes, code)
	}
	return nil
}

// computes: while both do, main has that part of what they get.
func computes(d *harness.TwoContainerPod, env *harness.Env, least, most float64) error {
	part, err := env.ComputeShareWithin(d.Workers, least, most)
	if err != nil {
		err = fmt.Errorf("%s: %w", mainContainer, err)
	}
	env.Note += fmt.Sprintf("%s %.1f %%; ", mainContainer, 100*part)
	return err
}

// around is what is measured where that part is due.
func around(part float64) (least, most float64) {
	return math.Max(0, part-0.05), math.Min(1, part+0.05)
}

// toldOfBoth: what the agent says of each container of the pod.
func toldOfBoth(env *harness.Env, pod, family, ofMain, ofSide string) error {
	return env.WaitFor(family+" of both", func() error {
		all, err := harness.ScrapeAgent(family)
		if err != nil {
			return err
		}
		for container, words := range map[string]string{mainContainer: ofMain, sideContainer: ofSide} {
			whose := fmt.Sprintf(`namespace="%s",pod="%s",container="%s"`, env.Namespace, pod, container)
			found := ""
			for _, line := range all {
				if strings.Contains(line, whose) {
					found = line
				}
			}
			if !strings.Contains(found, words) {
				return fmt.Errorf("of %s it says %q, and not %s", container, found, words)
			}
		}
		return nil
	})
}

func oneOfTwoChanged(env *harness.Env) error {
	_, cards, err := env.NodeAndDevices()
	if err != nil {
		return err
	}
	both, err := duo(env, "pair", cards[0])
	if err != nil {
		return err
	}
	least, most := around(0.5)
	if err := computes(both, env, least, most); err != nil {
		return fmt.Errorf("before: %w", err)
	}
	for at := range both.Workers {
		if err := allots(both, at, 3500, false); err != nil {
			return fmt.Errorf("before: %w", err)
		}
	}
	if err := mustNameOne(env, both); err != nil {
		return err
	}
	if err := mainIsChanged(env, both); err != nil {
		return err
	}
	if err := beyondQuota(env, both); err != nil {
		return err
	}
	if err := env.StillRunning("pair"); err != nil {
		return err
	}
	return both.End(env)
}

// mustNameOne: whose share is meant is not guessed.
func mustNameOne(env *harness.Env, both *harness.TwoContainerPod) error {
	_, no, err := env.RunSet(both.Pod, "--memory", "4000Mi")
	words := fmt.Sprintf("several containers have devices; accepted: -c with one of %s, %s", mainContainer, sideContainer)
	if err == nil || no || !strings.Contains(err.Error(), words) {
		return fmt.Errorf("no container is named: %w", errors.Join(err, errors.New("that is not refused with "+words)))
	}
	return toldOfBoth(env, both.Pod, "divvy_tenant_memory_limit_bytes", mebibytesOf(eachHas), mebibytesOf(eachHas))
}

func mebibytesOf(count int) string { return fmt.Sprintf("} %d", count<<20) }

// mainIsChanged: its memory and cores, and then its priority; the other has what it had.
func mainIsChanged(env *harness.Env, both *harness.TwoContainerPod) error {
	said, no, err := env.RunSet(both.Pod, "-c", mainContainer, "--memory", fmt.Sprintf("%dMi", mainGets), "--cores", "40")
	if err != nil || no || said.Phase != "done" || said.Container != mainContainer || len(said.Devices) != 1 ||
		said.Devices[0].MemoryMiB != mainGets || said.Devices[0].Cores != 40 {
		return fmt.Errorf("set: %+v: %w", said, err)
	}
	if err := errors.Join(allots(both, 0, 3500, true), allots(both, 1, 3500, false)); err != nil {
		return fmt.Errorf("more memory: %w", err)
	}
	// 40 to 10.
	least, most := around(0.8)
	if err := computes(both, env, least, most); err != nil {
		return fmt.Errorf("more cores: %w", err)
	}
	said, no, err = env.RunSet(both.Pod, "-c", mainContainer, "--priority", "high")
	if err != nil || no || said.Phase != "done" {
		return fmt.Errorf("set --priority: %+v: %w", said, err)
	}
	// The other one has what it leaves.
	if err := computes(both, env, 0.85, 1); err != nil {
		return fmt.Errorf("higher priority: %w", err)
	}
	p, err := env.Get(both.Pod)
	if err != nil {
		return err
	}
	if p.Annotations[mainContainer+".use.divvy.dev/priority"] != "high" || p.Annotations["use.divvy.dev/priority"] != "" ||
		p.Annotations[sideContainer+".use.divvy.dev/priority"] != "" {
		return fmt.Errorf("containers that begin anew would be told %v", p.Annotations)
	}
	if err := hasShares(env, both.Pod, mainGets, eachHas); err != nil {
		return err
	}
	return errors.Join(
		toldOfBoth(env, both.Pod, "divvy_tenant_memory_limit_bytes", mebibytesOf(mainGets), mebibytesOf(eachHas)),
		toldOfBoth(env, both.Pod, "divvy_tenant_compute_requested_ratio", "} 0.4", "} 0.1"),
		toldOfBoth(env, both.Pod, "divvy_tenant_info", `priority="high"`, `priority="normal"`))
}

// hasShares: what stands in the pod's assignment.
func hasShares(env *harness.Env, name string, mebibytes ...int) error {
	p, err := env.Get(name)
	if err != nil {
		return err
	}
	shares, err := harness.SharesOf(p)
	if err != nil {
		return err
	}
	var found []string
	for _, list := range shares {
		for _, one := range list {
			found = append(found, one.Memory)
		}
	}
	if want := strings.Trim(fmt.Sprint(mebibytes), "[]"); strings.Join(found, " ") != want {
		return fmt.Errorf("%s has %v MiB, and not %s", name, found, want)
	}
	return nil
}

// beyondQuota: nothing is changed. The control: it is the quota that does not let it.
func beyondQuota(env *harness.Env, both *harness.TwoContainerPod) error {
	if err := env.SetMemoryQuota(spaceMay); err != nil {
		return err
	}
	more := []string{"-c", mainContainer, "--memory", fmt.Sprintf("%dMi", mainWants)}
	said, no, err := env.RunSet(both.Pod, more...)
	if err != nil || !no || said.Phase != "refused" || said.Reason != "NoRoom" ||
		!strings.Contains(said.Message, "ResourceQuotaNotFit") || len(said.Devices) != 1 ||
		said.Devices[0].MemoryMiB != mainGets {
		return fmt.Errorf("beyond the quota: %+v: %w", said, err)
	}
	env.Note += "refused: " + said.Message
	// It has 3500 MiB of its 5000 already.
	if err := errors.Join(hasShares(env, both.Pod, mainGets, eachHas), allots(both, 0, 2000, false),
		toldOfBoth(env, both.Pod, "divvy_tenant_memory_limit_bytes", mebibytesOf(mainGets),
			mebibytesOf(eachHas))); err != nil {
		return fmt.Errorf("beyond the quota: %w", err)
	}
	if err := env.Client.CoreV1().ResourceQuotas(env.Namespace).Delete(env.Ctx, "devices",
		meta.DeleteOptions{}); err != nil {
		return err
	}
	// The scheduler hears of that by its watch.
	err = env.WaitFor("without the quota it is changed", func() error {
		said, no, err := env.RunSet(both.Pod, more...)
		if err == nil && (no || said.Phase != "done") {
			err = fmt.Errorf("%+v", said)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	return errors.Join(hasShares(env, both.Pod, mainWants, eachHas), allots(both, 0, 2000, true),
		allots(both, 1, 3500, false))
}
