package commands

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestExplain(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "a-waiting-pod-is-explained-and-what-helps-helps",
			Requirement: "explain: the typed reason and the nearest fix; reasons kept for pending pods", Run: explained},
		checks.Check{Name: "a-plan-is-what-then-happens",
			Requirement: "divvy plan -f FILE: where would these go, one after the other", Run: planned},
		checks.Check{Name: "a-plan-heeds-budgets-and-queues",
			Requirement: "divvy plan: who would be preempted, as disruption budgets and queues have it, with the " +
				"user's own rights", Run: harness.OnContendedNode("16", plannedWithin)},
		checks.Check{Name: "a-snapshot-of-the-cluster-is-decided-the-same-again",
			Requirement: "divvy snapshot of the live cluster for the simulator", Run: snapshotted},
		checks.Check{Name: "one-table-of-cards-and-who-has-them",
			Requirement: "divvy gpus, ls: allocated and total per card of the cluster, drill down to pods", Run: listed})
}

type explanation struct {
	Fits    bool
	Bound   bool
	Node    string
	Gated   string
	Reasons map[string]int
	Nodes   []struct {
		Node    string
		Devices []struct{ Why string }
	}
	Fixes []struct {
		Change  string
		Nodes   int
		Changes []struct{ From, To uint64 }
	}
}

// inSpace explains a pod that is there.
func inSpace(env *harness.Env, name string) (explanation, error) {
	var said []explanation
	no, err := env.RunDivvy(&said, "explain", "pod", name, "-n", env.Namespace, "-o", "json")
	if err != nil {
		return explanation{}, err
	}
	if len(said) != 1 || said[0].Fits == no {
		return explanation{}, fmt.Errorf("%s: %+v, exit status says no: %v", name, said, no)
	}
	return said[0], nil
}

