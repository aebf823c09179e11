package policies

import (
	"context"
	"strings"
	"testing"

	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
)

const (
	termKey    = "divvy.dev/scheduler-term"
	oldTermKey = "divvy.dev/lease" // that a scheduler of the release before writes
)

const (
	stateKey    = "divvy.dev/resize-state"
	oldStateKey = "divvy.dev/change-state" // that a scheduler of this release and of the one before writes
)

// state is a resize in that phase, admitted in that term.
func state(phase, term string) string {
	return `{"id":"r","phase":"` + phase + `","term":"` + term + `"}`
}

// The term of a resize counts under the present key and under the old one, in states that the update writes.
func TestFencingOfResizes(t *testing.T) {
	validator, lease := fencing(t)
	before := pod(noted(oldStateKey, state("admitted", "u/6")))
	for _, one := range []struct {
		what     string
		old, new *core.Pod
		denied   bool
	}{
		{"of this term", pod(nil), pod(noted(oldStateKey, state("admitted", "u/7"))), false},
		{"of this term, by a scheduler of the next release", pod(nil), pod(noted(stateKey, state("admitted", "u/7"))), false},
		{"of an earlier term", pod(nil), pod(noted(oldStateKey, state("admitted", "u/6"))), true},
		{"of an earlier term, by a scheduler of the next release", pod(nil), pod(noted(stateKey, state("admitted", "u/6"))), true},
		{"of two terms", pod(nil), pod(noted(stateKey, state("admitted", "u/7"), oldStateKey, state("admitted", "u/6"))), true},
		{"as it was", before, pod(noted(oldStateKey, state("admitted", "u/6"), "mine", "1")), false},
		{"as it was, and one under the present key", before,
			pod(noted(oldStateKey, state("admitted", "u/6"), stateKey, state("admitted", "u/7"))), false},
		{"as it was, and an earlier one under the present key", before,
			pod(noted(oldStateKey, state("admitted", "u/6"), stateKey, state("admitted", "u/6"))), true},
		{"done, of an earlier term", before, pod(noted(oldStateKey, state("done", "u/6"))), false},
	} {
		t.Run(one.what, func(t *testing.T) {
			kind := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
			where := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
			attributes := admission.NewAttributesRecord(one.new, one.old, kind, "team", "p", where, "",
				admission.Update, nil, false, &user.DefaultInfo{Name: ours})
			expectDenied(t, validator, &admission.VersionedAttributes{Attributes: attributes, VersionedObject: one.new,
				VersionedOldObject: one.old, VersionedKind: kind}, lease, one.denied)
		})
	}
}

func fencing(t *testing.T) (validating.Validator, *coordination.Lease) {
	policy := readFrom(t, "../../../deploy/kubernetes/fencing.yaml")["divvy-scheduler-fencing"]
	if policy == nil {
		t.Fatal("no fencing policy")
	}
	message := policy.Spec.Validations[0].Message
	// The harness has no other use of plain messages.
	policy.Spec.Validations[0].MessageExpression = "'" + strings.ReplaceAll(message, "'", "\\'") + "'"
	transitions := int32(7)
	return compile(t, policy), &coordination.Lease{ObjectMeta: meta.ObjectMeta{UID: "u"},
		Spec: coordination.LeaseSpec{LeaseTransitions: &transitions}}
}

func expectDenied(t *testing.T, validator validating.Validator, attributes *admission.VersionedAttributes,
	lease *coordination.Lease, denied bool) {
	got := validator.Validate(context.Background(), attributes.GetResource(), attributes, lease,
		&core.Namespace{ObjectMeta: meta.ObjectMeta{Name: "team"}}, celconfig.RuntimeCELCostBudget, binders{})
	found := false
	for _, decision := range got.Decisions {
		found = found || decision.Action == validating.ActionDeny
		if decision.Evaluation == validating.EvalError {
			t.Errorf("an error and no decision: %s", decision.Message)
		}
	}
	if found != denied {
		t.Errorf("denied is %v: %v", found, got.Decisions)
	}
}

// The term of a binding counts under the present key and under that of the release before. Of a binding with both, each
// has to name the current one.
func TestFencing(t *testing.T) {
	validator, lease := fencing(t)
	for _, one := range []struct {
		what   string
		bound  *core.Binding
		denied bool
	}{
		{"without devices", binding("mine", "1"), false},
		{"with devices, of no term", binding(allocated, "a"), true},
		{"of this term", binding(allocated, "a", termKey, "u/7"), false},
		{"of this term, by a scheduler of before", binding(allocated, "a", oldTermKey, "u/7"), false},
		{"of this term, under both keys", binding(allocated, "a", termKey, "u/7", oldTermKey, "u/7"), false},
		{"of an earlier term", binding(allocated, "a", termKey, "u/6"), true},
		{"of an earlier term, by a scheduler of before", binding(allocated, "a", oldTermKey, "u/6"), true},
		{"of two terms", binding(allocated, "a", termKey, "u/7", oldTermKey, "u/6"), true},
		{"of two terms, the other way round", binding(allocated, "a", termKey, "u/6", oldTermKey, "u/7"), true},
		{"of another Lease", binding(allocated, "a", termKey, "v/7"), true},
		{"a term alone", binding(termKey, "of-nobody/0"), true},
		{"a term of before alone", binding(oldTermKey, "of-nobody/0"), true},
	} {
		t.Run(one.what, func(t *testing.T) {
			kind := schema.GroupVersionKind{Version: "v1", Kind: "Binding"}
			where := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
			attributes := admission.NewAttributesRecord(one.bound, nil, kind, "team", "p", where, "binding",
				admission.Create, nil, false, &user.DefaultInfo{Name: ours})
			expectDenied(t, validator, &admission.VersionedAttributes{Attributes: attributes,
				VersionedObject: one.bound, VersionedKind: kind}, lease, one.denied)
		})
	}
}
