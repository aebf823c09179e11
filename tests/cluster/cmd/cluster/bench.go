package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sort"
	"syscall"
	"time"

	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const benchUsage = `usage: cluster bench --divvy PROGRAM --fake-nodes PROGRAM [--json FILE] [--quick] [--check]
                     [--only rebuild] [--dir DIR] [--deploy DIR]

  What Divvy costs pods on a real control plane, which is made for it and taken away again.
  --json FILE   the figures, as JSON
  --quick       shows that it works, not how good it is
  --check       exit status 1 when a bar is missed
  --only rebuild   only how soon Divvy knows a full cluster after its start
`

const (
	benchSpace   = "bench"
	benchDevices = 8
	benchSlots   = 10
	countName    = "nvidia.com/gpu"
	perSecond    = 200 // queries of the loads
)

// A benchPlan is how much is measured.
type benchPlan struct {
	sizes  []int // nodes, ascending
	runs   int   // of each size, with and without
	pods   int   // of one run
	warm   int   // before them
	held   int   // pods that hold devices already while queries are answered
	starts int   // with them
	load   time.Duration
}

var (
	fullPlan  = benchPlan{[]int{1000, 5000}, 3, 2000, 200, 50_000, 3, 30 * time.Second}
	quickPlan = benchPlan{[]int{1000, 5000}, 1, 300, 50, 5000, 1, 4 * time.Second}
)

// The bars of the issue.
const (
	mostFilterMs   = 5
	mostWebhookMs  = 5
	leastRatio     = 0.95
	leastRatio5000 = 0.8
	mostAddedMs    = 0.3
	mostWrites     = 1
	mostMiB        = 1536
	mostRebuild    = 2
)

// A bench is a control plane without its own scheduler and controllers: what runs beside what is
// measured would be measured, too.
type bench struct {
	*harness.Installation
	ctx    context.Context
	client *kubernetes.Clientset
	plan   benchPlan
	only   string // "rebuild"; empty: all
	fake   string
	second int // port of its kube-scheduler
	nodes  []core.Node
	report report
}

func benchCommand(args []string) int {
	flags := flag.NewFlagSet("cluster bench", flag.ExitOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, benchUsage) }
	dir := flags.String("dir", "build/bench-cluster", "")
	divvy := flags.String("divvy", "build/release/bin/divvy", "")
	fake := flags.String("fake-nodes", "build/release/tests/fake_nodes", "")
	deploy := flags.String("deploy", "deploy/kubernetes", "")
	file := flags.String("json", "", "")
	quick := flags.Bool("quick", false, "")
	check := flags.Bool("check", false, "")
	only := flags.String("only", "", "")
	_ = flags.Parse(args)
	if flags.NArg() > 0 {
		fail(2, fmt.Errorf("%q is not expected", flags.Arg(0)))
	}
	if *only != "" && *only != "rebuild" {
		fail(2, fmt.Errorf("--only %q is not known; accepted is rebuild", *only))
	}
	c, err := openHere(*dir)
	if err != nil {
		fail(1, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	b := &bench{Installation: &harness.Installation{Cluster: c, Divvy: *divvy, Deploy: *deploy}, ctx: ctx,
		plan: fullPlan, only: *only, fake: *fake}
	if *quick {
		b.plan = quickPlan
	}
	b.report.details = map[string]any{}
	err = b.measure()
	if len(b.report.measurements) > 0 {
		fmt.Print(b.report.table())
	}
	if err == nil && *file != "" {
		err = b.report.write(*file)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "cluster: %v\n", err)
		return 1
	}
	if *check && !b.report.passed() {
		return 1
	}
	return 0
}

func printProgress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// measure leaves nothing behind, but the logs of what failed.
func (b *bench) measure() (err error) {
	if err = b.Down(false); err != nil {
		return err
	}
	defer func() {
		ended := b.Down(err != nil)
		if ended == nil && err == nil {
			ended = os.RemoveAll(b.Dir)
		}
		err = errors.Join(err, ended)
	}()
	if err = b.ground(); err != nil {
		return err
	}
	b.report.driver = "Kubernetes " + b.version() + ", all parts on this machine"
	made := 0
	for _, size := range b.plan.sizes {
		if err = b.makeUpTo(made, size); err != nil {
			return err
		}
		made = size
		if b.only != "" {
			continue
		}
		if err = b.measureSize(size); err != nil {
			return err
		}
	}
	return b.measureQueries()
}

func (b *bench) version() string {
	found, err := b.client.Discovery().ServerVersion()
	if err != nil {
		return "of unknown version"
	}
	return found.GitVersion
}

// ground is the control plane, a namespace, and Divvy's account.
func (b *bench) ground() error {
	most := b.plan.sizes[len(b.plan.sizes)-1]
	if err := b.describeNodes(most); err != nil {
		return err
	}
	printProgress("starting a control plane in %s", b.Dir)
	if err := b.Up(b.ctx); err != nil {
		return err
	}
	var err error
	if b.client, err = b.Cluster.Client(); err != nil {
		return err
	}
	spaces := b.client.CoreV1().Namespaces()
	_, err = spaces.Create(b.ctx, &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: benchSpace}},
		meta.CreateOptions{})
	if err != nil {
		return err
	}
	err = b.Processes.Wait(b.ctx, "kube-controller-manager", func() error {
		_, err := b.client.CoreV1().ServiceAccounts(benchSpace).Get(b.ctx, "default", meta.GetOptions{})
		return err
	})
	if err != nil {
		return err
	}
	if err := b.PrepareInstall(b.ctx, b.client); err != nil {
		return err
	}
	server := harness.LocalURL("https", b.Cluster.Ports.Apiserver)
	if err := b.WriteAccount(b.ctx, b.client, harness.DefaultReplica, server); err != nil {
		return err
	}
	for _, name := range []string{"kube-scheduler", "kube-controller-manager"} {
		if one, known := b.Processes.Find(name); known {
			if err := one.End(harness.StopBound); err != nil {
				return err
			}
		}
	}
	return nil
}

// describeNodes: as a device plugin would have them, so that they are placed on without Divvy, too.
func (b *bench) describeNodes(count int) error {
	text, err := exec.CommandContext(b.ctx, b.fake, fmt.Sprintf("%dx%d", count, benchDevices)).Output()
	if err != nil {
		return fmt.Errorf("%s: %w", b.fake, err)
	}
	var list core.NodeList
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("%s: %w", b.fake, err)
	}
	b.nodes = list.Items
	devices := *resource.NewQuantity(benchDevices*benchSlots, resource.DecimalSI)
	for at := range b.nodes {
		b.nodes[at].Status.Capacity[countName] = devices
		b.nodes[at].Status.Allocatable[countName] = devices
	}
	return nil
}

func (b *bench) makeUpTo(from, to int) error {
	printProgress("making nodes up to %d", to)
	return harness.Concurrently(to-from, func(at int) error {
		_, err := b.client.CoreV1().Nodes().Create(b.ctx, &b.nodes[from+at], meta.CreateOptions{})
		return err
	})
}

func median(values []float64) float64 {
	ordered := append([]float64{}, values...)
	sort.Float64s(ordered)
	if len(ordered)%2 == 1 {
		return ordered[len(ordered)/2]
	}
	return (ordered[len(ordered)/2-1] + ordered[len(ordered)/2]) / 2
}
