package deviceplugin

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestReadiness(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-a-name-is-said-once-the-kubelet-knows-it",
			Requirement: "an agent that was killed is followed by one that serves more names, while the kubelet is busy: who asks by " +
				"one of these is not sent there, to be turned away for good, until the kubelet knows it; then he gets his share",
			Run: saidOnceKnown})
}

const servedKey = "divvy.dev/served-resources"

// publishTime is several times as long as an agent takes to write into its node, and a scheduler to read it.
const publishTime = 5 * time.Second

// servedNames is what the node says.
func servedNames(env *harness.Env) ([]string, error) {
	node, err := env.Client.CoreV1().Nodes().Get(env.Ctx, harness.KubeletNode, meta.GetOptions{})
	if err != nil {
		return nil, err
	}
	return strings.Split(node.Annotations[servedKey], ","), nil
}

// serves waits until the node says that name.
func serves(env *harness.Env, name string) error {
	return env.WaitFor("the node serves "+name, func() error {
		names, err := servedNames(env)
		if err == nil && !slices.Contains(names, name) {
			err = fmt.Errorf("it serves %v; %s", names, env.Processes.Tail(harness.AgentProcess))
		}
		return err
	})
}

// servesOnly waits until the node says no other one.
func servesOnly(env *harness.Env, name string) error {
	return env.WaitFor("the node serves "+name+" only", func() error {
		names, err := servedNames(env)
		if err == nil && (len(names) != 1 || names[0] != name) {
			err = fmt.Errorf("it serves %v; %s", names, env.Processes.Tail(harness.AgentProcess))
		}
		return err
	})
}

// agentUnready waits until an agent says that it is not ready for that reason.
func agentUnready(env *harness.Env, reason string) error {
	return env.WaitFor("an agent waits: "+reason, func() error {
		reply, err := http.Get("http://" + harness.AgentMetrics + "/readyz")
		if err != nil {
			return err
		}
		defer reply.Body.Close()
		text, err := io.ReadAll(reply.Body)
		if err == nil && (reply.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text), reason)) {
			err = fmt.Errorf("it answers %s: %s", reply.Status, text)
		}
		return err
	})
}

// unplacedFor: for so long it is bound to no node, and the node does not say that name.
func unplacedFor(env *harness.Env, pod, name string, long time.Duration) error {
	for until := time.Now().Add(long); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		p, err := env.Get(pod)
		if err != nil {
			return err
		}
		if p.Spec.NodeName != "" {
			return fmt.Errorf("%s is on %s, whose kubelet has not heard of %s", pod, p.Spec.NodeName, name)
		}
		if names, err := servedNames(env); err != nil || slices.Contains(names, name) {
			return errors.Join(err, fmt.Errorf("the node says that it serves %v", names))
		}
	}
	return nil
}

func saidOnceKnown(env *harness.Env) (err error) {
	record, uuids, err := env.NodeAndDevices()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agentIsThere(env, record.Build)) }()
	if err := env.RestartAgentWithOwnName(record.Build); err != nil {
		return err
	}
	if err := servesOnly(env, harness.OwnResource); err != nil {
		return err
	}
	if _, err := env.Create(by("nvidia.com/gpu", "early", uuids[0], "2000")); err != nil {
		return err
	}
	if _, err := env.WaitRefused("early"); err != nil {
		return err
	}
	if err := successorUnregistered(env, record.Build); err != nil {
		return err
	}
	said, err := env.WaitResult("early", 0)
	if err == nil {
		err = said.Limited(2000 << 20)
	}
	return errors.Join(err, serves(env, "nvidia.com/gpu"), serves(env, modelName), serves(env, harness.OwnResource))
}

// successorUnregistered: an agent that serves all names comes after one that was killed; the kubelet, which is stopped,
// has no registration of it yet.
func successorUnregistered(env *harness.Env, build string) (err error) {
	kubelet, known := env.Processes.Find("kubelet")
	if !known {
		return errors.New("there is no kubelet")
	}
	if err := env.KillProcess(harness.AgentProcess); err != nil {
		return err
	}
	if err := syscall.Kill(kubelet.Pid, syscall.SIGSTOP); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, syscall.Kill(kubelet.Pid, syscall.SIGCONT)) }()
	if err := env.RunAgent(build); err != nil {
		return err
	}
	if err := agentUnready(env, "the kubelet does not know"); err != nil {
		return err
	}
	return unplacedFor(env, "early", "nvidia.com/gpu", publishTime)
}