func explained(env *harness.Env) error {
	if _, err := env.Create(harness.Pod("big", harness.Container("c", harness.OneShare("100000", "30")))); err != nil {
		return err
	}
	if _, err := env.WaitRefused("big"); err != nil {
		return err
	}
	said, err := inSpace(env, "big")
	if err != nil {
		return err
	}
	if said.Fits || len(said.Nodes) != harness.NodeCount || len(said.Nodes[0].Devices) != harness.DevicesPerNode ||
		!strings.Contains(said.Nodes[0].Devices[0].Why, "the device has 80 GiB") {
		return fmt.Errorf("big: %+v", said)
	}
	fits := uint64(0)
	for _, fix := range said.Fixes {
		if strings.Contains(fix.Change, "of device memory") && fix.Nodes == harness.NodeCount {
			fits = fix.Changes[0].To >> 20
		}
	}
	if fits != harness.DeviceMemoryMiB {
		return fmt.Errorf("no fix says %d MiB: %+v", harness.DeviceMemoryMiB, said.Fixes)
	}
	if _, err := env.Create(harness.Pod("less", harness.Container("c", harness.OneShare(fmt.Sprint(fits),
		"30")))); err != nil {
		return err
	}
	less, err := env.WaitBound("less")
	if err != nil {
		return err
	}
	if said, err = inSpace(env, "less"); err != nil {
		return err
	}
	if !said.Bound || said.Node != less.Spec.NodeName {
		return fmt.Errorf("less is on %s: %+v", less.Spec.NodeName, said)
	}
	return env.WaitFor("big is told why it waits", func() error {
		p, err := env.Get("big")
		if err != nil {
			return err
		}
		for _, one := range p.Status.Conditions {
			if one.Type == "divvy.dev/DevicesFit" && one.Status == core.ConditionFalse &&
				strings.Contains(one.Message, "devices with too little memory (1 device") &&
				strings.Contains(one.Message, " on 3 nodes") {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %+v", p.Status.Conditions)
	})
}

const plannedPods = `
{apiVersion: v1, kind: Pod, metadata: {name: first}, spec: {containers: [
  {name: c, image: registry.invalid/none, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: some}
spec:
  replicas: 2
  template:
    spec:
      containers:
      - name: c
        image: registry.invalid/none
        resources: {limits: {nvidia.com/gpu: 2, nvidia.com/gpumem: 30000}}
---
{apiVersion: v1, kind: Pod, metadata: {name: never}, spec: {containers: [
  {name: c, image: registry.invalid/none, resources: {limits: {nvidia.com/gpu: 9}}}]}}
`

func planned(env *harness.Env) error {
	file := filepath.Join(env.Path(), env.Namespace+".yaml")
	if err := os.WriteFile(file, []byte(plannedPods), 0o644); err != nil {
		return err
	}
	defer os.Remove(file)
	var plan []struct {
		Pod, Node string
		Fits      bool
		Devices   []string
	}
	no, err := env.RunDivvy(&plan, "plan", "-f", file, "-n", env.Namespace, "-o", "json")
	if err != nil {
		return err
	}
	if !no || len(plan) != 4 || plan[3].Fits {
		return fmt.Errorf("the plan is %+v", plan)
	}
	pods, err := env.Client.CoreV1().Pods(env.Namespace).List(env.Ctx, meta.ListOptions{})
	if err != nil || len(pods.Items) != 0 {
		return fmt.Errorf("the plan made %d pods, %w", len(pods.Items), err)
	}
	for at, limits := range []harness.Limits{{"nvidia.com/gpu": "1"},
		{"nvidia.com/gpu": "2", "nvidia.com/gpumem": "30000"},
		{"nvidia.com/gpu": "2", "nvidia.com/gpumem": "30000"}} {
		name := fmt.Sprintf("p-%d", at)
		if _, err := env.Create(harness.Pod(name, harness.Container("c", limits))); err != nil {
			return err
		}
		p, err := env.WaitBound(name)
		if err != nil {
			return err
		}
		shares, err := harness.SharesOf(p)
		if err != nil {
			return err
		}
		var got []string
		for _, one := range shares[0] {
			got = append(got, one.UUID)
		}
		if p.Spec.NodeName != plan[at].Node || strings.Join(got, " ") != strings.Join(plan[at].Devices, " ") {
			return fmt.Errorf("%s has %v on %s; the plan says %+v", name, got, p.Spec.NodeName, plan[at])
		}
	}
	return nil
}

type plannedPod struct {
	Pod, Node, Why string
	Fits           bool
	Ended          []string
}

// planOf says what would become of these pods, and what is said beside it.
func planOf(env *harness.Env, kubeconfig string, pods ...*core.Pod) ([]plannedPod, string, error) {
	file := filepath.Join(env.Path(), env.Namespace+"-plan.json")
	defer os.Remove(file)
	list := core.PodList{TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "List"}}
	for _, one := range pods {
		one.TypeMeta = meta.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		list.Items = append(list.Items, *one)
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, "", err
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return nil, "", err
	}
	var aside strings.Builder
	command := exec.CommandContext(env.Ctx, env.Divvy, "plan", "-f", file, "-n", env.Namespace, "-o", "json",
		"--kubeconfig", kubeconfig)
	command.Stderr = &aside
	said, err := command.Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 3) {
		return nil, "", fmt.Errorf("divvy plan: %w: %s", err, aside.String())
	}
	var plan []plannedPod
	if err := json.Unmarshal(said, &plan); err != nil || len(plan) != len(pods) {
		return nil, "", fmt.Errorf("divvy plan: %w: %s %s", err, said, aside.String())
	}
	return plan, aside.String(), nil
}

