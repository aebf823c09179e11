package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A pair is two replicas on machines of different names; `a` leads, and what it asks of the API
// server passes a gate.
type pair struct {
	*world
	a, b replica
	gate *gate
}

// withPair runs a check with a pair instead of what is installed, which is there again afterwards.
func withPair(run func(*pair) error) func(*world) error {
	return func(w *world) error {
		if err := hostsCanDiffer(); err != nil {
			return skip{fmt.Errorf("two replicas need two host names: %w", err)}
		}
		if err := w.installation.remove(); err != nil {
			return err
		}
		g, err := newGate(local("https", w.cluster.ports.Apiserver), w.path("pki", "ca.crt"))
		if err != nil {
			return err
		}
		defer g.close()
		p := &pair{w, replica{name: "divvy-a", host: "divvy-a", server: g.url()},
			replica{name: "divvy-b", host: "divvy-b"}, g}
		if err = p.start(); err == nil {
			err = run(p)
		}
		g.release()
		for _, r := range []replica{p.a, p.b} {
			p.signal(r, syscall.SIGCONT)
		}
		return errors.Join(err, w.again())
	}
}

// start returns when a leads, b is ready to and serves the webhook, as whoever was started last.
func (p *pair) start() error {
	for _, r := range []replica{p.a, p.b} {
		if err := p.startReplica(p.ctx, p.client, r); err != nil {
			return err
		}
		err := p.processes.wait(p.ctx, p.a.second(), func() error { return p.leads(p.a) })
		if err != nil {
			return err
		}
	}
	err := p.processes.wait(p.ctx, p.b.extender(), func() error { return p.webhookWorks(p.ctx, p.client) })
	if err != nil {
		return err
	}
	return p.until("the fence is up", p.fenced)
}

// signal goes to both processes of a replica.
func (p *pair) signal(r replica, signal syscall.Signal) {
	for _, name := range []string{r.second(), r.extender()} {
		if one, known := p.processes.find(name); known && one.alive() {
			_ = syscall.Kill(one.Pid, signal)
		}
	}
}

// bind tries a binding of a pod that does not exist: admission comes first.
func (p *pair) tryBinding(annotations map[string]string) error {
	return p.client.CoreV1().Pods(p.space).Bind(p.ctx, &core.Binding{
		ObjectMeta: meta.ObjectMeta{Name: "nobody", Annotations: annotations},
		Target:     core.ObjectReference{Kind: "Node", Name: "node-00000"}}, meta.CreateOptions{})
}

const fenceWords = "term of the scheduler's Lease that is over"

func (p *pair) fenced() error {
	err := p.tryBinding(map[string]string{termOf: "of-nobody/0"})
	if err == nil || !strings.Contains(err.Error(), fenceWords) {
		return fmt.Errorf("a binding of no term is answered: %v", err)
	}
	return nil
}

const termOf = "divvy.dev/lease"

// ask posts to the extender of a replica, as kube-scheduler does, and says how long it took.
func (p *pair) ask(r replica, verb, body string) (string, time.Duration, error) {
	found, err := p.ports(r)
	if err != nil {
		return "", 0, err
	}
	began := time.Now()
	client := &http.Client{Timeout: checkBound}
	defer client.CloseIdleConnections()
	answer, err := client.Post(local("http", found.Extender)+verb, "application/json",
		bytes.NewReader([]byte(body)))
	if err != nil {
		return "", 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s is answered %s: %s", verb, answer.Status, text)
	}
	var said struct{ Error string }
	if err == nil {
		err = json.Unmarshal(text, &said)
	}
	return said.Error, time.Since(began), err
}

func filterOf(name string) string {
	return fmt.Sprintf(`{"Pod":{"metadata":{"name":%q,"namespace":"n","uid":"u-%s"},"spec":{"containers":[`+
		`{"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"}}}]}},"NodeNames":["node-00000"]}`, name, name)
}

// refusesAtOnce: whoever does not lead says so, without thinking about it. That may take long once, where the machine
// stands still, and not each time.
func (p *pair) refusesAtOnce(r replica) (took time.Duration, err error) {
	const tries = 5
	for range tries {
		if took, err = p.refuses(r); err != nil || took <= time.Second {
			return took, err
		}
	}
	return took, fmt.Errorf("that took %v, and never less than %v", took, time.Second)
}

// refuses: it says that it does not lead, whatever it is asked; how long that took at most.
func (p *pair) refuses(r replica) (time.Duration, error) {
	var longest time.Duration
	for verb, body := range map[string]string{"/filter": filterOf("asked"),
		"/bind": `{"PodName":"asked","PodNamespace":"n","PodUID":"u-asked","Node":"node-00000"}`} {
		words, took, err := p.ask(r, verb, body)
		if err != nil {
			return 0, err
		}
		if !strings.Contains(words, "does not lead") {
			return 0, fmt.Errorf("%s is answered %q", verb, words)
		}
		longest = max(longest, took)
	}
	return longest, nil
}

const onlyKey = "divvy.dev/only"

// onlyFor keeps new pods off all nodes but those that tolerate it; empty: off none.
func (p *pair) onlyFor(whom string) error {
	taints := []core.Taint{}
	if whom != "" {
		taints = append(taints, core.Taint{Key: onlyKey, Value: whom, Effect: core.TaintEffectNoSchedule})
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"taints": taints}})
	if err != nil {
		return err
	}
	nodes, err := p.client.CoreV1().Nodes().List(p.ctx, meta.ListOptions{})
	if err != nil {
		return err
	}
	for at := range nodes.Items {
		_, err := p.client.CoreV1().Nodes().Patch(p.ctx, nodes.Items[at].Name, types.MergePatchType, patch,
			meta.PatchOptions{})
		if err != nil {
			return err
		}
	}
	return nil
}

// doubles is how many devices are given to more than they have room for.
func (w *world) doubles() (int, error) {
	count, memory, err := w.bookings()
	if err != nil {
		return 0, err
	}
	found := 0
	for _, uuid := range sorted(count) {
		if count[uuid] > checkSlots || memory[uuid] > checkMemoryMi {
			found++
		}
	}
	return found, nil
}
