package harness

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

func WholeDevicePod(name string) *core.Pod {
	return Pod(name, Container("c", Limits{"nvidia.com/gpu": "1"}))
}

// A ReplicaPair is two replicas on machines of different names; `a` leads, and what it asks of the API
// server passes a gate.
type ReplicaPair struct {
	*Env
	A, B  Replica
	Proxy *Proxy
}

// WithReplicaPair runs a check with a pair instead of what is installed, which is there again afterwards.
func WithReplicaPair(run func(*ReplicaPair) error) func(*Env) error {
	return func(env *Env) error {
		if err := hostsCanDiffer(env.Self); err != nil {
			return Skip{fmt.Errorf("two replicas need two host names: %w", err)}
		}
		if err := env.Installation.Remove(); err != nil {
			return err
		}
		g, err := NewProxy(LocalURL("https", env.Cluster.Ports.Apiserver), env.Path("pki", "ca.crt"))
		if err != nil {
			return err
		}
		defer g.Close()
		p := &ReplicaPair{env, Replica{Name: "divvy-a", host: "divvy-a", server: g.URL()},
			Replica{Name: "divvy-b", host: "divvy-b"}, g}
		if err = p.start(); err == nil {
			err = run(p)
		}
		g.Release()
		for _, r := range []Replica{p.A, p.B} {
			p.Signal(r, syscall.SIGCONT)
		}
		return errors.Join(err, env.Reinstall())
	}
}

// start returns when a leads, b is ready to and serves the webhook, as whoever was started last.
func (p *ReplicaPair) start() error {
	for _, r := range []Replica{p.A, p.B} {
		if err := p.startReplica(p.Ctx, p.Client, r); err != nil {
			return err
		}
		err := p.Processes.Wait(p.Ctx, p.A.KubeScheduler(), func() error { return p.Leads(p.A) })
		if err != nil {
			return err
		}
	}
	err := p.Processes.Wait(p.Ctx, p.B.Extender(), func() error { return p.WebhookWorks(p.Ctx, p.Client) })
	if err != nil {
		return err
	}
	return p.WaitFor("the fence is up", p.Fenced)
}

// Signal goes to both processes of a replica.
func (p *ReplicaPair) Signal(r Replica, signal syscall.Signal) {
	for _, name := range []string{r.KubeScheduler(), r.Extender()} {
		if one, known := p.Processes.Find(name); known && one.Alive() {
			_ = syscall.Kill(one.Pid, signal)
		}
	}
}

// bind tries a binding of a pod that does not exist: admission comes first.
func (p *ReplicaPair) tryBinding(annotations map[string]string) error {
	return p.Client.CoreV1().Pods(p.Namespace).Bind(p.Ctx, &core.Binding{
		ObjectMeta: meta.ObjectMeta{Name: "nobody", Annotations: annotations},
		Target:     core.ObjectReference{Kind: "Node", Name: "node-00000"}}, meta.CreateOptions{})
}

const StaleTermMessage = "term of the scheduler's Lease that is over"

func (p *ReplicaPair) Fenced() error {
	err := p.tryBinding(map[string]string{LeaseTermKey: "of-nobody/0"})
	if err == nil || !strings.Contains(err.Error(), StaleTermMessage) {
		return fmt.Errorf("a binding of no term is answered: %v", err)
	}
	return nil
}

const LeaseTermKey = "divvy.dev/scheduler-term"

// ask posts to the extender of a replica, as kube-scheduler does, and says how long it took.
func (p *ReplicaPair) request(r Replica, verb, body string) (string, time.Duration, error) {
	found, err := p.Ports(r)
	if err != nil {
		return "", 0, err
	}
	began := time.Now()
	client := &http.Client{Timeout: checkBound}
	defer client.CloseIdleConnections()
	reply, err := client.Post(LocalURL("http", found.Extender)+verb, "application/json",
		bytes.NewReader([]byte(body)))
	if err != nil {
		return "", 0, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err == nil && reply.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s is answered %s: %s", verb, reply.Status, text)
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

// RefusesAtOnce: whoever does not lead says so, without thinking about it. That may take long once, where the machine
// stands still, and not each time.
func (p *ReplicaPair) RefusesAtOnce(r Replica) (took time.Duration, err error) {
	const tries = 5
	for range tries {
		if took, err = p.refuses(r); err != nil || took <= time.Second {
			return took, err
		}
	}
	return took, fmt.Errorf("that took %v, and never less than %v", took, time.Second)
}

// refuses: it says that it does not lead, whatever it is asked; how long that took at most.
func (p *ReplicaPair) refuses(r Replica) (time.Duration, error) {
	var longest time.Duration
	for verb, body := range map[string]string{"/filter": filterOf("asked"),
		"/bind": `{"PodName":"asked","PodNamespace":"n","PodUID":"u-asked","Node":"node-00000"}`} {
		words, took, err := p.request(r, verb, body)
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

const OnlyKey = "divvy.dev/only"

// OnlyFor keeps new pods off all nodes but those that tolerate it; empty: off none.
func (p *ReplicaPair) OnlyFor(whom string) error {
	taints := []core.Taint{}
	if whom != "" {
		taints = append(taints, core.Taint{Key: OnlyKey, Value: whom, Effect: core.TaintEffectNoSchedule})
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"taints": taints}})
	if err != nil {
		return err
	}
	nodes, err := p.Client.CoreV1().Nodes().List(p.Ctx, meta.ListOptions{})
	if err != nil {
		return err
	}
	for at := range nodes.Items {
		_, err := p.Client.CoreV1().Nodes().Patch(p.Ctx, nodes.Items[at].Name, types.MergePatchType, patch,
			meta.PatchOptions{})
		if err != nil {
			return err
		}
	}
	return nil
}

// OverbookedCount is how many devices are given to more than they have room for.
func (env *Env) OverbookedCount() (int, error) {
	count, memory, err := env.Allocations()
	if err != nil {
		return 0, err
	}
	found := 0
	for _, uuid := range sorted(count) {
		if count[uuid] > SlotsPerDevice || memory[uuid] > DeviceMemoryMiB {
			found++
		}
	}
	return found, nil
}