// Two of low priority fill the card, and a budget lets one of them go: for one of two it ends.
func plannedWithin(a *harness.ContendedNode) error {
	for _, name := range []string{"low-0", "low-1"} {
		p := a.Pod(name, a.Low, fmt.Sprint(harness.DeviceMemoryMiB/2), "1")
		p.Labels["guard"] = "guard"
		if err := a.RunPod(p); err != nil {
			return err
		}
	}
	if err := a.CreateBudget("guard", 1); err != nil {
		return err
	}
	if err := a.WaitBudgetAllows("guard", 1); err != nil {
		return err
	}
	half := fmt.Sprint(harness.DeviceMemoryMiB / 2)
	all := a.Path("kubeconfig")
	plan, _, err := planOf(a.Env, all, a.Pod("high-0", a.High, half, "1"), a.Pod("high-1", a.High, half, "1"))
	if err != nil {
		return err
	}
	if len(plan[0].Ended) != 1 || !plan[0].Fits || plan[1].Fits ||
		!strings.Contains(plan[1].Why, "disruption budget") {
		return fmt.Errorf("the plan is %+v", plan)
	}
	name := "plan-" + a.Namespace
	away, err := a.CreateQueue(name, harness.QueueSpec{Limit: harness.DeviceAmount(1)})
	if err != nil {
		return err
	}
	defer away()
	free := func(name string) *core.Pod {
		return harness.WithAnnotations(harness.WholeDevicePod(name), harness.QueueKey, "plan-"+a.Namespace)
	}
	plan, aside, err := planOf(a.Env, all, free("first"), free("second"))
	if err != nil {
		return err
	}
	if !plan[0].Fits || plan[1].Fits || !strings.Contains(plan[1].Why, "limit of queue "+name) {
		return fmt.Errorf("the plan is %+v %s", plan, aside)
	}
	// Who is pending for real waits for the same.
	for _, one := range []*core.Pod{free("first"), free("second")} {
		if _, err := a.Create(one); err != nil {
			return err
		}
	}
	if _, err := a.WaitBound("first"); err != nil {
		return err
	}
	if err := a.WaitQueuePending(name, 1, "limit of queue "+name); err != nil {
		return err
	}
	said, err := inSpace(a.Env, "second")
	if err != nil {
		return err
	}
	if said.Fits || !strings.Contains(said.Gated, "limit of queue "+name) {
		return fmt.Errorf("second: %+v", said)
	}
	return plannedByWhoMayNotRead(a, free("third"))
}

