package commands

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestConsole(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "console-shows-the-same-figures-as-ls",
			Requirement: "divvy console --cluster: devices, nodes and shares have the figures of divvy gpus and divvy ls; " +
				"each waiting pod has its kind; workloads, queues, teams, models and their hours agree with the cluster; the " +
				"scheduler's metrics and divvy simulate have the same allocation",
			Run: consoleFigures},
		checks.Check{Name: "console-explains-and-plans-as-the-commands",
			Requirement: "divvy console --cluster: explanations and plans are those of divvy explain and divvy plan, " +
				"and change nothing",
			Run: consoleAnswers},
		checks.Check{Name: "console-follows-the-cluster",
			Requirement: "divvy console --cluster: a new or deleted pod and a cordoned node are shown within 5 s, and streamed",
			Run:         consoleFollows},
		checks.Check{Name: "console-needs-only-the-users-rights",
			Requirement: "divvy console --cluster: with rights on nodes and pods only the page works and names what it may " +
				"not list; it only reads, dry runs for plans aside, and lists nothing at rest",
			Run: consoleRights},
		checks.Check{Name: "console-passes-hostile-names-on-unchanged",
			Requirement: "divvy console --cluster: images, models and annotations with quotes, markup and direction marks are " +
				"JSON texts",
			Run: consoleNames})
}

// The pods of consoleScene that wait, and the kind of each.
var consoleWaits = map[string]string{
	"many": "never-fits", "large": "never-fits", "room": "waits-for-room", "queued": "waits-for-quota", "held": "held",
	"nowhere": "unscheduled",
}

const consoleTeam = "research"

// consoleScene makes a share on each node, a Deployment of two pods, a queue of one device with a running pod, and a
// pod of each kind that waits. The result is the queue's name, and a function that removes the queue.
func consoleScene(env *harness.Env) (string, func(), error) {
	queue := "page-" + env.Namespace
	away, err := env.CreateQueue(queue, harness.QueueSpec{Limit: harness.DeviceAmount(1)})
	if err != nil {
		return queue, away, err
	}
	team := []byte(`{"metadata":{"labels":{"divvy.dev/team":"` + consoleTeam + `"}}}`)
	_, err = env.Client.CoreV1().Namespaces().Patch(env.Ctx, env.Namespace, types.MergePatchType, team,
		meta.PatchOptions{})
	if err != nil {
		return queue, away, err
	}
	nodes, err := env.Client.CoreV1().Nodes().List(env.Ctx, meta.ListOptions{})
	if err != nil {
		return queue, away, err
	}
	for at, node := range nodes.Items {
		p := harness.Pod(fmt.Sprintf("p-%d", at), harness.Container("c", harness.OneShare(fmt.Sprint(1024*(at+1)), "10")))
		p.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": node.Name}
		if _, err := env.Create(p); err != nil {
			return queue, away, err
		}
	}
	if err := consoleDeployment(env); err != nil {
		return queue, away, err
	}
	ofQueue := func(name string) *core.Pod {
		return harness.WithAnnotations(harness.WholeDevicePod(name), harness.QueueKey, queue)
	}
	if _, err := env.Create(ofQueue("first")); err != nil {
		return queue, away, err
	}
	for _, name := range []string{"p-0", "p-1", "p-2", "first"} {
		if _, err := env.WaitBound(name); err != nil {
			return queue, away, err
		}
	}
	held := harness.WholeDevicePod("held")
	held.Spec.SchedulingGates = []core.PodSchedulingGate{{Name: "example.com/hold"}}
	nowhere := harness.WholeDevicePod("nowhere")
	nowhere.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": "none"}
	for _, p := range []*core.Pod{
		harness.Pod("many", harness.Container("c", harness.Limits{"nvidia.com/gpu": "9"})),
		harness.Pod("large", harness.Container("c", harness.OneShare("90000", "30"))),
		harness.Pod("room", harness.Container("c", harness.Limits{"nvidia.com/gpu": "8"})),
		ofQueue("queued"), held, nowhere,
	} {
		if _, err := env.Create(p); err != nil {
			return queue, away, err
		}
	}
	return queue, away, env.WaitQueuePending(queue, 1, "limit of queue "+queue)
}

