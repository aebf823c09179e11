package shares

import (
	"fmt"
	"os"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestExcludedDevices(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-an-excluded-card-stays-with-who-has-it",
			Requirement: "a card is excluded under a pod: it is neither registered nor counted, who is there keeps its share",
			Run:         excludedUnder})
}

func excludedUnder(env *harness.Env) (err error) {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	node, err := env.Client.CoreV1().Nodes().Get(env.Ctx, harness.KubeletNode, meta.GetOptions{})
	if err != nil {
		return err
	}
	devices, err := harness.RegisteredDevices(node)
	if err != nil {
		return err
	}
	var all, others []string
	// Who fell off the bus under another check is not there when an agent begins anew.
	for _, one := range harness.HealthyDevices(devices) {
		all = append(all, one.ID)
	}
	closed := all[1]
	others = append(append(others, all[0]), all[2:]...)
	capacity := node.Status.Capacity["nvidia.com/gpu"]
	each := capacity.Value() / int64(len(devices))
	tenant := harness.PodOnDevice("tenant", closed)
	tenant.Spec.Containers[0].Args = []string{"work"}
	if _, err := env.Create(tenant); err != nil {
		return err
	}
	if err := env.WaitRunning("tenant"); err != nil {
		return err
	}
	settings := env.Path("node-settings.yaml")
	text := "settings:\n- nodes: ['*']\n  per_device: 50\n- nodes: ['kubelet-?']\n  per_device: 6\n" +
		"  announce_numa: true\n" +
		"  exclude: {uuids: [" + closed + "]}\n"
	if err := os.WriteFile(settings, []byte(text), 0o644); err != nil {
		return err
	}
	defer func() {
		// As the other checks want it.
		if again := env.RestartAgent(record.Build); err == nil {
			err = again
		}
		if again := env.WaitDevices(all, each*int64(len(all))); err == nil {
			err = again
		}
		_ = os.Remove(settings)
	}()
	if err := env.RestartAgent(record.Build, "--node-settings", settings); err != nil {
		return err
	}
	if err := env.WaitDevices(others, 6*int64(len(others))); err != nil {
		return err
	}
	why, err := closedToOthers(env, closed, others[0])
	env.Note = fmt.Sprintf("%d units of a card before; who asks for it is told %q", each, why)
	return err
}

// closedToOthers: who asks for that card waits (why, is said), who is elsewhere runs, and "tenant",
// who has something of it, has not noticed.
func closedToOthers(env *harness.Env, closed, other string) (string, error) {
	if _, err := env.Create(harness.PodOnDevice("late", closed)); err != nil {
		return "", err
	}
	why, err := env.WaitRefused("late")
	if err != nil {
		return "", err
	}
	elsewhere := harness.PodOnDevice("elsewhere", other)
	elsewhere.Spec.Containers[0].Args = []string{"work"}
	if _, err := env.Create(elsewhere); err != nil {
		return "", err
	}
	if err := env.WaitRunning("elsewhere"); err != nil {
		return "", err
	}
	// All cards of this machine are at its first node; it was not told when the other one came.
	for name, node := range map[string]string{"elsewhere": "0", "tenant": "-1"} {
		noted, err := env.KubeletDevices(name)
		if err != nil {
			return "", err
		}
		if len(noted) != 1 || len(noted[node]) != 1 {
			return "", fmt.Errorf("units of %s by NUMA node: %v, and not one at %s", name, noted, node)
		}
	}
	p, err := env.Get("tenant")
	if err == nil && (p.Status.Phase != core.PodRunning || p.Status.ContainerStatuses[0].RestartCount != 0) {
		err = fmt.Errorf("who was there is %s", p.Status.Phase)
	}
	return why, err
}
