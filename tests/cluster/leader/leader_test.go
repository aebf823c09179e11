package leader

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// How long it may take after the leader is lost until its successor has bound a pod.
const takeoverBound = 15 * time.Second

func TestLeader(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "a-lost-leader-is-replaced",
			Requirement: "first bind by the successor within 15 s of SIGKILL; who does not lead refuses at once",
			Run:         harness.WithReplicaPair(lostLeader)},
		checks.Check{Name: "without-the-fence-a-paused-leader-gives-twice",
			Requirement: "the control of the next: a binding that was on its way, and no policy", Run: harness.WithReplicaPair(noFence)},
		checks.Check{Name: "a-paused-leader-gives-nothing-twice",
			Requirement: "paused past its lease with a bind on its way, then resumed: 0 double allocations",
			Run:         harness.WithReplicaPair(pausedLeader)},
		checks.Check{Name: "a-late-admission-of-a-change-is-refused",
			Requirement: "a change of a running pod that was admitted in a term that is over is not written",
			Run:         harness.WithReplicaPair(lateAdmission)},
		checks.Check{Name: "kills-between-filter-and-bind-lose-nothing",
			Requirement: "random kills between filter and bind: 0 lost, 0 double", Run: harness.WithReplicaPair(killedInBetween)},
	)
}

func lostLeader(p *harness.ReplicaPair) error {
	took, err := p.RefusesAtOnce(p.B)
	if err != nil {
		return err
	}
	const before = 20
	for at := 0; at < before; at++ {
		if _, err := p.Create(harness.WholeDevicePod(fmt.Sprintf("before-%d", at))); err != nil {
			return err
		}
	}
	first, err := p.WaitBound("before-0")
	if err != nil {
		return err
	}
	// Some are bound, some are not.
	clock := harness.NewStallClock()
	defer clock.Stop()
	p.Signal(p.A, syscall.SIGKILL)
	if _, err := p.Create(harness.WholeDevicePod("after")); err != nil {
		return err
	}
	after, err := p.WaitBound("after")
	if err != nil {
		return err
	}
	gap := clock.Elapsed()
	p.Note = fmt.Sprintf("first bind %.1f s after SIGKILL; who follows refused within %.1f ms",
		gap.Seconds(), float64(took.Microseconds())/1000)
	if gap > takeoverBound {
		return fmt.Errorf("that is more than %v", takeoverBound)
	}
	if first.Annotations[harness.LeaseTermKey] == "" ||
		first.Annotations[harness.LeaseTermKey] == after.Annotations[harness.LeaseTermKey] {
		return fmt.Errorf("terms: %q, then %q", first.Annotations[harness.LeaseTermKey],
			after.Annotations[harness.LeaseTermKey])
	}
	for at := 0; at < before; at++ {
		if _, err := p.WaitBound(fmt.Sprintf("before-%d", at)); err != nil {
			return err
		}
	}
	return p.NoDeviceOverbooked()
}

