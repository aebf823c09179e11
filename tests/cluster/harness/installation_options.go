package harness

import (
	"fmt"
	"strings"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func WithAnnotationMap(p *core.Pod, notes map[string]string) *core.Pod {
	p.Annotations = notes
	return p
}

// CreateNode makes a node with one device of 80 GiB of each of these models.
func (env *Env) CreateNode(name string, models ...string) error {
	return env.CreateNodeWithAnnotations(name, nil, models...)
}

// CreateNodeWithAnnotations is the same of a node that has more annotations from its first moment on.
func (env *Env) CreateNodeWithAnnotations(name string, notes map[string]string, models ...string) error {
	var devices []string
	for at, model := range models {
		devices = append(devices, fmt.Sprintf(`{"id":"GPU-%s-%d","index":%d,"count":10,"devmem":%d,`+
			`"devcore":100,"type":%q,"mode":"hami-core","health":true}`, name, at, at, DeviceMemoryMiB, model))
	}
	room := core.ResourceList{"cpu": resource.MustParse("64"), "memory": resource.MustParse("256Gi"),
		"pods": resource.MustParse("250")}
	_, err := env.Client.CoreV1().Nodes().Create(env.Ctx, &core.Node{
		ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{core.LabelHostname: name},
			Annotations: Merge(map[string]string{
				"hami.io/node-nvidia-register": "[" + strings.Join(devices, ",") + "]"}, notes)},
		Status: core.NodeStatus{Capacity: room, Allocatable: room,
			Conditions: []core.NodeCondition{{Type: core.NodeReady, Status: core.ConditionTrue}}}},
		meta.CreateOptions{})
	return err
}

// DeleteNode takes a node away, whatever came before.
func (env *Env) DeleteNode(name string, err *error) {
	gone := env.Client.CoreV1().Nodes().Delete(env.Ctx, name, meta.DeleteOptions{})
	if *err == nil {
		*err = gone
	}
}

// DeviceOf is the one device that the pod was given.
func (env *Env) DeviceOf(name string) (string, error) {
	p, err := env.WaitBound(name)
	if err != nil {
		return "", err
	}
	shares, err := SharesOf(p)
	if err != nil {
		return "", err
	}
	if len(shares) != 1 || len(shares[0]) != 1 {
		return "", fmt.Errorf("%s was given %v", name, shares)
	}
	return shares[0][0].UUID, nil
}
