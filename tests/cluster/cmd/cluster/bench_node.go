package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
)

const nodeUsage = `usage: cluster bench-node --build BUILD [--json FILE] [--quick] [--check] [--helper] [--dir DIR] [--deploy DIR]

  What the agent costs a node with a kubelet and its pods (as root), on a cluster of its own that is
  taken away again: 8 simulated cards, 10 pods on each that all compute.
  --json FILE   the figures, as JSON
  --quick       shows that it works, not how good it is
  --check       exit status 1 when a bar is missed
  --helper      by an agent without rights and its helper, as the chart has it; both count
`

// A nodePlan is how much is measured.
type nodePlan struct {
	starts   int           // pods with a share, and as many without
	tenants  int           // that contend
	contend  time.Duration // for so long
	scrapes  int           // meanwhile
	kubelets int           // that begin anew
}

var (
	fullNodePlan  = nodePlan{40, 80, time.Minute, 200, 10}
	quickNodePlan = nodePlan{3, 8, 3 * time.Second, 5, 1}
)

// The bars of the issue.
const (
	mostAllocateMs   = 50
	mostOverheadMs   = 200
	mostRegisterS    = 5
	mostAgentMiB     = 64
	mostAgentPercent = 2
	mostScrapeMs     = 20
)

// The machine that the bars are said of, and how many pods may share a card.
const (
	benchCards     = "sim-h100x8"
	tenantsPerCard = 10
)

// A nodeBench acts in a namespace of its own.
type nodeBench struct {
	*harness.Env
	plan   nodePlan
	parts  []string // of Divvy's, by which process
	log    *harness.Audit
	report report
}

func benchNodeCommand(args []string) int {
	flags := flag.NewFlagSet("cluster bench-node", flag.ExitOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, nodeUsage) }
	dir := flags.String("dir", "build/bench-node", "")
	build := flags.String("build", "build/release", "")
	deploy := flags.String("deploy", "deploy/kubernetes", "")
	file := flags.String("json", "", "")
	quick := flags.Bool("quick", false, "")
	check := flags.Bool("check", false, "")
	helper := flags.Bool("helper", false, "")
	_ = flags.Parse(args)
	if flags.NArg() > 0 {
		fail(2, fmt.Errorf("%q is not expected", flags.Arg(0)))
	}
	c, err := openHere(*dir)
	if err != nil {
		fail(1, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	harness.SimulatedDevices = benchCards
	b := &nodeBench{plan: fullNodePlan, parts: []string{harness.AgentProcess}}
	if *helper {
		b.parts = append(b.parts, harness.HelperProcess)
	}
	if *quick {
		b.plan = quickNodePlan
	}
	b.report.details = map[string]any{}
	err = b.measure(ctx, c, *build, *deploy)
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

// measure leaves nothing behind, but the logs of what failed.
func (b *nodeBench) measure(ctx context.Context, c *harness.Cluster, build, deploy string) (err error) {
	if err = c.Down(false); err != nil {
		return err
	}
	defer func() {
		ended := c.Down(err != nil)
		if ended == nil && err == nil {
			ended = os.RemoveAll(c.Dir)
		}
		err = errors.Join(err, ended)
	}()
	divvy := build + "/bin/divvy"
	if err = bringUp(c, ctx, "", divvy, deploy, build, "", false, len(b.parts) > 1); err != nil {
		return err
	}
	client, err := c.Client()
	if err != nil {
		return err
	}
	i := &harness.Installation{Cluster: c, Divvy: divvy, Deploy: deploy, OwnCertificate: true}
	b.Env = &harness.Env{Installation: i, Ctx: ctx, Client: client, Namespace: benchSpace, Note: ""}
	node, err := c.KubeletNode(ctx, core.NodeReady)
	if err != nil {
		return err
	}
	b.report.driver = fmt.Sprintf("kubelet %s, %s, all of %s on this machine; %s", node.Status.NodeInfo.KubeletVersion,
		node.Status.NodeInfo.ContainerRuntimeVersion, harness.SimulatedDevices, strings.Join(b.parts, " and "))
	if b.log, err = harness.OpenAudit(c.Path("audit.log")); err != nil {
		return err
	}
	defer b.log.Close()
	return b.InNamespace(func(*harness.Env) error {
		for _, step := range []func() error{b.measureStarts, b.measureContention, b.measureKubelets} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
}
