package migration

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	"google.golang.org/protobuf/proto"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	device "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

func TestVendorPlugins(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-plugins-of-other-vendors-act",
			Requirement: "of vendors of which no plugin can be had, one that does to the node what theirs does: pods at once, some " +
				"with two containers, are placed by Divvy, locked, given what they were assigned, and told so; a pod " +
				"that Divvy did not place gets nothing; all policies are in force, with these plugins' account named in them, " +
				"and who is not named is refused",
			Run: vendorsAct})
}

// A vendor's plugin, what pods ask it for, and where they are told what they got.
type vendorPlugin struct {
	terms    harness.PluginTerms
	request  harness.Limits
	assigned string // the pod's annotation
}

// By facts/hami-control-plane.md 2.1.
func vendorPlugins() []vendorPlugin {
	return []vendorPlugin{
		{harness.PluginTerms{Resource: "hygon.com/dcunum", Word: "DCU", Cards: []string{"DCU-a", "DCU-b"},
			Register: map[string]string{"hami.io/node-dcu-register": "DCU-a,10,65520,100,DCU-K100_AI,0,true,0,hami-core:" +
				"DCU-b,10,65520,100,DCU-K100_AI,0,true,1,hami-core:"},
			ToAllocate: "hami.io/dcu-devices-to-allocate", Visible: "HIP_VISIBLE_DEVICES"},
			harness.Limits{"hygon.com/dcunum": "1", "hygon.com/dcumem": "20000", "hygon.com/dcucores": "20"},
			"hami.io/dcu-devices-allocated"},
		{harness.PluginTerms{Resource: "kunlunxin.com/vxpu", Word: "XPU", Cards: []string{"xpu-0", "xpu-1"},
			Register: map[string]string{"hami.io/node-register-xpu": `[{"id":"xpu-0","count":10,"devmem":98304,` +
				`"devcore":100,"type":"R300","health":true},{"id":"xpu-1","index":1,"count":10,"devmem":98304,` +
				`"devcore":100,"type":"R300","health":true}]`},
			ToAllocate: "hami.io/xpu-devices-to-allocate", Visible: "XPU_VISIBLE_DEVICES"},
			harness.Limits{"kunlunxin.com/vxpu": "1", "kunlunxin.com/vxpu-memory": "24576"},
			"hami.io/xpu-devices-allocated"},
		{harness.PluginTerms{Resource: "huawei.com/Ascend910B3", Word: "Ascend910B3", Cards: []string{"npu-0", "npu-1"},
			Register: map[string]string{"hami.io/node-register-Ascend910B3": `[{"id":"npu-0","count":10,"devmem":65536,` +
				`"devcore":20,"type":"Ascend910B3","health":true},{"id":"npu-1","index":1,"count":10,"devmem":65536,` +
				`"devcore":20,"type":"Ascend910B3","health":true}]`},
			ToAllocate: "hami.io/Ascend910B3-devices-to-allocate", Visible: "ASCEND_VISIBLE_DEVICES"},
			harness.Limits{"huawei.com/Ascend910B3": "1", "huawei.com/Ascend910B3-memory": "16384"},
			"hami.io/Ascend910B3-devices-allocated"},
	}
}

func vendorsAct(env *harness.Env) error {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	return env.WithPolicyAccounts(func(plugin, foreign harness.PluginAccount) error {
		for _, one := range vendorPlugins() {
			if err := env.ForeignPluginFails(foreign, one.terms); err != nil {
				return fmt.Errorf("%s: %w", one.terms.Word, err)
			}
			if err := vendorActs(env, one, plugin); err != nil {
				return fmt.Errorf("%s: %w", one.terms.Word, err)
			}
		}
		return nil
	})
}

func vendorActs(env *harness.Env, one vendorPlugin, plugin harness.PluginAccount) (err error) {
	process := strings.ToLower(one.terms.Word) + "-device-plugin"
	defer func() { err = errors.Join(err, vendorEnds(env, process, one)) }()
	if err := pluginServes(env, process, plugin, one.terms); err != nil {
		return err
	}
	var names []string
	for at := range 4 {
		p := vendorPod(fmt.Sprintf("%s-%d", strings.ToLower(one.terms.Word), at), one.request)
		if at%2 == 1 {
			second := *p.Spec.Containers[0].DeepCopy()
			second.Name = "beside"
			p.Spec.Containers = append(p.Spec.Containers, second)
		}
		if _, err := env.Create(p); err != nil {
			return err
		}
		names = append(names, p.Name)
	}
	cards := map[string]bool{}
	for _, name := range names {
		if err := env.WaitRunning(name); err != nil {
			return errors.Join(err, errors.New(env.Processes.Tail(process)))
		}
		if err := vendorGave(env, name, one, cards); err != nil {
			return err
		}
	}
	if len(cards) != len(one.terms.Cards) {
		return fmt.Errorf("all are on %v", cards)
	}
	return vendorRefuses(env, one)
}