// lateBinding has one card left when `a` sends a binding that is held up, and is paused. `b` gives
// that card to another, `a` goes on, and the binding arrives.
func lateBinding(p *harness.ReplicaPair) (status int, doubles int, err error) {
	const room = harness.NodeCount*harness.DevicesPerNode - 1
	for at := 0; at < room; at++ {
		if _, err := p.Create(harness.WholeDevicePod(fmt.Sprintf("whole-%d", at))); err != nil {
			return 0, 0, err
		}
	}
	for at := 0; at < room; at++ {
		if _, err := p.WaitBound(fmt.Sprintf("whole-%d", at)); err != nil {
			return 0, 0, err
		}
	}
	p.Proxy.Hold()
	if _, err := p.Create(harness.WholeDevicePod("late")); err != nil {
		return 0, 0, err
	}
	err = p.WaitFor("the binding is on its way", func() error { return p.Proxy.WaitingAtLeast(1) })
	if err != nil {
		return 0, 0, err
	}
	p.Signal(p.A, syscall.SIGSTOP)
	// Or `late` might be the first for b, too.
	if err := p.OnlyFor("other"); err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, p.OnlyFor("")) }()
	other := harness.WholeDevicePod("other")
	other.Spec.Tolerations = []core.Toleration{{Key: harness.OnlyKey, Operator: core.TolerationOpExists}}
	if _, err := p.Create(other); err != nil {
		return 0, 0, err
	}
	if _, err := p.WaitBound("other"); err != nil {
		return 0, 0, err
	}
	p.Proxy.Release()
	p.Signal(p.A, syscall.SIGCONT)
	if _, err := p.RefusesAtOnce(p.A); err != nil {
		return 0, 0, fmt.Errorf("after it went on: %w", err)
	}
	var late []int
	err = p.WaitFor("the binding is answered", func() error {
		late, err = p.Proxy.LateReplies(1)
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	doubles, err = p.OverbookedCount()
	return late[0], doubles, err
}

func noFence(p *harness.ReplicaPair) error {
	policies := p.Client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	// Not deleted: an API server does not follow the Lease any more when nothing is bound to it,
	// and never again after that.
	off := []byte(`{"spec":{"validationActions":["Audit"]}}`)
	_, err := policies.Patch(p.Ctx, harness.SchedulerAccount+"-fencing", types.MergePatchType, off, meta.PatchOptions{})
	if err != nil {
		return err
	}
	err = p.WaitFor("the fence is down", func() error {
		if p.Fenced() == nil {
			return fmt.Errorf("a binding of no term is refused")
		}
		return nil
	})
	if err != nil {
		return err
	}
	status, doubles, err := lateBinding(p)
	if err != nil {
		return err
	}
	p.Note = fmt.Sprintf("the late binding was answered %d, %d devices are given twice", status, doubles)
	if doubles == 0 {
		return fmt.Errorf("nothing was given twice: the next check does not show anything")
	}
	return nil
}

func pausedLeader(p *harness.ReplicaPair) error {
	status, doubles, err := lateBinding(p)
	if err != nil {
		return err
	}
	p.Note = fmt.Sprintf("the late binding was answered %d, %d devices are given twice", status, doubles)
	if doubles > 0 || status < 400 {
		return fmt.Errorf("it was not refused")
	}
	late, err := p.Get("late")
	if err == nil && late.Spec.NodeName != "" {
		err = fmt.Errorf("late is on %s", late.Spec.NodeName)
	}
	return err
}

// lateAdmission writes as the scheduler would: with the term of its pod's binding, and with none.
func lateAdmission(p *harness.ReplicaPair) error {
	if _, err := p.Create(harness.WholeDevicePod("runs")); err != nil {
		return err
	}
	bound, err := p.WaitBound("runs")
	if err != nil {
		return err
	}
	write := func(phase, term string) error {
		state, err := json.Marshal(map[string]any{"id": "x", "phase": phase, "token": "t", "term": term,
			"assignment": bound.Annotations[harness.AllocatedKey],
			"change":     map[string]any{"id": "x", "container": "c", "cores": 100}})
		if err != nil {
			return err
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{
			"divvy.dev/change-state": string(state)}}})
		if err != nil {
			return err
		}
		_, err = p.Client.CoreV1().Pods(p.Namespace).Patch(p.Ctx, "runs", types.MergePatchType, patch,
			meta.PatchOptions{})
		return err
	}
	err = p.WaitFor("the fence is up", func() error {
		err := write("admitted", "of-nobody/0")
		if err == nil || !strings.Contains(err.Error(), harness.StaleTermMessage) {
			return fmt.Errorf("an admission of no term is answered: %v", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := write("admitted", bound.Annotations[harness.LeaseTermKey]); err != nil {
		return fmt.Errorf("of the term that is: %w", err)
	}
	if err := write("refused", ""); err != nil {
		return fmt.Errorf("a refusal gives nothing: %w", err)
	}
	// Whatever else becomes of the pod is nobody's business.
	_, err = p.Client.CoreV1().Pods(p.Namespace).Patch(p.Ctx, "runs", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"a":"b"}}}`), meta.PatchOptions{})
	return err
}

// A killer ends the extender of `a` at random instants after it has chosen a node and starts it
// again.
type killer struct {
	*harness.ReplicaPair
	mutex sync.Mutex
	busy  bool
	kills int
	most  int
	until time.Time
	fault error
	gone  sync.WaitGroup
}

// filtered is told of every answer of the extender's.
func (k *killer) filtered(path string, body []byte) {
	var said struct{ NodeNames []string }
	if path != "/filter" || json.Unmarshal(body, &said) != nil || len(said.NodeNames) != 1 {
		return
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	over := k.kills >= k.most || time.Now().After(k.until)
	if k.busy || over || k.fault != nil {
		return
	}
	k.busy = true
	k.kills++
	k.gone.Add(1)
	go func() {
		defer k.gone.Done()
		// From before /bind is asked to after the pod is bound.
		time.Sleep(time.Duration(rand.Int63n(int64(8 * time.Millisecond))))
		err := k.Kill(k.A.Extender())
		if err == nil {
			err = k.StartExtender(k.A)
		}
		k.mutex.Lock()
		defer k.mutex.Unlock()
		k.busy, k.fault = false, err
	}()
}

// rests: it kills nobody any more, and whom it killed has been started again.
func (k *killer) rests() {
	k.mutex.Lock()
	k.most = 0
	k.mutex.Unlock()
	k.gone.Wait()
}

func (k *killer) over() (bool, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.kills >= k.most || time.Now().After(k.until), k.fault
}

// round fills the cluster to the last MiB while the killer is at work: what was lost would leave
// room, what was given twice would be too much.
func (k *killer) round(number int) (err error) {
	const each = harness.DeviceMemoryMiB / 4
	const room = harness.NodeCount * harness.DevicesPerNode * 4
	for at := 0; at < room; at++ {
		made := harness.Pod(fmt.Sprintf("r%d-%d", number, at), harness.Container("c", harness.OneShare(fmt.Sprint(each),
			"5")))
		if _, err := k.Create(made); err != nil {
			return err
		}
	}
	end := time.Now().Add(10 * time.Minute)
	for {
		pods, err := k.Client.CoreV1().Pods(k.Namespace).List(k.Ctx, meta.ListOptions{})
		if err != nil {
			return err
		}
		there := 0
		for i := range pods.Items {
			if pods.Items[i].Spec.NodeName != "" {
				there++
			}
		}
		if there == room {
			break
		}
		if _, fault := k.over(); fault != nil {
			return fault
		}
		if k.Ctx.Err() != nil {
			return k.Ctx.Err()
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d of %d are bound", there, room)
		}
		time.Sleep(50 * time.Millisecond)
	}
	k.gone.Wait()
	if err := k.NoDeviceOverbooked(); err != nil {
		return err
	}
	none := int64(0)
	err = k.Client.CoreV1().Pods(k.Namespace).DeleteCollection(k.Ctx,
		meta.DeleteOptions{GracePeriodSeconds: &none}, meta.ListOptions{})
	if err != nil {
		return err
	}
	return k.WaitDevicesFree()
}

func killedInBetween(p *harness.ReplicaPair) error {
	// The extender comes again where it was, and its kube-scheduler reaches it through a gate.
	found, err := p.Ports(p.A)
	if err != nil {
		return err
	}
	p.A.Listen = strings.TrimPrefix(harness.LocalURL("http", found.Extender), "http://")
	front, err := harness.NewProxy(harness.LocalURL("http", found.Extender), "")
	if err != nil {
		return err
	}
	defer front.Close()
	second, _ := p.Processes.Find(p.A.KubeScheduler())
	if err := second.End(harness.StopBound); err != nil {
		return err
	}
	// Until it has looked at the Lease again it thinks that it leads.
	err = p.WaitFor(p.A.Name+" leads no more", func() error {
		if p.Leads(p.A) == nil {
			return errors.New("it does")
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.A.FrontURL = front.URL()
	// Most of the time would go by between a kill and the next one's first pod.
	p.A.FastRetry = true
	if err := p.StartKubeScheduler(p.A); err != nil {
		return err
	}
	k := &killer{ReplicaPair: p, most: p.Kills, until: time.Now().Add(time.Minute)}
	if p.Kills > 0 {
		k.until = time.Now().Add(24 * time.Hour)
	} else {
		k.most = 1000
	}
	if err := becomesLeader(p, p.A, p.B); err != nil {
		return err
	}
	// However it ends: whoever comes next ends what is there then.
	defer k.rests()
	front.Mutex.Lock()
	front.OnReply = k.filtered
	front.Mutex.Unlock()
	for number := 0; ; number++ {
		if err := k.round(number); err != nil {
			return fmt.Errorf("after %d kills: %w", k.kills, err)
		}
		if over, fault := k.over(); over || fault != nil {
			p.Note = fmt.Sprintf("%d kills (the goal is 1,000), %d rounds of 96 pods that fill the "+
				"cluster: 0 lost, 0 double", k.kills, number+1)
			if k.kills == 0 && fault == nil {
				fault = errors.New("nobody was killed")
			}
			return fault
		}
	}
}

// becomesLeader: another replica that leads is ended and started again until it is this one.
func becomesLeader(p *harness.ReplicaPair, this, other harness.Replica) error {
	return p.WaitFor(this.Name+" leads", func() error {
		if p.Leads(other) == nil {
			one, _ := p.Processes.Find(other.KubeScheduler())
			if err := one.End(harness.StopBound); err != nil {
				return err
			}
			if err := p.StartKubeScheduler(other); err != nil {
				return err
			}
		}
		return p.Leads(this)
	})
}
