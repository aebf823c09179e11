package compatibility

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A family is one vendor's devices on a node of its own, a pod that asks for some, and what its
// agent finds in the pod's annotations. Everything is written by its documented form.
type family struct {
	name        string
	annotations map[string]string // of the node
	capacity    harness.Limits    // likewise
	pod         harness.Limits
	notes       map[string]string // the pod's own annotations
	want        map[string]string // '*' is anything of one field; empty: not there
	limits      harness.Limits    // what the webhook made of the pod's
	env         map[string]string
}

func both(key, value string) map[string]string {
	return map[string]string{"hami.io/" + key + "-to-allocate": value, "hami.io/" + key + "-allocated": value}
}

const migDevice = `[{"id":"MIG-card","count":7,"devmem":40960,"devcore":100,"type":"NVIDIA A100-SXM4-40GB",` +
	`"mode":"mig","health":true,"migProfiles":[` +
	`{"name":"1g.5gb","memoryMB":4864,"core":15,"sliceCount":1,"placements":[{"size":1},{"start":1,"size":1}]},` +
	`{"name":"2g.10gb","memoryMB":9856,"core":29,"sliceCount":2,` +
	`"placements":[{"size":2},{"start":2,"size":2},{"start":4,"size":2}]}]}]`

var families = []family{
	{name: "nvidia-mig", annotations: map[string]string{"hami.io/node-nvidia-register": migDevice},
		pod:   harness.Limits{"nvidia.com/gpu": "1", "nvidia.com/gpumem": "8000"},
		notes: map[string]string{"nvidia.com/vgpu-mode": "mig"},
		want: harness.Merge(both("vgpu-devices", "MIG-card,NVIDIA,9856,29:;"), map[string]string{
			"hami.io/vgpu-mig-allocations": `[{"containerIndex":0,"deviceIndex":0,"gpuUUID":"MIG-card",` +
				`"profile":"2g.10gb","placement":{"start":*,"size":2}}]`})},
	{name: "ascend",
		annotations: map[string]string{"hami.io/node-register-Ascend910B3": `[{"id":"npu-0","count":4,` +
			`"devmem":65536,"devcore":20,"type":"Ascend910B3","health":true}]`},
		pod: harness.Limits{"huawei.com/Ascend910B3": "1", "huawei.com/Ascend910B3-memory": "2000"},
		want: harness.Merge(both("Ascend910B3-devices", "npu-0,Ascend910B3,16384,*:;"), map[string]string{
			"huawei.com/Ascend910B3": `[{"UUID":"npu-0","temp":"vir05_1c_16g","memory":16384}]`,
			"predicate-time":         "*"}),
		limits: harness.Limits{"huawei.com/Ascend910B3-memory": "16384"}},
	{name: "hygon",
		annotations: map[string]string{
			"hami.io/node-dcu-register": "DCU-a,4,65520,100,DCU-K100_AI,0,true,0,hami-core:"},
		pod:  harness.Limits{"hygon.com/dcunum": "1", "hygon.com/dcumem": "2000", "hygon.com/dcucores": "60"},
		want: both("dcu-devices", "DCU-a,DCU,2000,60:;")},
	{name: "iluvatar",
		annotations: map[string]string{"hami.io/node-BI-V150-register": "ILU-a,100,32768,100,BI-V150,0,true:" +
			"ILU-b,100,32768,100,BI-V150,0,true:"},
		pod:    harness.Limits{"iluvatar.ai/BI-V150-vgpu": "2"},
		want:   both("BI-V150-devices", "ILU-*,BI-V150,32768,100:ILU-*,BI-V150,32768,100:;"),
		limits: harness.Limits{"iluvatar.ai/BI-V150.vCore": "200"},
		env:    map[string]string{"SOL_CONTINER_NAME": "c"}},
	{name: "kunlun",
		annotations: map[string]string{"hami.io/node-register-xpu": `[{"id":"xpu-0","count":4,"devmem":98304,` +
			`"devcore":100,"type":"R300","health":true}]`},
		pod:  harness.Limits{"kunlunxin.com/vxpu": "1", "kunlunxin.com/vxpu-memory": "24576"},
		want: both("xpu-devices", "xpu-0,XPU,24576,25:;")},
	{name: "amd",
		annotations: map[string]string{"hami.io/node-amd-register": `[{"id":"amd-0","count":10,"devmem":196608,` +
			`"devcore":304,"type":"MI300X","health":true}]`},
		pod:  harness.Limits{"amd.com/gpu": "1", "amd.com/gpumem": "4096", "amd.com/gpucores": "25"},
		want: both("amd-devices", "amd-0,MI300X,4096,76:;")},
	{name: "vastai",
		annotations: map[string]string{"hami.io/node-va-register": `[{"id":"va-0","count":1,"devmem":131072,` +
			`"devcore":100,"type":"va16","health":true}]`},
		pod: harness.Limits{"vastaitech.com/va": "1"}, want: both("Vastai-devices", "va-0,Vastai,131072,100:;")},
	{name: "biren",
		annotations: map[string]string{"hami.io/node-biren-register": `[{"id":"br-0","count":1,"devmem":32768,` +
			`"devcore":100,"type":"BR104","health":true}]`},
		pod: harness.Limits{"birentech.com/gpu": "1"}, want: both("Biren-devices", "br-0,Biren,32768,100:;")},
	{name: "cambricon",
		capacity: harness.Limits{"cambricon.com/mlu.smlu.vcore": "100", "cambricon.com/mlu.smlu.vmemory": "96"},
		pod: harness.Limits{"cambricon.com/vmlu": "1", "cambricon.com/mlu.smlu.vmemory": "20",
			"cambricon.com/mlu.smlu.vcore": "10"},
		want: harness.Merge(both("cambricon-mlu-devices", "NODE-cambricon-mlu-0,MLU,5120,10:;"), map[string]string{
			"CAMBRICON_DSMLU_ASSIGNED": "false", "CAMBRICON_DSMLU_PROFILE": "0_10_20"})},
	{name: "mthreads", capacity: harness.Limits{"mthreads.com/sgpu-core": "32", "mthreads.com/sgpu-memory": "192"},
		pod: harness.Limits{"mthreads.com/vgpu": "2"},
		want: map[string]string{
			"hami.io/mthreads-vgpu-devices-allocated": "NODE-mthreads-0,Mthreads,49152,16:" +
				"NODE-mthreads-1,Mthreads,49152,16:;",
			"hami.io/mthreads-vgpu-devices-to-allocate": "",
			"mthreads.com/gpu-index":                    "0,1", "mthreads.com/predicate-node": "NODE",
			"mthreads.com/predicate-time": "*", "mthreads.com/request-gpu-num": "2"},
		limits: harness.Limits{"mthreads.com/sgpu-core": "32", "mthreads.com/sgpu-memory": "192"}},
	{name: "metax",
		annotations: map[string]string{"metax-tech.com/node-gpu-devices": `[{"uuid":"GPU-m0","model":"MXC500",` +
			`"totalDevCount":16,"totalCompute":100,"totalVRam":65536,"healthy":true}]`},
		pod: harness.Limits{"metax-tech.com/sgpu": "1", "metax-tech.com/vcore": "60", "metax-tech.com/vmemory": "4"},
		want: harness.Merge(both("metax-sgpu-devices", "GPU-m0,Metax-SGPU,4096,60:;"), map[string]string{
			"metax-tech.com/gpu-devices-allocated": `[[{"uuid":"GPU-m0","compute":60,"vRam":4096}]]`,
			"metax-tech.com/predicate-time":        "*", "metax-tech.com/sgpu-qos-policy": "best-effort"})},
	{name: "enflame",
		annotations: map[string]string{"enflame.com/gcu-drs-capacity": `{"devices":[{"index":"0","minor":"4",` +
			`"capacity":6}],"profiles":{"1g.6gb":"0","3g.20gb":"1","6g.40gb":"2"}}`},
		pod: harness.Limits{"enflame.com/drs-gcu": "3"},
		want: map[string]string{
			"hami.io/enflame-vgpu-devices-allocated": "NODE-enflame-drs-0,Enflame,20480,50:;",
			"enflame.com/gcu-assigned":               "false", "enflame.com/gcu-assigned-index": "0",
			"enflame.com/gcu-assigned-minor": "4", "enflame.com/gcu-request-size": "3",
			"assigned-containers": `{"c":{"allocated":false,"request":3,"profileID":"1",` +
				`"profileName":"3g.20gb"}}`}},
	{name: "neuron", capacity: harness.Limits{"aws.amazon.com/neuron": "1", "aws.amazon.com/neuroncore": "2"},
		pod: harness.Limits{"aws.amazon.com/neuroncore": "1"},
		want: map[string]string{"hami.io/aws-neuron-devices-allocated": "NODE-AWSNeuron-0,AWSNeuron,0,1:;",
			"AWS_NEURON_IDS": "0", "NEURON_RESOURCE_TYPE": "aws.amazon.com/neuroncore",
			"NEURON_ALLOCATED": "false", "aws.amazon.com/predicate-node": "NODE"}},
}

