// The deployed policies, evaluated as an API server does it, without one.
package policies

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	registration "k8s.io/api/admissionregistration/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
)

const (
	allocated = "hami.io/vgpu-devices-allocated"
	ours      = "system:serviceaccount:divvy-system:divvy-scheduler"
	agent     = "system:serviceaccount:divvy-system:divvy-agent"
	tenant    = "system:serviceaccount:team:default"
)

// compile does what an API server does with a policy; what cannot be compiled is an error.
func compile(t *testing.T, policy *registration.ValidatingAdmissionPolicy) validating.Validator {
	t.Helper()
	params := policy.Spec.ParamKind != nil
	full := cel.OptionalVariableDeclarations{HasParams: params, HasAuthorizer: true, StrictCost: true}
	plain := cel.OptionalVariableDeclarations{HasParams: params, StrictCost: true}
	compiler, err := cel.NewCompositedCompiler(
		environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion(), true))
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, one cel.ExpressionAccessor, with cel.OptionalVariableDeclarations) {
		if found := compiler.CompileCELExpression(one, with, environment.NewExpressions); found.Error != nil {
			t.Errorf("%s: %s: %v", policy.Name, what, found.Error)
		}
	}
	for _, one := range policy.Spec.Variables {
		named := &validating.Variable{Name: one.Name, Expression: one.Expression}
		if found := compiler.CompileAndStoreVariable(named, full, environment.NewExpressions); found.Error != nil {
			t.Errorf("%s: variable %s: %v", policy.Name, one.Name, found.Error)
		}
	}
	var conditions, validations, messages []cel.ExpressionAccessor
	for at := range policy.Spec.MatchConditions {
		one := (*matchconditions.MatchCondition)(&policy.Spec.MatchConditions[at])
		check(one.Name, one, full)
		conditions = append(conditions, one)
	}
	for _, one := range policy.Spec.Validations {
		validation := &validating.ValidationCondition{Expression: one.Expression, Reason: one.Reason}
		message := &validating.MessageExpressionCondition{MessageExpression: one.MessageExpression}
		check("validation", validation, full)
		check("message", message, plain)
		validations, messages = append(validations, validation), append(messages, message)
	}
	matcher := matchconditions.NewMatcher(compiler.CompileCondition(conditions, full,
		environment.StoredExpressions), policy.Spec.FailurePolicy, "policy", "validate", policy.Name)
	return validating.NewValidator(
		compiler.CompileCondition(validations, full, environment.StoredExpressions), matcher,
		compiler.CompileCondition(nil, full, environment.StoredExpressions),
		compiler.CompileCondition(messages, plain, environment.StoredExpressions),
		policy.Spec.FailurePolicy)
}

func read(t *testing.T) map[string]*registration.ValidatingAdmissionPolicy {
	t.Helper()
	return readFrom(t, "../../../deploy/kubernetes/policies.yaml")
}

func readFrom(t *testing.T, name string) map[string]*registration.ValidatingAdmissionPolicy {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	found := map[string]*registration.ValidatingAdmissionPolicy{}
	decoder := yaml.NewYAMLOrJSONDecoder(file, 4096)
	for {
		var policy registration.ValidatingAdmissionPolicy
		if err := decoder.Decode(&policy); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		if policy.Kind == "ValidatingAdmissionPolicy" {
			found[policy.Name] = &policy
		}
	}
}

// binders may bind in all namespaces. "admin" may update nodes' inventories, too.
type binders map[string]bool

func (b binders) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.GetVerb() == "create" && a.GetResource() == "pods" && a.GetSubresource() == "binding" &&
		a.GetNamespace() == "" && b[a.GetUser().GetName()] {
		return authorizer.DecisionAllow, "", nil
	}
	if a.GetVerb() == "update" && a.GetResource() == "nodes" && a.GetSubresource() == "inventory" &&
		a.GetName() != "" && a.GetUser().GetName() == "admin" {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

type policyCase struct {
	what      string
	policy    string
	who       string
	node      string // that the token is bound to
	old, new  runtime.Object
	resource  string // "pods/status"
	mustDeny  bool
	mustMatch string // what is said
}

func pod(change func(*core.Pod)) *core.Pod {
	p := &core.Pod{ObjectMeta: meta.ObjectMeta{Name: "p", Namespace: "team"},
		Spec: core.PodSpec{SchedulerName: "default-scheduler", Containers: []core.Container{{Name: "c"}}}}
	if change != nil {
		change(p)
	}
	return p
}

func noted(pairs ...string) func(*core.Pod) {
	return func(p *core.Pod) {
		p.Annotations = map[string]string{}
		for at := 0; at < len(pairs); at += 2 {
			p.Annotations[pairs[at]] = pairs[at+1]
		}
		p.Spec.NodeName = "own"
	}
}

func asking(name string, more func(*core.Pod)) *core.Pod {
	return pod(func(p *core.Pod) {
		p.Spec.Containers[0].Resources.Limits = core.ResourceList{core.ResourceName(name): resource.MustParse("1")}
		if more != nil {
			more(p)
		}
	})
}

const ourGate = "divvy.dev/queued"

func gated(names ...string) *core.Pod {
	return pod(func(p *core.Pod) {
		for _, name := range names {
			p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, core.PodSchedulingGate{Name: name})
		}
	})
}