// consoleDeployment makes the Deployment web of two pods, which serve a model, and waits until they are bound.
func consoleDeployment(env *harness.Env) error {
	labels := map[string]string{"app": "web", "divvy.dev/model": "llama-8b"}
	two := int32(2)
	_, err := env.Client.AppsV1().Deployments(env.Namespace).Create(env.Ctx, &apps.Deployment{
		ObjectMeta: meta.ObjectMeta{Name: "web"},
		Spec: apps.DeploymentSpec{Replicas: &two,
			Selector: &meta.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: core.PodTemplateSpec{ObjectMeta: meta.ObjectMeta{Labels: labels},
				Spec: core.PodSpec{Containers: []core.Container{
					harness.Container("server", harness.OneShare("20000", "25"))}}}}},
		meta.CreateOptions{})
	if err != nil {
		return err
	}
	return env.WaitCounts("web-", 2, 0)
}

type consoleDevice struct {
	ID, Node, UUID, Kind, Model, Pool, State string
	Memory                                   uint64  `json:"memory_total_bytes"`
	Limits                                   uint64  `json:"memory_limits_bytes"`
	Compute                                  float64 `json:"compute_requested_percent"`
	Tenants                                  int
	Used                                     *uint64 `json:"memory_used_bytes"`
}

type consoleShare struct {
	ID, Node, Namespace, Pod, Container, Name, State, Team, Image string

	Owner   *string
	Queue   *string
	Model   *string `json:"model_served"`
	Limit   uint64  `json:"limit_bytes"`
	Devices []struct {
		ID    string
		Limit uint64  `json:"limit_bytes"`
		Cores float64 `json:"cores_percent"`
	}
}

type consoleWaiting struct {
	ID, Namespace, Name, Kind, Reason, Team string

	Queue    *string
	Position int
}

type consoleNode struct {
	Node, State string
	Devices     int
	Healthy     int     `json:"healthy_devices"`
	Memory      uint64  `json:"memory_total_bytes"`
	Limits      uint64  `json:"memory_limits_bytes"`
	Compute     float64 `json:"compute_requested_percent"`
	Shares      int
}

type consoleGroup struct {
	ID, Name, Namespace, Kind, Team, Models, Images string

	Namespaces []string
	Pods       int
	Shares     int
	Waiting    int
	Limits     uint64  `json:"memory_limits_bytes"`
	Compute    float64 `json:"compute_requested_percent"`
}

type consoleModel struct {
	Name, Source string

	Namespaces []string
	Images     []string
	Shares     int
	Limits     uint64 `json:"memory_limits_bytes"`
}

type clusterDevice struct {
	Node, UUID, Kind, Model, Pool string

	Healthy   bool
	Cordoned  bool
	Memory    uint64
	Allocated uint64
	Cores     int `json:"allocated_cores_permille"`
	Tenants   int
}

func permille(percent float64) int { return int(math.Round(percent * 10)) }

func consoleFigures(env *harness.Env) error {
	queue, away, err := consoleScene(env)
	defer away()
	if err != nil {
		return err
	}
	s, end, err := openConsole(env)
	defer end()
	if err != nil {
		return err
	}
	if err := s.waitRead(consoleCollections...); err != nil {
		return err
	}
	for _, one := range []struct {
		what  string
		agree func() error
	}{
		{"devices and nodes", s.devicesAgree}, {"shares", s.sharesAgree}, {"waiting pods", s.waitingAgree},
		{"workloads", s.workloadsAgree}, {"teams", s.teamsAgree}, {"models", s.modelsAgree},
		{"queues", func() error { return s.queueAgrees(queue) }},
		{"hours", func() error { return s.usageAgrees(queue) }},
		{"page, metrics and simulator", s.allocationsAgree},
	} {
		if err := env.WaitFor(one.what+" agree", one.agree); err != nil {
			return err
		}
	}
	return nil
}

