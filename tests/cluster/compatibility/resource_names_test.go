package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func init() {
	checks = append(checks,
		check{"divvys-own-words-are-understood",
			"the native dialect: every option of divvy run has a pod equivalent", ownWords},
		check{"words-that-are-none-are-refused-at-the-door",
			"the webhook validates what only agents read, from the one list", wrongWords},
		check{"a-models-resource-is-that-model",
			"model-level resources: the same as selecting the model; one card is one entry in the books",
			modelResources},
		check{"a-file's-model-resources-are-shown-and-are-one-card",
			"--model-resources: model-level names in a node's capacity and requestable beside the " +
				"others; one card under several names is one entry in the books", modelResourcesOfFile})
}

func noted(p *core.Pod, notes map[string]string) *core.Pod {
	p.Annotations = notes
	return p
}

func ownWords(w *world) error {
	asked := noted(pod("own", container("main", asks{"divvy.dev/gpu": "2", "divvy.dev/gpumem": "8Gi",
		"divvy.dev/gpucores": "30"}), container("side", asks{"nvidia.com/gpu": "1",
		"nvidia.com/gpumem": "1000", "nvidia.com/priority": "0"})),
		map[string]string{"use.divvy.dev/guaranteed": "0", "main.use.divvy.dev/guaranteed": "4Gi",
			"use.divvy.dev/on-pressure": "wait", "use.divvy.dev/pressure-wait": "10s",
			"main.use.divvy.dev/cores-policy": "cap", "main.use.divvy.dev/priority": "low",
			"use.divvy.dev/idle-reclaim": "1h", "use.divvy.dev/model": "h100"})
	if _, err := w.create(asked); err != nil {
		return err
	}
	p, err := w.bound("own")
	if err != nil {
		return err
	}
	shares, err := sharesOf(p)
	if err != nil {
		return err
	}
	if len(shares) != 2 || len(shares[0]) != 2 || len(shares[1]) != 1 ||
		shares[0][0].memory != "8192" || shares[0][0].cores != "30" {
		return fmt.Errorf("it was given %v", shares)
	}
	for key, want := range map[string]string{"main.use.divvy.dev/guaranteed": "4Gi",
		"main.use.divvy.dev/priority": "low", "side.use.divvy.dev/priority": "high"} {
		if p.Annotations[key] != want {
			return fmt.Errorf("%s is %q, not %q", key, p.Annotations[key], want)
		}
	}
	other := noted(pod("other", container("c", asks{"divvy.dev/gpu": "1", "divvy.dev/gpumem": "1Gi"})),
		map[string]string{"use.divvy.dev/not-model": "h100"})
	if _, err := w.create(other); err != nil {
		return err
	}
	_, err = w.refused("other")
	return err
}