func node(name string, pairs ...string) *core.Node {
	p := pod(noted(pairs...))
	return &core.Node{ObjectMeta: meta.ObjectMeta{Name: name, Annotations: p.Annotations}}
}

func binding(pairs ...string) *core.Binding {
	p := pod(noted(pairs...))
	return &core.Binding{ObjectMeta: meta.ObjectMeta{Name: "p", Annotations: p.Annotations},
		Target: core.ObjectReference{Kind: "Node", Name: "own"}}
}

// naming has cards named in its environment.
func naming(cards string) *core.Pod {
	return pod(func(p *core.Pod) {
		p.Spec.Containers[0].Env = []core.EnvVar{{Name: "NVIDIA_VISIBLE_DEVICES", Value: cards}}
	})
}

func scheduler(name string) func(*core.Pod) {
	return func(p *core.Pod) { p.Spec.SchedulerName = name }
}

func TestPolicies(t *testing.T) {
	policies := read(t)
	if len(policies) != 10 {
		t.Fatalf("%d policies", len(policies))
	}
	compiled := map[string]validating.Validator{}
	for name, policy := range policies {
		compiled[name] = compile(t, policy)
	}
	yes := true
	const pods, nodes, bindings, devices, gates, visible = "divvy-pod-annotations", "divvy-node-annotations",
		"divvy-bindings", "divvy-devices", "divvy-gates", "divvy-visible-devices"
	const agents, inventory = "divvy-agents", "divvy.dev/inventory"
	tainted := node("own")
	tainted.Spec.Taints = []core.Taint{{Key: "mine", Effect: core.TaintEffectNoExecute}}
	labelled := node("own")
	labelled.Labels = map[string]string{"role": "mine"}
	unready := node("own")
	unready.Status.Conditions = []core.NodeCondition{{Type: core.NodeReady, Status: core.ConditionFalse}}
	more := node("own", "divvy.dev/served-resources", "divvy.dev/gpu")
	more.Status.Capacity = core.ResourceList{"nvidia.com/gpumem": resource.MustParse("80000")}
	const volcanos, given = "divvy-volcano-annotations", "volcano.sh/vgpu-ids-new"
	placed := pod(noted(given, "a", "mine", "1"))
	held := pod(noted(allocated, "a", "mine", "1"))
	policyCases := []policyCase{
		{"made plain", pods, tenant, "", nil, pod(nil), "pods", false, ""},
		{"made with an assignment", pods, tenant, "", nil, pod(noted(allocated, "a")), "pods", true, allocated},
		{"made by us", pods, ours, "", nil, pod(noted(allocated, "a")), "pods", false, ""},
		{"another kind's", pods, tenant, "", nil, pod(noted("hami.io/dcu-devices-to-allocate", "a")), "pods", true, "dcu"},
		{"changed", pods, tenant, "", held, pod(noted(allocated, "b", "mine", "1")), "pods", true, allocated},
		{"taken away", pods, tenant, "", held, pod(noted("mine", "1")), "pods", true, allocated},
		{"all taken away", pods, tenant, "", held, pod(func(p *core.Pod) { p.Spec.NodeName = "own" }), "pods/status", true, allocated},
		{"added", pods, tenant, "", held, pod(noted(allocated, "a", "divvy.dev/x", "1")), "pods/status", true, "divvy.dev/x"},
		{"one's own", pods, tenant, "", held, pod(noted(allocated, "a", "mine", "2", "nvidia.com/use-gputype", "x")), "pods", false, ""},
		{"an administrator", pods, "admin", "", held, pod(noted("mine", "1")), "pods", true, allocated},
		{"the agent, there", pods, agent, "own", held, pod(noted(allocated, "a", "hami.io/bind-phase", "success")), "pods", false, ""},
		{"the agent, elsewhere", pods, agent, "other", held, pod(noted(allocated, "b")), "pods", true, allocated},
		{"the agent, nowhere", pods, agent, "", held, pod(noted(allocated, "b")), "pods", true, ""},
		{"the agent makes one", pods, agent, "own", nil, pod(noted(allocated, "b")), "pods", true, allocated},
		{"somebody there", pods, tenant, "own", held, pod(noted(allocated, "b")), "pods", true, allocated},

		{"bound by a tenant", bindings, tenant, "", nil, binding(), "pods/binding", true, tenant + " must not bind"},
		{"bound of old", bindings, tenant, "", nil, binding(allocated, "a"), "bindings", true, "annotations"},
		{"bound by another scheduler", bindings, "volcano", "", nil, binding(), "pods/binding", false, ""},
		{"with an assignment", bindings, "volcano", "", nil, binding(allocated, "a"), "pods/binding", true, allocated},
		{"bound by us", bindings, ours, "", nil, binding(allocated, "a"), "pods/binding", false, ""},
		{"bound by the cluster's", bindings, "system:kube-scheduler", "", nil, binding(), "pods/binding", false, ""},

		{"registered", nodes, agent, "own", node("own"), node("own", "hami.io/node-nvidia-register", "[]"), "nodes", false, ""},
		{"another's registered", nodes, agent, "own", node("other"), node("other", "hami.io/node-nvidia-register", "[]"), "nodes", true, "register"},
		{"by a kubelet", nodes, "system:node:own", "", node("own", "hami.io/node-handshake", "1"), node("own", "hami.io/node-handshake", "2"), "nodes/status", true, "handshake"},
		{"a kubelet's status", nodes, "system:node:own", "", node("own", "hami.io/node-handshake", "1"), node("own", "hami.io/node-handshake", "1", "x", "y"), "nodes/status", false, ""},

		{"an inventory, by us", nodes, ours, "", node("own"), node("own", inventory, "{}"), "nodes", false, ""},
		{"an inventory, by its agent", nodes, agent, "own", node("own"), node("own", inventory, "{}"), "nodes", true, "nodes/inventory"},
		{"an inventory beside a registration", nodes, agent, "own", node("own", inventory, "{}"), node("own", "hami.io/node-nvidia-register", "[]"), "nodes", true, "nodes/inventory"},
		{"an inventory, by a kubelet", nodes, "system:node:own", "", node("own", inventory, "{}"), node("own"), "nodes", true, "nodes/inventory"},
		{"made with an inventory", nodes, "system:node:own", "", nil, node("own", inventory, "{}"), "nodes", true, "nodes/inventory"},
		{"an inventory, by an administrator", nodes, "admin", "", node("own", inventory, "{}"), node("own"), "nodes", false, ""},
		{"more than an inventory, by an administrator", nodes, "admin", "", node("own", inventory, "{}"), node("own", "divvy.dev/served-resources", "x"), "nodes", true, "own agent only"},

		{"its own node", agents, agent, "own", node("own"), more, "nodes/status", false, ""},
		{"another node", agents, agent, "own", node("other"), node("other", "mine", "1"), "nodes", true, "into other"},
		{"by no node's token", agents, agent, "", node("own"), node("own", "divvy.dev/x", "1"), "nodes", true, "own node only"},
		{"taints it", agents, agent, "own", node("own"), tainted, "nodes", true, "annotations and amounts"},
		{"takes a taint away", agents, agent, "own", tainted, node("own"), "nodes", true, "annotations and amounts"},
		{"labels it", agents, agent, "own", node("own"), labelled, "nodes", true, "annotations and amounts"},
		{"says that it is not ready", agents, agent, "own", node("own"), unready, "nodes/status", true, "annotations and amounts"},
		{"writes beside its taint", agents, agent, "own", tainted, tainted, "nodes", false, ""},
		{"somebody else taints it", agents, "admin", "", node("own"), tainted, "nodes", false, ""},

		{"not seen", devices, tenant, "", nil, asking("nvidia.com/gpu", nil), "pods", true, "default-scheduler"},
		{"a partition", devices, tenant, "", nil, asking("nvidia.com/mig-1g.5gb", nil), "pods", true, "accepted: divvy-scheduler"},
		{"no devices", devices, tenant, "", nil, asking("cpu", nil), "pods", false, ""},
		{"ours", devices, tenant, "", nil, asking("nvidia.com/gpu", scheduler("divvy-scheduler")), "pods", false, ""},
		{"placed", devices, tenant, "", nil, asking("nvidia.com/gpu", func(p *core.Pod) {
			scheduler("divvy-scheduler")(p)
			p.Spec.NodeName = "n"
		}), "pods", true, "node assigned"},
		{"privileged", devices, tenant, "", nil, asking("nvidia.com/gpu", func(p *core.Pod) {
			scheduler("divvy-scheduler")(p)
			p.Spec.Containers[0].SecurityContext = &core.SecurityContext{Privileged: &yes}
		}), "pods", true, "privileged"},
		{"privileged before", devices, tenant, "", nil, asking("nvidia.com/gpu", func(p *core.Pod) {
			scheduler("divvy-scheduler")(p)
			p.Spec.InitContainers = []core.Container{{Name: "i", SecurityContext: &core.SecurityContext{Privileged: &yes}}}
		}), "pods", true, "privileged"},
		{"a gate of ours", gates, tenant, "", gated(ourGate, "x"), gated("x"), "pods", true, ourGate},
		{"the last gate", gates, tenant, "", gated(ourGate), pod(nil), "pods", true, ourGate},
		{"another's gate", gates, tenant, "", gated(ourGate, "x"), gated(ourGate), "pods", false, ""},
		{"a gate, by us", gates, ours, "", gated(ourGate), pod(nil), "pods", false, ""},
		{"given by Volcano", volcanos, "volcano", "", pod(nil), placed, "pods", false, ""},
		{"given by himself", volcanos, tenant, "", nil, placed, "pods", true, given},
		{"given later", volcanos, tenant, "", pod(nil), placed, "pods/status", true, given},
		{"more given", volcanos, tenant, "", placed, pod(noted(given, "b", "mine", "1")), "pods", true, given},
		{"thrown away", volcanos, tenant, "", placed, pod(noted("mine", "1")), "pods", true, given},
		{"his own, beside it", volcanos, tenant, "", placed, pod(noted(given, "a", "mine", "2")), "pods", false, ""},
		{"an administrator gives", volcanos, "admin", "", nil, placed, "pods", true, given},
		{"nothing of Volcano's", volcanos, tenant, "", nil, pod(nil), "pods", false, ""},
		{"no gate", gates, tenant, "", pod(nil), pod(noted("a", "b")), "pods", false, ""},
		{"names no cards", visible, tenant, "", nil, naming("void"), "pods", false, ""},
		{"names none", visible, tenant, "", nil, naming(""), "pods", false, ""},
		{"says nothing of cards", visible, tenant, "", nil, pod(nil), "pods", false, ""},
		{"names all cards", visible, tenant, "", nil, naming("all"), "pods", true, "limits of c"},
		{"names one card", visible, tenant, "", nil, naming("GPU-1"), "pods", true, "limits of c"},
		{"names what stands elsewhere", visible, tenant, "", nil, pod(func(p *core.Pod) {
			p.Spec.Containers[0].Env = []core.EnvVar{{Name: "NVIDIA_VISIBLE_DEVICES",
				ValueFrom: &core.EnvVarSource{}}}
		}), "pods", true, "limits of c"},
		{"names them at first", visible, tenant, "", nil, pod(func(p *core.Pod) {
			p.Spec.InitContainers = naming("all").Spec.Containers
			p.Spec.InitContainers[0].Name = "i"
		}), "pods", true, "limits of i"},
		{"before the others", devices, tenant, "", nil, pod(func(p *core.Pod) {
			p.Spec.InitContainers = asking("nvidia.com/gpumem", nil).Spec.Containers
		}), "pods", true, "default-scheduler"},
	}
	policyCases = append(policyCases, prioritised()...)
	policyCases = append(policyCases, debugged()...)
	for _, one := range policyCases {
		t.Run(one.policy+"/"+one.what, func(t *testing.T) { one.run(t, compiled[one.policy]) })
	}
}

