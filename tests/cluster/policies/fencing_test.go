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

// The term of a binding counts under the present key and under that of the release before. Of a binding with both, each
// has to name the current one.
func TestFencing(t *testing.T) {
	policy := readFrom(t, "../../../deploy/kubernetes/fencing.yaml")["divvy-scheduler-fencing"]
	if policy == nil {
		t.Fatal("no fencing policy")
	}
	message := policy.Spec.Validations[0].Message
	// The harness has no other use of plain messages.
	policy.Spec.Validations[0].MessageExpression = "'" + strings.ReplaceAll(message, "'", "\\'") + "'"
	validator := compile(t, policy)
	transitions := int32(7)
	lease := &coordination.Lease{ObjectMeta: meta.ObjectMeta{UID: "u"},
		Spec: coordination.LeaseSpec{LeaseTransitions: &transitions}}
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
			got := validator.Validate(context.Background(), where,
				&admission.VersionedAttributes{Attributes: attributes, VersionedObject: one.bound, VersionedKind: kind},
				lease, &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: "team"}}, celconfig.RuntimeCELCostBudget,
				binders{})
			denied := false
			for _, decision := range got.Decisions {
				denied = denied || decision.Action == validating.ActionDeny
				if decision.Evaluation == validating.EvalError {
					t.Errorf("an error and no decision: %s", decision.Message)
				}
			}
			if denied != one.denied {
				t.Errorf("denied is %v: %v", denied, got.Decisions)
			}
		})
	}
}
