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

	"divvy.dev/tests/cluster/harness"
)

const usage = `usage: cluster up|down|status [--dir DIR]
       cluster check [--only TEXT,...] [--json FILE] ...
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
  check   run the checks of what Divvy promises (check --help)
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
	if command == "check" {
		os.Exit(checkCommand(os.Args[2:]))
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
	_ = flags.Parse(os.Args[2:])
	if flags.NArg() > 0 {
		fail(2, fmt.Errorf("%q is not expected", flags.Arg(0)))
	}
	c, err := openHere(*dir)
	if err != nil {
		fail(1, err)
	}
	ctx, stop := notifyContext()
	defer stop()
	switch command {
	case "up":
		err = bringUp(c, ctx, *nodes, *divvy, *deploy, *kubelet, *runtime, *bare, *helper)
	case "down":
		err = c.Down(false)
	case "status":
		err = status(c)
	default:
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err != nil {
		fail(1, err)
	}
}

// notifyContext ends when this program is asked to.
func notifyContext() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
}

// openHere is the cluster in that folder, of this program.
func openHere(dir string) (*harness.Cluster, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return harness.Open(dir, self)
}

// bringUp is `up`: of a cluster that is up only the nodes are made.
func bringUp(c *harness.Cluster, ctx context.Context, nodes, divvy, deploy, kubelet, runtime string, bare,
	helper bool) error {
	began := time.Now()
	if c.Running() != nil {
		// What an earlier one left that was ended from outside.
		if err := c.Down(false); err != nil {
			return err
		}
		if err := c.Up(ctx); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "cluster: ready after %.1f s\n", time.Since(began).Seconds())
	}
	if nodes != "" {
		if err := c.CreateNodes(ctx, nodes); err != nil {
			return err
		}
	}
	if divvy != "" {
		if err := installNow(c, ctx, divvy, deploy); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "cluster: Divvy places pods after %.1f s\n", time.Since(began).Seconds())
	}
	if kubelet != "" {
		if err := c.AddNode(ctx, kubelet, runtime, deploy, bare, helper); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "cluster: node %s is ready after %.1f s\n", harness.KubeletNode,
			time.Since(began).Seconds())
	}
	return nil
}

func installNow(c *harness.Cluster, ctx context.Context, divvy, deploy string) error {
	if err := c.ReadPorts(); err != nil {
		return err
	}
	i := harness.Installation{Cluster: c, Divvy: divvy, Deploy: deploy, OwnCertificate: true}
	if err := i.Remove(); err != nil {
		return err
	}
	return i.Install(ctx)
}

func status(c *harness.Cluster) error {
	names := append(append([]string{}, harness.ControlPlaneProcesses...), harness.DivvyProcesses()...)
	if _, err := c.ReadNodeRecord(); err == nil {
		names = append(names, harness.NodeProcesses...)
	}
	for _, name := range names {
		one, known := c.Processes.Find(name)
		switch {
		case known && one.Alive():
			fmt.Printf("%-24s %d\n", name, one.Pid)
		case known:
			fmt.Printf("%-24s has ended: %s\n", name, c.Processes.Log(name))
		default:
			fmt.Printf("%-24s was not started\n", name)
		}
	}
	return c.Running()
}