func wrongWords(w *world) error {
	for key, value := range map[string]string{"use.divvy.dev/guarantee": "4Gi",
		"use.divvy.dev/on-pressure": "hope", "d.use.divvy.dev/priority": "low",
		"use.divvy.dev/idle-stop": "soon", "use.divvy.dev/guaranteed": "9Gi"} {
		_, err := w.create(noted(pod("wrong", container("c", asks{"divvy.dev/gpu": "1",
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

// cards makes a node with one device of 80 GiB of each of these models.
func (w *world) cards(name string, models ...string) error {
	return w.cardsNoted(name, nil, models...)
}

// cardsNoted is the same of a node that has more annotations from its first moment on.
func (w *world) cardsNoted(name string, notes map[string]string, models ...string) error {
	var devices []string
	for at, model := range models {
		devices = append(devices, fmt.Sprintf(`{"id":"GPU-%s-%d","index":%d,"count":10,"devmem":%d,`+
			`"devcore":100,"type":%q,"mode":"hami-core","health":true}`, name, at, at, checkMemoryMi, model))
	}
	room := core.ResourceList{"cpu": resource.MustParse("64"), "memory": resource.MustParse("256Gi"),
		"pods": resource.MustParse("250")}
	_, err := w.client.CoreV1().Nodes().Create(w.ctx, &core.Node{
		ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{core.LabelHostname: name},
			Annotations: and(map[string]string{
				"hami.io/node-nvidia-register": "[" + strings.Join(devices, ",") + "]"}, notes)},
		Status: core.NodeStatus{Capacity: room, Allocatable: room,
			Conditions: []core.NodeCondition{{Type: core.NodeReady, Status: core.ConditionTrue}}}},
		meta.CreateOptions{})
	return err
}

// without takes a node away, whatever came before.
func (w *world) without(name string, err *error) {
	gone := w.client.CoreV1().Nodes().Delete(w.ctx, name, meta.DeleteOptions{})
	if *err == nil {
		*err = gone
	}
}

// onCard is the one device that the pod was given.
func (w *world) onCard(name string) (string, error) {
	p, err := w.bound(name)
	if err != nil {
		return "", err
	}
	shares, err := sharesOf(p)
	if err != nil {
		return "", err
	}
	if len(shares) != 1 || len(shares[0]) != 1 {
		return "", fmt.Errorf("%s was given %v", name, shares)
	}
	return shares[0][0].uuid, nil
}

// An H200 is no H20, and what an H20 has is given once, whatever it is called.
func modelResources(w *world) (err error) {
	node := w.space + "-models"
	if err = w.cards(node, "NVIDIA H200", "NVIDIA H20"); err != nil {
		return err
	}
	defer w.without(node, &err)
	h20 := "GPU-" + node + "-1"
	byUuid := map[string]string{"nvidia.com/use-gpuuuid": h20}
	half := fmt.Sprint(checkMemoryMi / 2)
	for _, p := range []*core.Pod{
		pod("by-model", container("c", asks{"divvy.dev/gpu-h20": "1", "divvy.dev/gpumem": half})),
		noted(pod("by-uuid", container("c", asks{"nvidia.com/gpu": "1", "nvidia.com/gpumem": half})), byUuid)} {
		if _, err = w.create(p); err != nil {
			return err
		}
		got, err := w.onCard(p.Name)
		if err != nil {
			return err
		}
		if got != h20 {
			return fmt.Errorf("%s is on %s, not on %s", p.Name, got, h20)
		}
	}
	count, memory, err := w.bookings()
	if err != nil {
		return err
	}
	if len(count) != 1 || count[h20] != 2 || memory[h20] != checkMemoryMi {
		return fmt.Errorf("booked are %v, %v", count, memory)
	}
	for name, limits := range map[string]asks{"full": {"divvy.dev/gpu-h20": "1", "nvidia.com/gpumem": "1"},
		"not-there": {"divvy.dev/gpu-l20": "1"}} {
		if _, err = w.create(pod(name, container("c", limits))); err != nil {
			return err
		}
		if _, err = w.refused(name); err != nil {
			return err
		}
	}
	if _, err = w.create(pod("h200", container("c", asks{"divvy.dev/gpu-h200": "1"}))); err != nil {
		return err
	}
	got, err := w.onCard("h200")
	if err == nil && got != "GPU-"+node+"-0" {
		err = fmt.Errorf("h200 is on %s", got)
	}
	return err
}

const modelsFile = "model_resources:\n- {kind: NVIDIA, resource: example.com/vgpu-number-h20, models: [H20]}\n"

func modelResourcesOfFile(w *world) error {
	file := w.path("models.yaml")
	if err := os.WriteFile(file, []byte(modelsFile), 0o644); err != nil {
		return err
	}
	defer os.Remove(file)
	return w.called("example.com/vgpu-number-h20", []string{"--model-resources", file}, w.oneCardOfManyNames)
}

// What its node's plugin shows of it is 1, under either name: who may have it is for the books to
// say, and there are more than one.
func (w *world) oneCardOfManyNames() (err error) {
	node := w.space + "-names"
	if err = w.cards(node, "NVIDIA H20"); err != nil {
		return err
	}
	defer w.without(node, &err)
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
	seen, err := w.client.CoreV1().Nodes().Patch(w.ctx, node, types.MergePatchType, text, meta.PatchOptions{},
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
	card, memory := "GPU-"+node+"-0", fmt.Sprint(checkMemoryMi/pods)
	for at := range pods {
		limits := asks{names[at%len(names)]: "1", "divvy.dev/gpumem": memory}
		p := pod(fmt.Sprintf("p-%d", at), container("c", limits))
		p.Spec.NodeSelector = map[string]string{core.LabelHostname: node}
		if _, err = w.create(p); err != nil {
			return err
		}
		got, err := w.onCard(p.Name)
		if err != nil {
			return err
		}
		if got != card {
			return fmt.Errorf("%s is on %s, not on %s", p.Name, got, card)
		}
	}
	count, booked, err := w.bookings()
	if err != nil {
		return err
	}
	if len(count) != 1 || count[card] != pods || booked[card] != pods*(checkMemoryMi/pods) {
		return fmt.Errorf("booked are %v, %v", count, booked)
	}
	for at, name := range names[:2] {
		full := fmt.Sprintf("full-%d", at)
		if _, err = w.create(pod(full, container("c", asks{name: "1", "divvy.dev/gpumem": "1Gi"}))); err != nil {
			return err
		}
		if _, err = w.refused(full); err != nil {
			return err
		}
	}
	return nil
}