func TestVendors(t *testing.T) {
	for at := range families {
		one := &families[at]
		checks.Run(t, checks.Check{Name: "vendor-" + one.name,
			Requirement: "all facts of the contract for every vendor: registered, admitted, placed, annotated",
			Run:         one.run})
	}
}

func (f *family) node(name string) *core.Node {
	room := core.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("64Gi"),
		"pods": resource.MustParse("10")}
	for key, amount := range f.capacity {
		room[core.ResourceName(key)] = resource.MustParse(amount)
	}
	return &core.Node{
		ObjectMeta: meta.ObjectMeta{Name: name, Annotations: f.annotations,
			Labels: map[string]string{"kubernetes.io/hostname": name}},
		Status: core.NodeStatus{Capacity: room, Allocatable: room,
			Conditions: []core.NodeCondition{{Type: core.NodeReady, Status: core.ConditionTrue}}}}
}

func matches(text, pattern string) bool {
	parts := strings.Split(pattern, "*")
	for at := range parts {
		parts[at] = regexp.QuoteMeta(parts[at])
	}
	return regexp.MustCompile("^" + strings.Join(parts, `[^,;:"]+`) + "$").MatchString(text)
}

func (f *family) run(env *harness.Env) error {
	name := env.Namespace + "-" + f.name
	if _, err := env.Client.CoreV1().Nodes().Create(env.Ctx, f.node(name), meta.CreateOptions{}); err != nil {
		return err
	}
	err := f.placed(env, name)
	if gone := env.Client.CoreV1().Nodes().Delete(env.Ctx, name, meta.DeleteOptions{}); err == nil {
		err = gone
	}
	return err
}