func (s *consoleSession) devicesAgree() error {
	var listed []clusterDevice
	if _, err := s.env.RunDivvy(&listed, "gpus", "--cluster", "-o", "json"); err != nil {
		return err
	}
	shown, err := rows[consoleDevice](s, "devices")
	if err != nil {
		return err
	}
	if len(shown) != harness.NodeCount*harness.DevicesPerNode || len(listed) != len(shown) {
		return fmt.Errorf("%d devices are shown, %d are listed", len(shown), len(listed))
	}
	byID := map[string]consoleDevice{}
	for _, one := range shown {
		byID[one.ID] = one
	}
	nodes := map[string]consoleNode{}
	allocated := uint64(0)
	for _, one := range listed {
		state := "healthy"
		if one.Cordoned {
			state = "cordoned"
		}
		id := one.Node + "/" + one.UUID
		want := consoleDevice{ID: id, Node: one.Node, UUID: one.UUID, Kind: one.Kind, Model: one.Model, Pool: one.Pool,
			State: state, Memory: one.Memory, Limits: one.Allocated, Compute: float64(one.Cores) / 10, Tenants: one.Tenants}
		if byID[id] != want {
			return fmt.Errorf("%+v is shown, %+v is listed", byID[id], want)
		}
		sum := nodes[one.Node]
		nodes[one.Node] = consoleNode{Node: one.Node, State: "ready", Devices: sum.Devices + 1, Healthy: sum.Healthy + 1,
			Memory: sum.Memory + one.Memory, Limits: sum.Limits + one.Allocated, Compute: sum.Compute + want.Compute,
			Shares: sum.Shares + one.Tenants}
		allocated += one.Allocated
	}
	// 3 pods of 1, 2 and 3 GiB, 2 of 20,000 MiB, and a whole device.
	if want := uint64(6*1024+2*20000+harness.DeviceMemoryMiB) << 20; allocated != want {
		return fmt.Errorf("%d bytes are given, %d were requested", allocated, want)
	}
	rowsOfNodes, err := rows[consoleNode](s, "nodes")
	if err != nil {
		return err
	}
	for _, one := range rowsOfNodes {
		if one != nodes[one.Node] {
			return fmt.Errorf("node %+v is shown, %+v is listed", one, nodes[one.Node])
		}
	}
	if len(rowsOfNodes) != len(nodes) {
		return fmt.Errorf("%d nodes are shown, %d are listed", len(rowsOfNodes), len(nodes))
	}
	return nil
}

// listedCluster is all rows of `divvy ls --cluster`: shares, and pods that wait.
func (s *consoleSession) listedCluster() (shares, waiting []listedShare, err error) {
	var all []listedShare
	if _, err := s.env.RunDivvy(&all, "ls", "--cluster", "-A", "-o", "json"); err != nil {
		return nil, nil, err
	}
	for _, one := range all {
		if one.Container == "" {
			waiting = append(waiting, one)
		} else {
			shares = append(shares, one)
		}
	}
	return shares, waiting, nil
}

