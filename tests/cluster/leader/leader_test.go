package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"sync"
	"syscall"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// How long it may take after the leader is lost until its successor has bound a pod.
const takeoverBound = 15 * time.Second

func init() {
	checks = append(checks,
		check{"a-lost-leader-is-replaced",
			"first bind by the successor within 15 s of SIGKILL; who does not lead refuses at once",
			withPair(lostLeader)},
		check{"without-the-fence-a-paused-leader-gives-twice",
			"the control of the next: a binding that was on its way, and no policy", withPair(noFence)},
		check{"a-paused-leader-gives-nothing-twice",
			"paused past its lease with a bind on its way, then resumed: 0 double allocations",
			withPair(pausedLeader)},
		check{"a-late-admission-of-a-change-is-refused",
			"a change of a running pod that was admitted in a term that is over is not written",
			withPair(lateAdmission)},
		check{"kills-between-filter-and-bind-lose-nothing",
			"random kills between filter and bind: 0 lost, 0 double", withPair(killedInBetween)},
	)
}

func whole(name string) *core.Pod {
	return pod(name, container("c", asks{"nvidia.com/gpu": "1"}))
}

func lostLeader(p *pair) error {
	took, err := p.refusesAtOnce(p.b)
	if err != nil {
		return err
	}
	const before = 20
	for at := 0; at < before; at++ {
		if _, err := p.create(whole(fmt.Sprintf("before-%d", at))); err != nil {
			return err
		}
	}
	first, err := p.bound("before-0")
	if err != nil {
		return err
	}
	// Some are bound, some are not.
	clock := watchStalls()
	defer clock.end()
	p.signal(p.a, syscall.SIGKILL)
	if _, err := p.create(whole("after")); err != nil {
		return err
	}
	after, err := p.bound("after")
	if err != nil {
		return err
	}
	gap := clock.passed()
	p.note = fmt.Sprintf("first bind %.1f s after SIGKILL; who follows refused within %.1f ms",
		gap.Seconds(), float64(took.Microseconds())/1000)
	if gap > takeoverBound {
		return fmt.Errorf("that is more than %v", takeoverBound)
	}
	if first.Annotations[termOf] == "" || first.Annotations[termOf] == after.Annotations[termOf] {
		return fmt.Errorf("terms: %q, then %q", first.Annotations[termOf], after.Annotations[termOf])
	}
	for at := 0; at < before; at++ {
		if _, err := p.bound(fmt.Sprintf("before-%d", at)); err != nil {
			return err
		}
	}
	return p.noneTooFull()
}

