package policies

import (
	"testing"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

const mayLabel = "divvy.dev/may-set-priority"

// Regression: any author of a pod took the latency class of a device, and kept its pod from eviction.
func prioritised() []policyCase {
	const policy, use = "divvy-priority", "use.divvy.dev/"
	made := func(what, key, value string, deny bool) policyCase {
		said := ""
		if deny {
			said = key
		}
		return policyCase{what + " " + value, policy, tenant, "", nil, pod(noted(key, value)), "pods", deny, said}
	}
	before := pod(noted(use+"priority", "high", use+"evictable", "false", use+"min-runtime", "1d"))
	classed := pod(func(p *core.Pod) { noted(use+"priority", "high")(p); p.Spec.PriorityClassName = "serving" })
	policyCases := []policyCase{
		{"nothing of it", policy, tenant, "", nil, pod(nil), "pods", false, ""},
		{"nothing of it before", policy, tenant, "", pod(nil), pod(noted("mine", "1")), "pods", false, ""},
		{"a class that is not high", policy, tenant, "", nil, classed, "pods", true, use + "priority"},
		{"by the scheduler", policy, ours, "", pod(nil), pod(noted("c."+use+"priority", "high")), "pods", false, ""},
		{"an administrator", policy, "admin", "", nil, pod(noted(use+"priority", "high")), "pods", true, mayLabel},
		{"as it was", policy, tenant, "", before, before, "pods", false, ""},
		{"less than it was", policy, tenant, "", before, pod(noted(use+"priority", "low", use+"evictable", "true")), "pods", false, ""},
		{"another than it was", policy, tenant, "", before, pod(noted("c."+use+"priority", "high")), "pods", true, "c." + use},
		{"later", policy, tenant, "", pod(nil), pod(noted(use+"priority", "high")), "pods", true, use + "priority"},
		{"later, through its status", policy, tenant, "", pod(nil), pod(noted(use+"evictable", "no")), "pods/status", true, use + "evictable"},
		made("priority", use+"priority", "normal", false),
		made("priority", use+"priority", "low", false),
		made("priority", use+"priority", "high", true),
		made("a container's priority", "main."+use+"priority", "low", false),
		made("a container's priority", "main."+use+"priority", "high", true),
		made("another's word", "main."+use+"priority-x", "high", false),
		made("another's domain", "xuse.divvy.dev/priority", "high", false),
		made("evictable", use+"evictable", "true", false),
		made("evictable", use+"evictable", "false", true),
		made("evictable, not understood:", use+"evictable", "", true),
		made("change", use+"change", `{"id":"a","container":"c","cores":40}`, false),
		made("change", use+"change", `{"id":"high","container":"priority","priority":"low"}`, false),
		made("change", use+"change", `{"id":"a","container":"c","priority":"high"}`, true),
		made("resize", use+"resize", `{"id":"a","container":"c","cores":40}`, false),
		made("resize", use+"resize", `{"id":"a","container":"c","priority":"high"}`, true),
		made("change", use+"change", `{"id":"a", "priority" :`+"\n\t"+` "high", "container":"c"}`, true),
		made("change, escaped:", use+"change", `{"id":"a","container":"c","priority":"\u0068igh"}`, true),
	}
	for _, time := range []string{"0", "0s", "90s", "999", "3600", "3600s", "10m", "60m", "0h", "1h", "0d"} {
		policyCases = append(policyCases, made("min-runtime", use+"min-runtime", time, false))
	}
	for _, time := range []string{"", "3601", "3700s", "9999", "61m", "99m", "2h", "10h", "1d", "36500d", "for ever", "1h "} {
		policyCases = append(policyCases, made("min-runtime", use+"min-runtime", time, true))
	}
	return policyCases
}

func TestPriorityIsFreeInNamespacesThatAreLabelled(t *testing.T) {
	for name, want := range map[string]bool{"divvy-priority": false, "divvy-devices": true} {
		selector, err := meta.LabelSelectorAsSelector(read(t)[name].Spec.MatchConstraints.NamespaceSelector)
		if err != nil {
			t.Fatal(err)
		}
		if got := selector.Matches(labels.Set{mayLabel: "true"}); got != want {
			t.Errorf("%s looks at namespaces with the label: %v", name, got)
		}
		for _, others := range []labels.Set{{}, {mayLabel: "false"}, {mayLabel: ""}, {"team": "a"}} {
			if !selector.Matches(others) {
				t.Errorf("%s does not look at namespaces with %v", name, others)
			}
		}
	}
}

// Regression: kubectl debug --profile=sysadmin put a privileged container beside a share.
func debugged() []policyCase {
	const policy, visible, where = "divvy-ephemeral-containers", "divvy-visible-devices", "pods/ephemeralcontainers"
	yes, no := true, false
	with := func(base *core.Pod, added ...core.EphemeralContainerCommon) *core.Pod {
		base = base.DeepCopy()
		for _, one := range added {
			base.Spec.EphemeralContainers = append(base.Spec.EphemeralContainers,
				core.EphemeralContainer{EphemeralContainerCommon: one})
		}
		return base
	}
	context := func(name string, privileged *bool) core.EphemeralContainerCommon {
		return core.EphemeralContainerCommon{Name: name, SecurityContext: &core.SecurityContext{Privileged: privileged}}
	}
	plain := core.EphemeralContainerCommon{Name: "plain"}
	all := core.EphemeralContainerCommon{Name: "all", Env: []core.EnvVar{{Name: "NVIDIA_VISIBLE_DEVICES", Value: "all"}}}
	share, other := asking("nvidia.com/gpu", nil), asking("cpu", nil)
	root := with(share, context("root", &yes))
	return []policyCase{
		{"plain", policy, tenant, "", share, with(share, plain), where, false, ""},
		{"not privileged", policy, tenant, "", share, with(share, context("d", &no)), where, false, ""},
		{"privileged", policy, tenant, "", share, root, where, true, "whole devices: root"},
		{"privileged, by an administrator", policy, "admin", "", share, root, where, true, "root"},
		{"one more privileged", policy, tenant, "", with(share, plain), with(share, plain, context("root", &yes)), where, true, "root"},
		{"beside one from before", policy, tenant, "", root, with(root, plain), where, false, ""},
		{"without devices", policy, tenant, "", other, with(other, context("root", &yes)), where, false, ""},
		{"names all cards", visible, tenant, "", other, with(other, all), where, true, "limits of all"},
		{"named all cards before", visible, tenant, "", with(other, all), with(other, all, plain), where, false, ""},
		{"changed, and not debugged", visible, tenant, "", naming("all"), naming("all"), "pods", false, ""},
	}
}