func (s *consoleSession) sharesAgree() error {
	listed, _, err := s.listedCluster()
	if err != nil {
		return err
	}
	shown, err := rows[consoleShare](s, "shares")
	if err != nil {
		return err
	}
	line := func(pod, container, device string, memory uint64, cores int) string {
		return fmt.Sprintf("%s/%s on %s: %d bytes, %d permille", pod, container, device, memory, cores)
	}
	var want, got []string
	for _, one := range listed {
		want = append(want, line(one.Namespace+"/"+one.Pod, one.Container, one.Node+"/"+one.Uuid, one.Memory, one.Cores))
	}
	for _, one := range shown {
		sum := uint64(0)
		for _, part := range one.Devices {
			got = append(got, line(one.Namespace+"/"+one.Pod, one.Container, part.ID, part.Limit, permille(part.Cores)))
			sum += part.Limit
		}
		if one.ID != one.Name+"/"+one.Container || one.Name != one.Namespace+"/"+one.Pod || sum != one.Limit ||
			one.State != "pending" || one.Team != consoleTeam || one.Image != "registry.invalid/none" {
			return fmt.Errorf("a share is %+v", one)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(got) != 6 || !slices.Equal(want, got) {
		return fmt.Errorf("shown are\n%s\nlisted are\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return nil
}

func (s *consoleSession) waitingAgree() error {
	_, listed, err := s.listedCluster()
	if err != nil {
		return err
	}
	shown, err := rows[consoleWaiting](s, "waiting")
	if err != nil {
		return err
	}
	kinds, counts := map[string]string{}, map[string]int{}
	for _, one := range shown {
		name, ours := strings.CutPrefix(one.ID, s.env.Namespace+"/")
		if !ours || one.Reason == "" || one.Position == 0 || one.Team != consoleTeam {
			return fmt.Errorf("a waiting pod is %+v", one)
		}
		kinds[name] = one.Kind
		counts[one.Kind]++
	}
	if !maps.Equal(kinds, consoleWaits) {
		return fmt.Errorf("the kinds are %v; expected are %v: %+v", kinds, consoleWaits, shown)
	}
	for _, one := range listed {
		delete(kinds, one.Pod)
	}
	if len(listed) != len(consoleWaits) || len(kinds) != 0 {
		return fmt.Errorf("divvy ls lists %+v; not listed are %v", listed, kinds)
	}
	var overview struct {
		Waiting   int
		NeverFit  int            `json:"never_fit"`
		Kinds     map[string]int `json:"waiting_kinds"`
		NodeCount int            `json:"nodes"`
	}
	if err := s.get(&overview, "overview"); err != nil {
		return err
	}
	never := counts["never-fits"]
	if !maps.Equal(overview.Kinds, counts) || overview.Waiting != len(shown)-never || overview.NeverFit != never ||
		overview.NodeCount != harness.NodeCount {
		return fmt.Errorf("the overview is %+v; the list has %v", overview, counts)
	}
	return nil
}

func (s *consoleSession) workloadsAgree() error {
	shown, err := rows[consoleGroup](s, "workloads")
	if err != nil {
		return err
	}
	byID := map[string]consoleGroup{}
	for _, one := range shown {
		byID[strings.TrimPrefix(one.ID, s.env.Namespace+"/")] = one
	}
	web := byID["Deployment/web"]
	if web.Kind != "Deployment" || web.Name != "web" || web.Pods != 2 || web.Shares != 2 || web.Waiting != 0 ||
		web.Limits != 2*20000<<20 || web.Compute != 50 || web.Models != "llama-8b" ||
		web.Images != "registry.invalid/none" || web.Team != consoleTeam {
		return fmt.Errorf("the Deployment is %+v", web)
	}
	for name := range consoleWaits {
		if one := byID["Pod/"+name]; one.Waiting != 1 || one.Shares != 0 || one.Pods != 1 {
			return fmt.Errorf("%s is %+v", name, one)
		}
	}
	// The Deployment, four pods that are bound, and those that wait.
	if want := 1 + 4 + len(consoleWaits); len(shown) != want {
		return fmt.Errorf("%d workloads instead of %d: %+v", len(shown), want, shown)
	}
	return nil
}

func (s *consoleSession) teamsAgree() error {
	teams, err := rows[consoleGroup](s, "teams")
	if err != nil {
		return err
	}
	want := uint64(6*1024+2*20000+harness.DeviceMemoryMiB) << 20
	if len(teams) != 1 || teams[0].Name != consoleTeam || teams[0].Shares != 6 ||
		teams[0].Waiting != len(consoleWaits) || teams[0].Limits != want ||
		!slices.Equal(teams[0].Namespaces, []string{s.env.Namespace}) {
		return fmt.Errorf("the teams are %+v", teams)
	}
	return nil
}

func (s *consoleSession) modelsAgree() error {
	models, err := rows[consoleModel](s, "models")
	if err != nil {
		return err
	}
	if len(models) != 1 || models[0].Name != "llama-8b" || models[0].Shares != 2 ||
		models[0].Source != "label divvy.dev/model" || models[0].Limits != 2*20000<<20 ||
		!slices.Equal(models[0].Images, []string{"registry.invalid/none"}) ||
		!slices.Equal(models[0].Namespaces, []string{s.env.Namespace}) {
		return fmt.Errorf("the models are %+v", models)
	}
	return nil
}

type consoleQueue struct {
	Name    string
	Running int
	Pending int
	Fault   string
	Limit   []struct {
		Model   string
		Devices *int64 `json:"devices_milli"`
		Memory  *int64 `json:"memory_bytes"`
	}
	Waiting []struct {
		Reason  string
		Pods    int
		Example string
	}
}

func (s *consoleSession) queueAgrees(name string) error {
	status, err := s.env.QueueStatus(name)
	if err != nil {
		return err
	}
	shown, err := rows[consoleQueue](s, "queues")
	if err != nil {
		return err
	}
	at := slices.IndexFunc(shown, func(one consoleQueue) bool { return one.Name == name })
	if at < 0 {
		return fmt.Errorf("the queues are %+v", shown)
	}
	one := shown[at]
	if one.Running != 1 || one.Pending != 1 || one.Running != status.Running || one.Fault != status.Fault ||
		len(one.Limit) != 1 || one.Limit[0].Model != "*" || one.Limit[0].Devices == nil ||
		*one.Limit[0].Devices != 1000 || one.Limit[0].Memory != nil {
		return fmt.Errorf("the queue is %+v; its status is %+v", one, status)
	}
	if len(one.Waiting) != 1 || len(status.Waiting) != 1 || one.Waiting[0].Reason != status.Waiting[0].Reason ||
		one.Waiting[0].Example != s.env.Namespace+"/queued" {
		return fmt.Errorf("the queue says %+v; its status is %+v", one.Waiting, status.Waiting)
	}
	return nil
}