func (f *family) placed(env *harness.Env, node string) error {
	asked := harness.Pod("p", harness.Container("c", f.pod))
	asked.Annotations = f.notes
	if _, err := env.Create(asked); err != nil {
		return err
	}
	p, err := env.WaitBound("p")
	if err != nil {
		return err
	}
	if p.Spec.NodeName != node {
		return fmt.Errorf("it is on %s", p.Spec.NodeName)
	}
	keys := make([]string, 0, len(f.want))
	for key := range f.want {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		want := strings.ReplaceAll(f.want[key], "NODE", node)
		got, there := p.Annotations[key]
		if there != (want != "") || there && !matches(got, want) {
			return fmt.Errorf("%s is %q, not %q", key, got, want)
		}
	}
	return f.admitted(p)
}

func (f *family) admitted(p *core.Pod) error {
	c := p.Spec.Containers[0]
	for key, want := range f.limits {
		got := c.Resources.Limits[core.ResourceName(key)]
		if got.Cmp(resource.MustParse(want)) != 0 {
			return fmt.Errorf("limit %s is %s, not %s", key, got.String(), want)
		}
	}
	found := map[string]string{}
	for _, one := range c.Env {
		found[one.Name] = one.Value
	}
	for name, want := range f.env {
		if found[name] != want {
			return fmt.Errorf("environment %s is %q, not %q", name, found[name], want)
		}
	}
	return nil
}
