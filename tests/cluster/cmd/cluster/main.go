// Cluster is a Kubernetes control plane on one machine: etcd, apiserver, controller manager,
// scheduler and kubectl in one program, on loopback, with certificates of its own.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

const usage = `usage: cluster up|check|down|status [--dir DIR]
       cluster bench|bench-node ...
       cluster hami-plugin ...
       cluster etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubelet|kubectl ...

  up      start etcd, apiserver, controller manager and scheduler, and return when pods can be
          made; leaves DIR/kubeconfig, DIR/audit.log, DIR/bin/kubectl
          --nodes-from FILE    then make these nodes (a List as JSON; - for standard input)
          --install DIVVY      then run that program as deploy/ has it
          --deploy DIR         where the manifests are [deploy/kubernetes]
          --kubelet BUILD      then make this machine a node, with containerd, a kubelet and the
                               agent that CMake built there, on simulated cards (as root)
          --containerd DIR     with it: containerd 2 and its shim [the machine's own, 1.6]
          --helper             with it: an agent without rights, and its helper
          --bare               with it: without the agent, for one that comes in a pod
  check   run the checks of what Divvy promises on a cluster of 3x8 with Divvy
          --json FILE          one record per check
          --only TEXT,...      those whose names hold one of these
          --except NAME,...    not these
          --before BUILD       of an earlier commit, for the check of an upgrade [it is skipped]
          --volcano PROGRAM    Volcano's scheduler, with its kinds in volcano-crds beside it [its check is skipped]
          --nvidia PLUGIN      NVIDIA's device plugin, for the check of a migration [it is skipped]
          --kills N            how often those that kill do so [as fits into a minute]
  down    end them and remove everything but DIR/bin
  status  who runs; exit status 1 if not all do
  bench   what Divvy costs pods, on a cluster of its own (bench --help)
  bench-node   what the agent costs a node and its pods, likewise (bench-node --help)
`

func fail(code int, err error) {
	fmt.Fprintf(os.Stderr, "cluster: %v\n", err)
	os.Exit(code)
}

func main() {
	runComponent(filepath.Base(os.Args[0]), os.Args[1:])
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	runComponent(os.Args[1], os.Args[2:])
	command := os.Args[1]
	if command == "bench" {
		os.Exit(benchCommand(os.Args[2:]))
	}
	if command == "hami-plugin" {
		os.Exit(hamiPluginCommand(os.Args[2:]))
	}
	if command == "bench-node" {
		os.Exit(benchNodeCommand(os.Args[2:]))
	}
	flags := flag.NewFlagSet("cluster "+command, flag.ExitOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	dir := flags.String("dir", "build/cluster", "")
	nodes := flags.String("nodes-from", "", "")
	divvy := flags.String("install", "", "")
	deploy := flags.String("deploy", "deploy/kubernetes", "")
	kubelet := flags.String("kubelet", "", "")
	runtime := flags.String("containerd", "", "")
	bare := flags.Bool("bare", false, "")
	helper := flags.Bool("helper", false, "")
	file := flags.String("json", "", "")
	only := flags.String("only", "", "")
	except := flags.String("except", "", "")
	before := flags.String("before", "", "")
	nvidia := flags.String("nvidia", "", "")
	volcano := flags.String("volcano", "", "")
	kills := flags.Int("kills", 0, "")
	_ = flags.Parse(os.Args[2:])
	if flags.NArg() > 0 {
		fail(2, fmt.Errorf("%q is not expected", flags.Arg(0)))
	}
	c, err := open(*dir)
	if err != nil {
		fail(1, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	switch command {
	case "up":
		err = c.command(ctx, *nodes, *divvy, *deploy, *kubelet, *runtime, *bare, *helper)
	case "check":
		if err = c.readPorts(); err == nil {
			i := installation{cluster: c, divvy: *divvy, deploy: *deploy, kills: *kills, own: true,
				before: *before, nvidia: *nvidia, volcano: *volcano}
			err = i.runChecks(ctx, *only, *except, *file)
		}
	case "down":
		err = c.down(false)
	case "status":
		err = c.status()
	default:
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err != nil {
		fail(1, err)
	}
}

func open(dir string) (*cluster, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return &cluster{dir: absolute, self: self, processes: processes{absolute}}, nil
}

// command is `up`: of a cluster that is up only the nodes are made.
func (c *cluster) command(ctx context.Context, nodes, divvy, deploy, kubelet, runtime string, bare, helper bool) error {
	began := time.Now()
	if c.running() != nil {
		// What an earlier one left that was ended from outside.
		if err := c.down(false); err != nil {
			return err
		}
		if err := c.up(ctx); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "cluster: ready after %.1f s\n", time.Since(began).Seconds())
	}
	if nodes != "" {
		if err := c.makeNodes(ctx, nodes); err != nil {
			return err
		}
	}
	if divvy != "" {
		if err := c.installNow(ctx, divvy, deploy); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "cluster: Divvy places pods after %.1f s\n", time.Since(began).Seconds())
	}
	if kubelet != "" {
		if err := c.addNode(ctx, kubelet, runtime, deploy, bare, helper); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "cluster: node %s is ready after %.1f s\n", kubeletNode,
			time.Since(began).Seconds())
	}
	return nil
}

func (c *cluster) installNow(ctx context.Context, divvy, deploy string) error {
	if err := c.readPorts(); err != nil {
		return err
	}
	i := installation{cluster: c, divvy: divvy, deploy: deploy, own: true}
	if err := i.remove(); err != nil {
		return err
	}
	return i.install(ctx)
}

// parts are what always runs; Divvy's are there where it was installed.
var parts = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}

func (c *cluster) running() error {
	missing := 0
	for _, name := range parts {
		if one, known := c.processes.find(name); !known || !one.alive() {
			missing++
		}
	}
	if missing > 0 {
		return fmt.Errorf("%d of %d do not run in %s", missing, len(parts), c.dir)
	}
	return nil
}

func (c *cluster) status() error {
	names := append(append([]string{}, parts...), divvyParts()...)
	if _, err := c.readNodeRecord(); err == nil {
		names = append(names, nodeParts...)
	}
	for _, name := range names {
		one, known := c.processes.find(name)
		switch {
		case known && one.alive():
			fmt.Printf("%-24s %d\n", name, one.Pid)
		case known:
			fmt.Printf("%-24s has ended: %s\n", name, c.processes.log(name))
		default:
			fmt.Printf("%-24s was not started\n", name)
		}
	}
	return c.running()
}
