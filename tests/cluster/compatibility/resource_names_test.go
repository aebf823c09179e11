package compatibility

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestResourceNames(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "divvys-own-words-are-understood",
			Requirement: "the native dialect: every option of divvy run has a pod equivalent", Run: ownWords, Parallel: true},
		checks.Check{Name: "words-that-are-none-are-refused-at-the-door",
			Requirement: "the webhook validates what only agents read, from the one list", Run: wrongWords, Parallel: true},
		checks.Check{Name: "a-models-resource-is-that-model",
			Requirement: "model-level resources: the same as selecting the model; one card is one entry in the books",
			Run:         modelResources},
		checks.Check{Name: "a-file's-model-resources-are-shown-and-are-one-card",
			Requirement: "--model-resources: model-level names in a node's capacity and requestable beside the " +
				"others; one card under several names is one entry in the books", Run: modelResourcesOfFile})
}

func ownWords(env *harness.Env) error {
	asked := harness.WithAnnotationMap(harness.Pod("own", harness.Container("main", harness.Limits{"divvy.dev/gpu": "2",
		"divvy.dev/gpumem":   "8Gi",
		"divvy.dev/gpucores": "30"}), harness.Container("side", harness.Limits{"nvidia.com/gpu": "1",
		"nvidia.com/gpumem": "1000", "nvidia.com/priority": "0"})),
		map[string]string{"use.divvy.dev/guaranteed": "0", "main.use.divvy.dev/guaranteed": "4Gi",
			"use.divvy.dev/on-pressure": "wait", "use.divvy.dev/pressure-wait": "10s",
			"main.use.divvy.dev/cores-policy": "cap", "main.use.divvy.dev/priority": "low",
			"use.divvy.dev/idle-reclaim": "1h", "use.divvy.dev/model": "h100"})
	if _, err := env.Create(asked); err != nil {
		return err
	}
	p, err := env.WaitBound("own")
	if err != nil {
		return err
	}
	shares, err := harness.SharesOf(p)
	if err != nil {
		return err
	}
	if len(shares) != 2 || len(shares[0]) != 2 || len(shares[1]) != 1 ||
		shares[0][0].Memory != "8192" || shares[0][0].Cores != "30" {
		return fmt.Errorf("it was given %v", shares)
	}
	for key, want := range map[string]string{"main.use.divvy.dev/guaranteed": "4Gi",
		"main.use.divvy.dev/priority": "low", "side.use.divvy.dev/priority": "high"} {
		if p.Annotations[key] != want {
			return fmt.Errorf("%s is %q, not %q", key, p.Annotations[key], want)
		}
	}
	other := harness.WithAnnotationMap(harness.Pod("other", harness.Container("c", harness.Limits{"divvy.dev/gpu": "1",
		"divvy.dev/gpumem": "1Gi"})),
		map[string]string{"use.divvy.dev/not-model": "h100"})
	if _, err := env.Create(other); err != nil {
		return err
	}
	_, err = env.WaitRefused("other")
	return err
}

func wrongWords(env *harness.Env) error {
	for key, value := range map[string]string{"use.divvy.dev/guarantee": "4Gi",
		"use.divvy.dev/on-pressure": "hope", "d.use.divvy.dev/priority": "low",
		"use.divvy.dev/idle-stop": "soon", "use.divvy.dev/guaranteed": "9Gi"} {
		_, err := env.Create(harness.WithAnnotationMap(harness.Pod("wrong", harness.Container("c",
			harness.Limits{"divvy.dev/gpu": "1",
				"divvy.dev/gpumem": "8Gi"})), map[string]string{key: value}))
		if err == nil {
			return fmt.Errorf("%s=%s was admitted", key, value)
		}
		if !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "accepted") {
			return fmt.Errorf("%s=%s: %w", key, value, err)
		}
	}
	return nil
}

