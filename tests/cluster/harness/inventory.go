package harness

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const NodeLockKey = "hami.io/mutex.lock"

func (env *Env) NodeLock(node string) (string, error) {
	found, err := env.Client.CoreV1().Nodes().Get(env.Ctx, node, meta.GetOptions{})
	if err != nil {
		return "", err
	}
	return found.Annotations[NodeLockKey], nil
}

// WithResourceNames runs a check while resources are called so: Divvy is told it, and what is printed by it is
// what the API server and kube-scheduler are told.
func (env *Env) WithResourceNames(counted string, words []string, run func() error) (err error) {
	folder := env.Path("renamed")
	if err := copyFolder(env.Deploy, folder); err != nil {
		return err
	}
	for print, name := range map[string]string{"config": "scheduler-config.yaml", "webhook": "webhook.yaml"} {
		args := append([]string{"scheduler", "--print", print}, words...)
		text, err := exec.Command(env.Divvy, args...).Output()
		if err != nil {
			return err
		}
		if err := os.WriteFile(folder+"/"+name, text, 0o644); err != nil {
			return err
		}
	}
	old := env.Deploy
	env.Deploy, env.resourceOptions, env.countResource = folder, words, counted
	defer func() {
		env.Deploy, env.resourceOptions, env.countResource = old, nil, ""
		if again := env.Reinstall(); err == nil {
			err = again
		}
	}()
	if err = env.Reinstall(); err != nil {
		return err
	}
	return run()
}

func copyFolder(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(from))
}

func (env *Env) WaitCordoned(node, device string, want bool) error {
	found, err := env.Client.CoreV1().Nodes().Get(env.Ctx, node, meta.GetOptions{})
	if err != nil {
		return err
	}
	list := strings.Split(found.Annotations["hami.io/device-cordon"], ",")
	if slices.Contains(list, device) != want {
		return fmt.Errorf("%s says that %q are cordoned; %s: %v was expected", node, list, device, want)
	}
	var devices []struct {
		Uuid     string
		Cordoned bool
	}
	if _, err := env.RunDivvy(&devices, "gpus", "--cluster", "--node", node, "-o", "json"); err != nil {
		return err
	}
	for _, one := range devices {
		if one.Cordoned != (want && one.Uuid == device) {
			return fmt.Errorf("of %s it is listed that it is cordoned: %v", one.Uuid, one.Cordoned)
		}
	}
	return nil
}

func (env *Env) CreateWaiting(p *core.Pod) error {
	if _, err := env.Create(p); err != nil {
		return err
	}
	_, err := env.WaitRefused(p.Name)
	return err
}

func Merge(some, more map[string]string) map[string]string {
	for key, value := range more {
		some[key] = value
	}
	return some
}