// vendorPod does nothing: it needs no driver.
func vendorPod(name string, limits harness.Limits) *core.Pod {
	p := harness.IdlePod(harness.ProbePod(name, limits))
	p.Annotations = map[string]string{"hami.io/gpu-scheduler-policy": "spread"}
	return p
}

// vendorGave: each container has the variable that names what Divvy assigned to it, and nothing is left to be given.
func vendorGave(env *harness.Env, name string, one vendorPlugin, cards map[string]bool) error {
	p, err := env.Get(name)
	if err != nil {
		return err
	}
	given, err := allocateResponses(string(p.UID))
	if err != nil {
		return err
	}
	slots := strings.Split(p.Annotations[one.assigned], ";")
	for at, container := range p.Spec.Containers {
		uuid, _, _ := strings.Cut(slots[at], ",")
		if has := given[container.Name].GetEnvs()[one.terms.Visible]; uuid == "" || has != uuid {
			return fmt.Errorf("%s/%s has %q, and was assigned %q", name, container.Name, has, uuid)
		}
		cards[uuid] = true
	}
	phase, left := p.Annotations["hami.io/bind-phase"], p.Annotations[one.terms.ToAllocate]
	if phase != "success" || strings.Trim(left, ";") != "" {
		return fmt.Errorf("%s is %q, with %q left", name, phase, left)
	}
	return nil
}

// allocateResponses is what plugins answered for a pod's containers, as the kubelet keeps it.
func allocateResponses(uid string) (map[string]*device.ContainerAllocateResponse, error) {
	text, err := os.ReadFile(filepath.Join(harness.KubeletDir, "device-plugins", "kubelet_internal_checkpoint"))
	if err != nil {
		return nil, err
	}
	var noted struct {
		Data struct {
			PodDeviceEntries []struct{ PodUID, ContainerName, AllocResp string }
		}
	}
	if err := json.Unmarshal(text, &noted); err != nil {
		return nil, err
	}
	responses := map[string]*device.ContainerAllocateResponse{}
	for _, entry := range noted.Data.PodDeviceEntries {
		if entry.PodUID != uid {
			continue
		}
		bytes, err := base64.StdEncoding.DecodeString(entry.AllocResp)
		if err != nil {
			return nil, err
		}
		response := &device.ContainerAllocateResponse{}
		if err := proto.Unmarshal(bytes, response); err != nil {
			return nil, err
		}
		responses[entry.ContainerName] = response
	}
	return responses, nil
}

// vendorRefuses: the control. Whom Divvy did not place, in a namespace that it leaves alone, has no assignment, and
// the plugin gives him nothing.
func vendorRefuses(env *harness.Env, one vendorPlugin) error {
	pods := env.Client.CoreV1().Pods(meta.NamespaceSystem)
	p := vendorPod(env.Namespace+"-past-divvy", harness.Limits{one.terms.Resource: "1"})
	p.Spec.NodeName = harness.KubeletNode
	if _, err := pods.Create(env.Ctx, p, meta.CreateOptions{}); err != nil {
		return err
	}
	err := env.WaitFor("the plugin gives it nothing", func() error {
		now, err := pods.Get(env.Ctx, p.Name, meta.GetOptions{})
		if err == nil && (now.Status.Phase != core.PodFailed || now.Status.Reason != "UnexpectedAdmissionError") {
			err = fmt.Errorf("it is %s: %s %s", now.Status.Phase, now.Status.Reason, now.Status.Message)
		}
		return err
	})
	none := int64(0)
	return errors.Join(err, pods.Delete(env.Ctx, p.Name, meta.DeleteOptions{GracePeriodSeconds: &none}))
}

// vendorEnds: nothing of that vendor's is left in the node.
func vendorEnds(env *harness.Env, process string, one vendorPlugin) error {
	var errs []error
	for at := range 4 {
		removed := env.Delete(fmt.Sprintf("%s-%d", strings.ToLower(one.terms.Word), at))
		if !apierrors.IsNotFound(removed) {
			errs = append(errs, removed)
		}
	}
	errs = append(errs, env.StopProcess(process))
	gone := map[string]any{"hami.io/mutex.lock": nil}
	for key := range one.terms.Register {
		gone[key] = nil
	}
	text, err := harness.AnnotationPatch(gone)
	if err == nil {
		_, err = env.Client.CoreV1().Nodes().Patch(env.Ctx, harness.KubeletNode, "application/merge-patch+json", text,
			meta.PatchOptions{})
	}
	return errors.Join(append(errs, err)...)
}