func (a policyCase) run(t *testing.T, validator validating.Validator) {
	who := &user.DefaultInfo{Name: a.who, Groups: []string{"system:authenticated"}}
	if a.node != "" {
		who.Extra = map[string][]string{"authentication.kubernetes.io/node-name": {a.node}}
	}
	operation, namespace := admission.Create, &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: "team"}}
	if a.old != nil {
		operation = admission.Update
	}
	name, sub, _ := strings.Cut(a.resource, "/")
	kind := schema.GroupVersionKind{Version: "v1", Kind: strings.TrimPrefix(typeOf(a.new), "*v1.")}
	where := schema.GroupVersionResource{Version: "v1", Resource: name}
	attributes := admission.NewAttributesRecord(a.new, a.old, kind, "team", "p", where, sub, operation,
		nil, false, who)
	versioned := &admission.VersionedAttributes{Attributes: attributes, VersionedObject: a.new,
		VersionedOldObject: a.old, VersionedKind: kind}
	got := validator.Validate(context.Background(), where, versioned, nil, namespace,
		celconfig.RuntimeCELCostBudget, binders{"volcano": true})
	denied, said := false, ""
	for _, one := range got.Decisions {
		if one.Action == validating.ActionDeny {
			denied = true
			said += one.Message + "\n"
		}
		if one.Evaluation == validating.EvalError {
			t.Errorf("an error and no decision: %s", one.Message)
		}
	}
	if denied != a.mustDeny || !strings.Contains(said, a.mustMatch) {
		t.Errorf("denied is %v: %q", denied, said)
	}
}

func typeOf(object runtime.Object) string {
	switch object.(type) {
	case *core.Pod:
		return "Pod"
	case *core.Node:
		return "Node"
	default:
		return "Binding"
	}
}