// Neither budgets nor queues may be listed: both are named, and counted, and there is a plan.
func plannedByWhoMayNotRead(a *harness.ContendedNode, p *core.Pod) error {
	file, away, err := a.CreateAccount("planner", []rbac.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes", "pods", "resourcequotas"},
			Verbs: []string{"list"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create"}}})
	defer away()
	if err != nil {
		return err
	}
	plan, aside, err := planOf(a.Env, file, p)
	if err != nil {
		return err
	}
	for _, words := range []string{"not counted (1 of 2): disruption budgets: ",
		"not counted (2 of 2): queues: "} {
		if !strings.Contains(aside, words) {
			return fmt.Errorf("it does not say %q: %s", words, aside)
		}
	}
	if !plan[0].Fits {
		return fmt.Errorf("the plan is %+v", plan)
	}
	return nil
}

// someHoldAndOneWaits makes p-0, p-1 ... with 1, 2 ... GiB, and one that fits nowhere.
func someHoldAndOneWaits(env *harness.Env, count int) error {
	for at := range count {
		name := fmt.Sprintf("p-%d", at)
		if _, err := env.Create(harness.Pod(name, harness.Container("c", harness.OneShare(fmt.Sprint(1024*(at+1)),
			"10")))); err != nil {
			return err
		}
		if _, err := env.WaitBound(name); err != nil {
			return err
		}
	}
	if _, err := env.Create(harness.Pod("waits", harness.Container("c", harness.OneShare("90000", "30")))); err != nil {
		return err
	}
	_, err := env.WaitRefused("waits")
	return err
}

type listedShare struct {
	Namespace, Pod, Container, Node, Uuid, State, Reason string
	Memory                                               uint64
	Cores                                                int `json:"cores_permille"`
}

type listedDevice struct {
	Node, Uuid        string
	Memory, Allocated uint64
	Tenants           int
	Shares            []listedShare
}

// What is listed is what the API server has in the pods' own annotations.
func listed(env *harness.Env) error {
	if err := someHoldAndOneWaits(env, 3); err != nil {
		return err
	}
	var shares []listedShare
	if _, err := env.RunDivvy(&shares, "ls", "--cluster", "-n", env.Namespace, "-o", "json"); err != nil {
		return err
	}
	if len(shares) != 4 {
		return fmt.Errorf("4 pods are listed as %+v", shares)
	}
	var devices []listedDevice
	if _, err := env.RunDivvy(&devices, "gpus", "--cluster", "-o", "json"); err != nil {
		return err
	}
	if len(devices) != harness.NodeCount*harness.DevicesPerNode {
		return fmt.Errorf("%d devices are listed", len(devices))
	}
	return listedAlike(env, shares, devices)
}

func listedAlike(env *harness.Env, shares []listedShare, devices []listedDevice) error {
	for at, share := range shares[:3] {
		if share.Memory != uint64(at+1)<<30 || share.Cores != 100 || share.Container != "c" {
			return fmt.Errorf("a share is listed as %+v", share)
		}
		found, err := env.Client.CoreV1().Pods(env.Namespace).Get(env.Ctx, share.Pod, meta.GetOptions{})
		if err != nil {
			return err
		}
		written := found.Annotations[harness.AllocatedKey]
		if found.Spec.NodeName != share.Node || !strings.Contains(written, share.Uuid) {
			return fmt.Errorf("%s is listed on %s, %s; it says %s, %q", share.Pod, share.Node, share.Uuid,
				found.Spec.NodeName, written)
		}
		of := slices.IndexFunc(devices, func(one listedDevice) bool { return one.Uuid == share.Uuid })
		if of < 0 || devices[of].Node != share.Node || !slices.Contains(devices[of].Shares, share) {
			return fmt.Errorf("%+v is not with its device", share)
		}
	}
	for _, one := range devices {
		sum := uint64(0)
		for _, share := range one.Shares {
			sum += share.Memory
		}
		if sum != one.Allocated || len(one.Shares) != one.Tenants || one.Allocated > one.Memory {
			return fmt.Errorf("a device is listed as %+v", one)
		}
	}
	waits := shares[3]
	if waits.Pod != "waits" || waits.State != "waits" || waits.Reason == "" || waits.Uuid != "" {
		return fmt.Errorf("who waits is listed as %+v", waits)
	}
	no, err := env.RunDivvy(nil, "gpus", "--cluster", "--node", "no-such-node", "-o", "json")
	if !no || err == nil || !strings.Contains(err.Error(), "no-such-node") {
		return fmt.Errorf("of a node that is not there is said: %v", err)
	}
	return nil
}

func snapshotted(env *harness.Env) error {
	if err := someHoldAndOneWaits(env, 4); err != nil {
		return err
	}
	file := filepath.Join(env.Path(), env.Namespace+".json")
	defer os.Remove(file)
	if _, err := env.RunDivvy(nil, "snapshot", "--cluster", "-o", file); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var snapshot struct {
		Nodes       []any
		Allocations []struct{ Name string }
		Pending     []struct{ Name string }
	}
	if err := json.Unmarshal(text, &snapshot); err != nil {
		return err
	}
	if len(snapshot.Nodes) != harness.NodeCount || len(snapshot.Allocations) != 4 ||
		len(snapshot.Pending) != 1 || snapshot.Pending[0].Name != env.Namespace+"/waits" {
		return fmt.Errorf("the snapshot is %.1000s", text)
	}
	no, err := env.RunDivvy(&struct{}{}, "simulate", "replay", file, "--expect-same", "-o", "json")
	if err == nil && no {
		err = errors.New("replayed, it is not decided the same")
	}
	return err
}
