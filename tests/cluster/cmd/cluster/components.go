package main

import (
	"context"
	"fmt"
	"os"

	"divvy.dev/tests/cluster/harness"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// A component is one of the programs of Kubernetes. Each runs as a process of its own: feature
// gates, metrics and the handlers of signals are global to a process.
type component func() int

var components = map[string]component{
	"etcd":                    runEtcd,
	"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int { return cli.Run(controllers.NewControllerManagerCommand()) },
	"kube-scheduler":          runScheduler,
	"kubelet":                 func() int { return cli.Run(kubelet.NewKubeletCommand(context.Background())) },
	"kubectl":                 runKubectl,
	harness.HostNameComponent: harness.RunWithHostName,
}

// It has one plugin more than others, which runs only where a configuration names it.
func runScheduler() int {
	return cli.Run(scheduler.NewSchedulerCommand(scheduler.WithPlugin(pluginTimerName, newPluginTimer)))
}

func runKubectl() int {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
	return 0
}

// runComponent does not return if `name` is a component.
func runComponent(name string, args []string) {
	run, known := components[name]
	if !known {
		return
	}
	os.Args = append([]string{name}, args...)
	code := run()
	if code != 0 {
		fmt.Fprintf(os.Stderr, "%s: ended with %d\n", name, code)
	}
	os.Exit(code)
}
