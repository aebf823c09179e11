package devices

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNics(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-nics-are-registered-and-a-pod-gets-the-card-beside-one",
			Requirement: "an RDMA NIC of the kernel's files stands in the node, and nic=NAME is the card beside it; " +
				"where it is not known such a pod waits",
			Run: nicsRegistered})
}

const (
	nicsAnnotation = "divvy.dev/nics"
	nicName        = "mlx5_0"
	farCard        = 3 // beside the NIC; nobody would take it first otherwise
)

// writeSysfs is the kernel's files of the simulated cards, which are at 17:00.0, 28:00.0 ..., each
// below a host bridge of its own, and of a NIC on one switch with one of them.
func writeSysfs(root string, cards int) error {
	device := func(path string) error {
		whole := filepath.Join(root, "devices", path)
		if err := os.MkdirAll(whole, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(whole, "numa_node"), []byte("0\n"), 0o644); err != nil {
			return err
		}
		return os.Symlink(whole, filepath.Join(root, "bus", "pci", "devices", filepath.Base(path)))
	}
	// Whoever reads there need not be root.
	if err := os.Chmod(root, 0o755); err != nil {
		return err
	}
	beside := filepath.Join(root, "class", "infiniband", nicName)
	for _, dir := range []string{filepath.Join(root, "bus", "pci", "devices"), beside} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for at := range cards {
		bus := 0x17 + 0x11*at
		bridge := fmt.Sprintf("pci0000:%02x/0000:%02x:01.0/0000:%02x:00.0", bus-3, bus-3, bus-2)
		if err := device(fmt.Sprintf("%s/0000:%02x:00.0/0000:%02x:00.0", bridge, bus-1, bus)); err != nil {
			return err
		}
		if at != farCard {
			continue
		}
		path := fmt.Sprintf("%s/0000:%02x:01.0/0000:%02x:00.0", bridge, bus-1, bus+1)
		if err := device(path); err != nil {
			return err
		}
		if err := os.Symlink(filepath.Join(root, "devices", path), filepath.Join(beside, "device")); err != nil {
			return err
		}
	}
	return nil
}

func nearNic(name string) *core.Pod {
	p := harness.ProbePod(name, harness.OneShare("2000", "10"))
	p.Annotations = map[string]string{"use.divvy.dev/device-policy": "nic=" + nicName}
	return p
}

func nicsRegistered(env *harness.Env) (err error) {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	if err := nicForgotten(env); err != nil {
		return err
	}
	node, err := env.Client.CoreV1().Nodes().Get(env.Ctx, harness.KubeletNode, meta.GetOptions{})
	if err != nil {
		return err
	}
	cards, err := harness.RegisteredDevices(node)
	if err != nil {
		return err
	}
	if _, err := env.Create(nearNic("too-early")); err != nil {
		return err
	}
	if _, err := env.WaitRefusedFor("too-early", "NIC"); err != nil {
		return err
	}
	if err := env.Delete("too-early"); err != nil {
		return err
	}
	root, err := os.MkdirTemp(env.Dir, "sysfs")
	if err != nil {
		return err
	}
	defer func() {
		_ = os.Unsetenv("DIVVY_SYSFS")
		err = errors.Join(err, os.RemoveAll(root), env.RestartAgent(record.Build), nicForgotten(env))
	}()
	if err := writeSysfs(root, len(cards)); err != nil {
		return err
	}
	if err := os.Setenv("DIVVY_SYSFS", root); err != nil {
		return err
	}
	if err := env.RestartAgent(record.Build); err != nil {
		return err
	}
	if err := nicSaid(env, cards); err != nil {
		return err
	}
	return besideNic(env, cards)
}

// nicForgotten: simulated cards are on no bus of this machine, and what an agent before said of
// another's is taken back.
func nicForgotten(env *harness.Env) error {
	return env.WaitFor("no NIC stands in the node", func() error {
		node, err := env.Client.CoreV1().Nodes().Get(env.Ctx, harness.KubeletNode, meta.GetOptions{})
		if err != nil {
			return err
		}
		if said := node.Annotations[nicsAnnotation]; said != "" {
			return fmt.Errorf("%s is %s", nicsAnnotation, said)
		}
		return nil
	})
}

// nicSaid: the node says how near each card is, by our documented form.
func nicSaid(env *harness.Env, cards []harness.RegisteredDevice) error {
	return env.WaitFor("the NIC stands in the node", func() error {
		node, err := env.Client.CoreV1().Nodes().Get(env.Ctx, harness.KubeletNode, meta.GetOptions{})
		if err != nil {
			return err
		}
		var all []struct {
			Name      string
			Distances map[string]int
		}
		if err := json.Unmarshal([]byte(node.Annotations[nicsAnnotation]), &all); err != nil {
			return fmt.Errorf("%s is %q", nicsAnnotation, node.Annotations[nicsAnnotation])
		}
		if len(all) != 1 || all[0].Name != nicName || len(all[0].Distances) != len(cards) {
			return fmt.Errorf("there is one, %s, and said is %+v", nicName, all)
		}
		// One switch is between it and one card; the others are below other host bridges.
		for at, one := range cards {
			if distance := all[0].Distances[one.ID]; (at == farCard) != (distance == 1) || (at != farCard && distance < 4) {
				return fmt.Errorf("card %d is said to be %d away", at, distance)
			}
		}
		return nil
	})
}

func besideNic(env *harness.Env, cards []harness.RegisteredDevice) error {
	// In this order: where the one beside the NIC was there is room, of which the scheduler hears a little later.
	for _, p := range []*core.Pod{harness.ProbePod("anywhere", harness.OneShare("2000", "10")), nearNic("beside")} {
		name := p.Name
		if _, err := env.Create(p); err != nil {
			return err
		}
		if _, err := env.WaitResult(name, 0); err != nil {
			return err
		}
		made, err := env.Get(name)
		if err != nil {
			return err
		}
		given, err := harness.SharesOf(made)
		if err != nil {
			return err
		}
		if on := given[0][0].UUID; (on == cards[farCard].ID) != (name == "beside") {
			return fmt.Errorf("%s is on %s; the card beside the NIC is %s", name, on, cards[farCard].ID)
		}
		if err := env.Delete(name); err != nil {
			return err
		}
	}
	return nil
}