// An H200 is no H20, and what an H20 has is given once, whatever it is called.
func modelResources(env *harness.Env) (err error) {
	node := env.Namespace + "-models"
	if err = env.CreateNode(node, "NVIDIA H200", "NVIDIA H20"); err != nil {
		return err
	}
	defer env.DeleteNode(node, &err)
	h20 := "GPU-" + node + "-1"
	byUuid := map[string]string{"nvidia.com/use-gpuuuid": h20}
	half := fmt.Sprint(harness.DeviceMemoryMiB / 2)
	for _, p := range []*core.Pod{
		harness.Pod("by-model", harness.Container("c", harness.Limits{"divvy.dev/gpu-h20": "1", "divvy.dev/gpumem": half})),
		harness.WithAnnotationMap(harness.Pod("by-uuid", harness.Container("c", harness.Limits{"nvidia.com/gpu": "1",
			"nvidia.com/gpumem": half})), byUuid)} {
		if _, err = env.Create(p); err != nil {
			return err
		}
		got, err := env.DeviceOf(p.Name)
		if err != nil {
			return err
		}
		if got != h20 {
			return fmt.Errorf("%s is on %s, not on %s", p.Name, got, h20)
		}
	}
	count, memory, err := env.Allocations()
	if err != nil {
		return err
	}
	if len(count) != 1 || count[h20] != 2 || memory[h20] != harness.DeviceMemoryMiB {
		return fmt.Errorf("booked are %v, %v", count, memory)
	}
	for name, limits := range map[string]harness.Limits{"full": {"divvy.dev/gpu-h20": "1", "nvidia.com/gpumem": "1"},
		"not-there": {"divvy.dev/gpu-l20": "1"}} {
		if _, err = env.Create(harness.Pod(name, harness.Container("c", limits))); err != nil {
			return err
		}
		if _, err = env.WaitRefused(name); err != nil {
			return err
		}
	}
	if _, err = env.Create(harness.Pod("h200", harness.Container("c",
		harness.Limits{"divvy.dev/gpu-h200": "1"}))); err != nil {
		return err
	}
	got, err := env.DeviceOf("h200")
	if err == nil && got != "GPU-"+node+"-0" {
		err = fmt.Errorf("h200 is on %s", got)
	}
	return err
}

const modelsFile = "model_resources:\n- {kind: NVIDIA, resource: example.com/vgpu-number-h20, models: [H20]}\n"

func modelResourcesOfFile(env *harness.Env) error {
	file := env.Path("models.yaml")
	if err := os.WriteFile(file, []byte(modelsFile), 0o644); err != nil {
		return err
	}
	defer os.Remove(file)
	return env.WithResourceNames("example.com/vgpu-number-h20", []string{"--model-resources", file},
		func() error { return oneCardOfManyNames(env) })
}

// What its node's plugin shows of it is 1, under either name: who may have it is for the books to
// say, and there are more than one.
func oneCardOfManyNames(env *harness.Env) (err error) {
	node := env.Namespace + "-names"
	if err = env.CreateNode(node, "NVIDIA H20"); err != nil {
		return err
	}
	defer env.DeleteNode(node, &err)
	names := []string{"example.com/vgpu-number-h20", "divvy.dev/gpu-h20", "divvy.dev/gpu"}
	shown := map[string]string{}
	for _, name := range names {
		shown[name] = "1"
	}
	text, err := json.Marshal(map[string]any{
		"status": map[string]any{"capacity": shown, "allocatable": shown}})
	if err != nil {
		return err
	}
	seen, err := env.Client.CoreV1().Nodes().Patch(env.Ctx, node, types.MergePatchType, text, meta.PatchOptions{},
		"status")
	if err != nil {
		return err
	}
	for _, name := range names {
		if amount := seen.Status.Capacity[core.ResourceName(name)]; amount.Value() != 1 {
			return fmt.Errorf("%s is %v in the node's capacity", name, amount)
		}
	}
	const pods = 4
	card, memory := "GPU-"+node+"-0", fmt.Sprint(harness.DeviceMemoryMiB/pods)
	for at := range pods {
		limits := harness.Limits{names[at%len(names)]: "1", "divvy.dev/gpumem": memory}
		p := harness.Pod(fmt.Sprintf("p-%d", at), harness.Container("c", limits))
		p.Spec.NodeSelector = map[string]string{core.LabelHostname: node}
		if _, err = env.Create(p); err != nil {
			return err
		}
		got, err := env.DeviceOf(p.Name)
		if err != nil {
			return err
		}
		if got != card {
			return fmt.Errorf("%s is on %s, not on %s", p.Name, got, card)
		}
	}
	count, booked, err := env.Allocations()
	if err != nil {
		return err
	}
	if len(count) != 1 || count[card] != pods || booked[card] != pods*(harness.DeviceMemoryMiB/pods) {
		return fmt.Errorf("booked are %v, %v", count, booked)
	}
	for at, name := range names[:2] {
		full := fmt.Sprintf("full-%d", at)
		if _, err = env.Create(harness.Pod(full, harness.Container("c", harness.Limits{name: "1",
			"divvy.dev/gpumem": "1Gi"}))); err != nil {
			return err
		}
		if _, err = env.WaitRefused(full); err != nil {
			return err
		}
	}
	return nil
}
