package shares

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func TestEnvironment(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-asks-for-nothing",
			Requirement: "a pod that asks for nothing sees no card and has nothing of Divvy's; one that names cards in its " +
				"environment is warned of, stands in the audit log, and divvy doctor finds it",
			Run: nothingForNothing})
}

// warned keeps what the API server says beside its answers.
type warned struct {
	sync.Mutex
	texts []string
}

func (h *warned) HandleWarningHeader(_ int, _ string, text string) {
	h.Lock()
	defer h.Unlock()
	h.texts = append(h.texts, text)
}

func (h *warned) said() string {
	h.Lock()
	defer h.Unlock()
	return strings.Join(h.texts, "; ")
}

// createWithWarnings makes the pod, and says what the API server warned of.
func createWithWarnings(env *harness.Env, p *core.Pod) (string, error) {
	config, err := clientcmd.BuildConfigFromFlags("", env.Path("kubeconfig"))
	if err != nil {
		return "", err
	}
	warnings := &warned{}
	config.WarningHandler = warnings
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", err
	}
	_, err = client.CoreV1().Pods(env.Namespace).Create(env.Ctx, p, meta.CreateOptions{})
	return warnings.said(), err
}

const visibleDevices = "NVIDIA_VISIBLE_DEVICES"

// pastShares is what divvy doctor thinks of these pods' environments: by pod.
func pastShares(env *harness.Env) (map[string]string, error) {
	var said struct {
		Findings []struct{ ID, State, Subject, Seen string }
	}
	if _, err := env.RunDivvy(&said, "doctor", "--cluster", "--only", "pods-past-shares", "-o", "json"); err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, one := range said.Findings {
		if one.ID == "pods-past-shares" {
			found[one.Subject] = one.State + ": " + one.Seen
		}
	}
	if len(found) == 0 {
		return nil, errors.New("divvy doctor says nothing of it")
	}
	return found, nil
}

// fails is the exit status and last word of a container that ends badly.
func fails(env *harness.Env, name string) (status int32, err error) {
	err = env.WaitFor(name+" ends", func() error {
		p, err := env.Get(name)
		if err != nil {
			return err
		}
		for _, one := range p.Status.ContainerStatuses {
			if over := one.State.Terminated; over != nil {
				status = over.ExitCode
				return nil
			}
		}
		return fmt.Errorf("it is %s", p.Status.Phase)
	})
	return status, err
}

func nothingForNothing(env *harness.Env) error {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	// There is no driver in it: the first thing that it does fails.
	plain := harness.ProbePod("plain", nil)
	said, err := createWithWarnings(env, plain)
	if err != nil {
		return err
	}
	if strings.Contains(said, visibleDevices) {
		return fmt.Errorf("control: who names nothing is warned: %s", said)
	}
	status, err := fails(env, "plain")
	if err == nil && status != 1 {
		err = fmt.Errorf("who asks for nothing ended with %d", status)
	}
	if err != nil {
		return err
	}
	if err := hasNothing(env); err != nil {
		return err
	}
	naming := harness.ProbePod("naming", nil)
	naming.Spec.Containers[0].Command = []string{"/pause"}
	naming.Spec.Containers[0].Image = harness.PauseImage
	naming.Spec.Containers[0].Env = []core.EnvVar{{Name: visibleDevices, Value: "all"}}
	if said, err = createWithWarnings(env, naming); err != nil {
		return err
	}
	if !strings.Contains(said, visibleDevices) || !strings.Contains(said, "probe") {
		return fmt.Errorf("who names cards is warned: %q", said)
	}
	env.Note = "warned: " + said
	if err := env.WaitRunning("naming"); err != nil {
		return err
	}
	found, err := pastShares(env)
	if err != nil {
		return err
	}
	for name, expected := range map[string]bool{"naming": true, "working": false} {
		if state, known := found[env.Namespace+"/"+name]; known != expected || (known && !strings.HasPrefix(state,
			"warning")) {
			return fmt.Errorf("divvy doctor says %v", found)
		}
	}
	return audited(env, "naming")
}

// hasNothing: a pod that asks for nothing has none of our files; one that asks has.
func hasNothing(env *harness.Env) error {
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	// `bare` brings its driver itself, so that it comes to where it can be looked at.
	asks := harness.ProbePod("working", harness.OneShare("2000", "10"))
	for pages, p := range map[int]*core.Pod{0: env.UnmanagedPod("bare", record.Build), 5: asks} {
		h, err := env.StartWorker(p, "swapper")
		if err != nil {
			return err
		}
		pid, err := h.PID()
		if err != nil {
			return err
		}
		found, err := harness.TenantPagesOf(pid)
		if err == nil && len(found) != pages {
			err = fmt.Errorf("%s has %v", p.Name, found)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// audited: the audit log has that the pod names cards.
func audited(env *harness.Env, name string) error {
	return env.WaitFor("the audit log has it", func() error {
		text, err := os.ReadFile(env.Path("audit.log"))
		if err != nil {
			return err
		}
		for _, line := range strings.Split(string(text), "\n") {
			if strings.Contains(line, `"`+env.Namespace+`"`) && strings.Contains(line, `"`+name+`"`) &&
				strings.Contains(line, "validation.policy.admission.k8s.io/validation_failure") {
				return nil
			}
		}
		return errors.New("it has not")
	})
}
