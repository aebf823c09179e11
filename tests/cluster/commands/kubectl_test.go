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
	rbac "k8s.io/api/rbac/v1"
	"k8s.io/client-go/tools/clientcmd"
)

func TestKubectl(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubectl-divvy-takes-kubectls-flags",
			Requirement: "kubectl divvy is divvy with kubectl's flags: namespaces, --as, --token, KUBECONFIG of several files",
			Run:         byKubectl})
}

// A plugin is divvy where the cluster's kubectl finds it.
type plugin struct {
	w      *harness.Env
	folder string
	config string // KUBECONFIG
}

// runsPlugin is for the administrator; the second is to be called at the end.
func runsPlugin(env *harness.Env) (*plugin, func(), error) {
	folder, err := os.MkdirTemp("", "divvy-plugin-")
	if err != nil {
		return nil, nil, err
	}
	away := func() { _ = os.RemoveAll(folder) }
	whole, err := filepath.Abs(env.Divvy)
	for _, name := range []string{"kubectl-divvy", "kubectl_complete-divvy"} {
		if err == nil {
			err = os.Symlink(whole, filepath.Join(folder, name))
		}
	}
	if err != nil {
		away()
		return nil, nil, err
	}
	return &plugin{env, folder, env.Path("kubeconfig")}, away, nil
}

// run is what `kubectl ARGS` prints; what it says on stderr is in the error, where it is one.
func (p *plugin) run(args ...string) (string, error) {
	command := exec.CommandContext(p.w.Ctx, p.w.Path("bin", "kubectl"), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+p.config,
		"PATH="+p.folder+":"+os.Getenv("PATH"))
	said, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, exit.Stderr)
	}
	return string(said), err
}

// read is the answer as JSON.
func (p *plugin) read(into any, args ...string) error {
	said, err := p.run(append(append([]string{"divvy"}, args...), "-o", "json")...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(said), into); err != nil {
		return fmt.Errorf("kubectl divvy %s: %w: %s", strings.Join(args, " "), err, said)
	}
	return nil
}

// lists is that these pods are listed, "NAMESPACE/NAME", in order, and no others.
func (p *plugin) lists(want []string, args ...string) error {
	var shares []listedShare
	if err := p.read(&shares, append([]string{"ls"}, args...)...); err != nil {
		return err
	}
	var pods []string
	for _, share := range shares {
		pods = append(pods, share.Namespace+"/"+share.Pod)
	}
	slices.Sort(pods)
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(pods, want) {
		return fmt.Errorf("kubectl divvy ls %s lists %q; %q was expected", strings.Join(args, " "), pods, want)
	}
	return nil
}

// refuses is that the API server says no to cordoning, and that nothing came of it.
func (p *plugin) refuses(node, device, because string, args ...string) error {
	said, err := p.run(append([]string{"divvy", "cordon", node + "/" + device}, args...)...)
	if err == nil || !strings.Contains(err.Error(), because) {
		return fmt.Errorf("cordon %s: %q was expected: %s %w", strings.Join(args, " "), because, said, err)
	}
	return p.w.WaitCordoned(node, device, false)
}

// cordons is that it is done, and undone again.
func (p *plugin) cordons(node, device string, args ...string) error {
	for _, what := range []string{"cordon", "uncordon"} {
		if _, err := p.run(append([]string{"divvy", what, node + "/" + device}, args...)...); err != nil {
			return err
		}
		if err := p.w.WaitCordoned(node, device, what == "cordon"); err != nil {
			return err
		}
	}
	return nil
}

func byKubectl(env *harness.Env) error {
	p, away, err := runsPlugin(env)
	if err != nil {
		return err
	}
	defer away()
	if err := someHoldAndOneWaits(env, 1); err != nil {
		return err
	}
	beside := *env
	beside.Namespace += "-beside"
	return beside.InNamespace(func(other *harness.Env) error {
		if err := someHoldAndOneWaits(other, 1); err != nil {
			return err
		}
		if err := p.inNamespaces(env.Namespace, other.Namespace); err != nil {
			return err
		}
		return p.asOthers()
	})
}

func (p *plugin) inNamespaces(one, other string) error {
	both := []string{one + "/p-0", one + "/waits", other + "/p-0", other + "/waits"}
	for _, err := range []error{
		p.lists(both, "-A"),
		p.lists(both, "-A", "-n", one),
		p.lists(both[:2], "-n", one),
		p.lists(both[2:], "--namespace="+other),
		p.lists(nil), // the context's, which is default
	} {
		if err != nil {
			return err
		}
	}
	var devices []listedDevice
	if err := p.read(&devices, "gpus"); err != nil {
		return err
	}
	if len(devices) != harness.NodeCount*harness.DevicesPerNode {
		return fmt.Errorf("kubectl divvy gpus lists %d devices", len(devices))
	}
	// kubectl asks the plugin itself what may come next.
	said, err := p.run("__complete", "divvy", "uncor")
	if err == nil && !strings.HasPrefix(said, "uncordon\t") {
		err = fmt.Errorf("uncor is completed by %q", said)
	}
	return err
}

// asOthers: what the administrator may do, others may not, and the API server knows them apart.
func (p *plugin) asOthers() error {
	env := p.w
	var devices []listedDevice
	if err := p.read(&devices, "gpus"); err != nil {
		return err
	}
	node, device := devices[0].Node, devices[0].Uuid
	file, away, err := env.CreateAccount("reader", []rbac.PolicyRule{{APIGroups: []string{""},
		Resources: []string{"nodes", "pods", "resourcequotas"}, Verbs: []string{"get", "list"}}})
	defer away()
	if err != nil {
		return err
	}
	config, err := clientcmd.LoadFromFile(file)
	if err != nil {
		return err
	}
	token := config.AuthInfos["account"].Token
	reader := "system:serviceaccount:" + env.Namespace + ":reader"
	const mayNotList = `User "nobody" cannot list resource "nodes"`
	mayNotPatch := `User "` + reader + `" cannot patch resource "nodes"`
	admin := p.config
	for _, try := range []func() error{
		func() error { return p.cordons(node, device) },
		func() error { return p.refuses(node, device, mayNotList, "--as", "nobody") },
		func() error { return p.refuses(node, device, mayNotPatch, "--as", reader) },
		func() error { return p.cordons(node, device, "--as", "nobody", "--as-group", "system:masters") },
		// The token counts, and not the certificate of the kubeconfig.
		func() error { return p.read(&devices, "gpus", "--token", token) },
		func() error { return p.refuses(node, device, mayNotPatch, "--token", token) },
		func() error { return p.refuses(node, device, "Unauthorized", "--token", "none") },
		// The first file's context is the one, and files that are not there say nothing.
		func() error {
			p.config = "/no/such:" + file + ":" + admin
			return p.refuses(node, device, mayNotPatch)
		},
		func() error {
			p.config = "/no/such:" + admin + ":" + file
			return p.cordons(node, device)
		},
	} {
		if err := try(); err != nil {
			return err
		}
	}
	return nil
}