// lateBinding has one card left when `a` sends a binding that is held up, and is paused. `b` gives
// that card to another, `a` goes on, and the binding arrives.
func (p *pair) lateBinding() (status int, doubles int, err error) {
	const room = checkNodes*checkDevices - 1
	for at := 0; at < room; at++ {
		if _, err := p.create(whole(fmt.Sprintf("whole-%d", at))); err != nil {
			return 0, 0, err
		}
	}
	for at := 0; at < room; at++ {
		if _, err := p.bound(fmt.Sprintf("whole-%d", at)); err != nil {
			return 0, 0, err
		}
	}
	p.gate.hold()
	if _, err := p.create(whole("late")); err != nil {
		return 0, 0, err
	}
	err = p.until("the binding is on its way", func() error { return p.gate.holds(1) })
	if err != nil {
		return 0, 0, err
	}
	p.signal(p.a, syscall.SIGSTOP)
	// Or `late` might be the first for b, too.
	if err := p.onlyFor("other"); err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, p.onlyFor("")) }()
	other := whole("other")
	other.Spec.Tolerations = []core.Toleration{{Key: onlyKey, Operator: core.TolerationOpExists}}
	if _, err := p.create(other); err != nil {
		return 0, 0, err
	}
	if _, err := p.bound("other"); err != nil {
		return 0, 0, err
	}
	p.gate.release()
	p.signal(p.a, syscall.SIGCONT)
	if _, err := p.refusesAtOnce(p.a); err != nil {
		return 0, 0, fmt.Errorf("after it went on: %w", err)
	}
	var late []int
	err = p.until("the binding is answered", func() error {
		late, err = p.gate.lateAnswers(1)
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	doubles, err = p.doubles()
	return late[0], doubles, err
}

func noFence(p *pair) error {
	policies := p.client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	// Not deleted: an API server does not follow the Lease any more when nothing is bound to it,
	// and never again after that.
	off := []byte(`{"spec":{"validationActions":["Audit"]}}`)
	_, err := policies.Patch(p.ctx, account+"-fencing", types.MergePatchType, off, meta.PatchOptions{})
	if err != nil {
		return err
	}
	err = p.until("the fence is down", func() error {
		if p.fenced() == nil {
			return fmt.Errorf("a binding of no term is refused")
		}
		return nil
	})
	if err != nil {
		return err
	}
	status, doubles, err := p.lateBinding()
	if err != nil {
		return err
	}
	p.note = fmt.Sprintf("the late binding was answered %d, %d devices are given twice", status, doubles)
	if doubles == 0 {
		return fmt.Errorf("nothing was given twice: the next check does not show anything")
	}
	return nil
}

func pausedLeader(p *pair) error {
	status, doubles, err := p.lateBinding()
	if err != nil {
		return err
	}
	p.note = fmt.Sprintf("the late binding was answered %d, %d devices are given twice", status, doubles)
	if doubles > 0 || status < 400 {
		return fmt.Errorf("it was not refused")
	}
	late, err := p.get("late")
	if err == nil && late.Spec.NodeName != "" {
		err = fmt.Errorf("late is on %s", late.Spec.NodeName)
	}
	return err
}

// lateAdmission writes as the scheduler would: with the term of its pod's binding, and with none.
func lateAdmission(p *pair) error {
	if _, err := p.create(whole("runs")); err != nil {
		return err
	}
	bound, err := p.bound("runs")
	if err != nil {
		return err
	}
	write := func(phase, term string) error {
		state, err := json.Marshal(map[string]any{"id": "x", "phase": phase, "token": "t", "term": term,
			"assignment": bound.Annotations[allocated],
			"change":     map[string]any{"id": "x", "container": "c", "cores": 100}})
		if err != nil {
			return err
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{
			"divvy.dev/change-state": string(state)}}})
		if err != nil {
			return err
		}
		_, err = p.client.CoreV1().Pods(p.space).Patch(p.ctx, "runs", types.MergePatchType, patch,
			meta.PatchOptions{})
		return err
	}
	err = p.until("the fence is up", func() error {
		err := write("admitted", "of-nobody/0")
		if err == nil || !strings.Contains(err.Error(), fenceWords) {
			return fmt.Errorf("an admission of no term is answered: %v", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := write("admitted", bound.Annotations[termOf]); err != nil {
		return fmt.Errorf("of the term that is: %w", err)
	}
	if err := write("refused", ""); err != nil {
		return fmt.Errorf("a refusal gives nothing: %w", err)
	}
	// Whatever else becomes of the pod is nobody's business.
	_, err = p.client.CoreV1().Pods(p.space).Patch(p.ctx, "runs", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"a":"b"}}}`), meta.PatchOptions{})
	return err
}

// A killer ends the extender of `a` at random instants after it has chosen a node and starts it
// again.
type killer struct {
	*pair
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
		err := k.kill(k.a.extender())
		if err == nil {
			err = k.startExtender(k.a)
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
	const each = checkMemoryMi / 4
	const room = checkNodes * checkDevices * 4
	for at := 0; at < room; at++ {
		made := pod(fmt.Sprintf("r%d-%d", number, at), container("c", one(fmt.Sprint(each), "5")))
		if _, err := k.create(made); err != nil {
			return err
		}
	}
	end := time.Now().Add(10 * time.Minute)
	for {
		pods, err := k.client.CoreV1().Pods(k.space).List(k.ctx, meta.ListOptions{})
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
		if k.ctx.Err() != nil {
			return k.ctx.Err()
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d of %d are bound", there, room)
		}
		time.Sleep(50 * time.Millisecond)
	}
	k.gone.Wait()
	if err := k.noneTooFull(); err != nil {
		return err
	}
	none := int64(0)
	err = k.client.CoreV1().Pods(k.space).DeleteCollection(k.ctx,
		meta.DeleteOptions{GracePeriodSeconds: &none}, meta.ListOptions{})
	if err != nil {
		return err
	}
	return k.alone()
}

func killedInBetween(p *pair) error {
	// The extender comes again where it was, and its kube-scheduler reaches it through a gate.
	found, err := p.ports(p.a)
	if err != nil {
		return err
	}
	p.a.listen = strings.TrimPrefix(local("http", found.Extender), "http://")
	front, err := newGate(local("http", found.Extender), "")
	if err != nil {
		return err
	}
	defer front.close()
	second, _ := p.processes.find(p.a.second())
	if err := second.end(stopBound); err != nil {
		return err
	}
	// Until it has looked at the Lease again it thinks that it leads.
	err = p.until(p.a.name+" leads no more", func() error {
		if p.leads(p.a) == nil {
			return errors.New("it does")
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.a.front = front.url()
	// Most of the time would go by between a kill and the next one's first pod.
	p.a.hasty = true
	if err := p.startKubeScheduler(p.a); err != nil {
		return err
	}
	k := &killer{pair: p, most: p.kills, until: time.Now().Add(time.Minute)}
	if p.kills > 0 {
		k.until = time.Now().Add(24 * time.Hour)
	} else {
		k.most = 1000
	}
	if err := p.becomesLeader(p.a, p.b); err != nil {
		return err
	}
	// However it ends: whoever comes next ends what is there then.
	defer k.rests()
	front.mutex.Lock()
	front.after = k.filtered
	front.mutex.Unlock()
	for number := 0; ; number++ {
		if err := k.round(number); err != nil {
			return fmt.Errorf("after %d kills: %w", k.kills, err)
		}
		if over, fault := k.over(); over || fault != nil {
			p.note = fmt.Sprintf("%d kills (the goal is 1,000), %d rounds of 96 pods that fill the "+
				"cluster: 0 lost, 0 double", k.kills, number+1)
			if k.kills == 0 && fault == nil {
				fault = errors.New("nobody was killed")
			}
			return fault
		}
	}
}

// becomesLeader: another replica that leads is ended and started again until it is this one.
func (p *pair) becomesLeader(this, other replica) error {
	return p.until(this.name+" leads", func() error {
		if p.leads(other) == nil {
			one, _ := p.processes.find(other.second())
			if err := one.end(stopBound); err != nil {
				return err
			}
			if err := p.startKubeScheduler(other); err != nil {
				return err
			}
		}
		return p.leads(this)
	})
}
