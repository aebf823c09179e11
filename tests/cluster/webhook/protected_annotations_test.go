package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	admission "k8s.io/api/admissionregistration/v1"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func init() {
	checks = append(checks, check{"a-tenant-gives-itself-nothing",
		"a tenant with pod create, patch and binding rights cannot forge or change an assignment",
		nothingForged})
}

// A tenant may do what it likes to the pods of its namespace, as far as roles go: binding included.
func (w *world) tenant() (*kubernetes.Clientset, error) {
	const name = "tenant"
	what := &rbac.Role{ObjectMeta: meta.ObjectMeta{Name: name}, Rules: []rbac.PolicyRule{{
		APIGroups: []string{""}, Verbs: []string{"*"},
		Resources: []string{"pods", "pods/binding", "pods/status", "pods/ephemeralcontainers", "bindings"}}}}
	whose := &rbac.RoleBinding{ObjectMeta: meta.ObjectMeta{Name: name},
		RoleRef:  rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "Role", Name: name},
		Subjects: []rbac.Subject{{Kind: "ServiceAccount", Namespace: w.space, Name: name}}}
	accounts := w.client.CoreV1().ServiceAccounts(w.space)
	_, made := accounts.Create(w.ctx, &core.ServiceAccount{ObjectMeta: meta.ObjectMeta{Name: name}},
		meta.CreateOptions{})
	_, ruled := w.client.RbacV1().Roles(w.space).Create(w.ctx, what, meta.CreateOptions{})
	_, bound := w.client.RbacV1().RoleBindings(w.space).Create(w.ctx, whose, meta.CreateOptions{})
	if err := errors.Join(made, ruled, bound); err != nil {
		return nil, err
	}
	if err := w.mayAlready(name, w.space, what.Rules[0]); err != nil {
		return nil, err
	}
	token, err := accounts.CreateToken(w.ctx, name, &authentication.TokenRequest{}, meta.CreateOptions{})
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", w.path("kubeconfig"))
	if err != nil {
		return nil, err
	}
	config = rest.AnonymousClientConfig(config)
	config.BearerToken = token.Status.Token
	return kubernetes.NewForConfig(config)
}

// mayAlready waits until the API server has heard what the account may do in that namespace, or in all.
func (w *world) mayAlready(name, space string, rule rbac.PolicyRule) error {
	return w.until(name+" has its rights", func() error {
		asked := &authorization.SubjectAccessReview{Spec: authorization.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + w.space + ":" + name,
			ResourceAttributes: &authorization.ResourceAttributes{Namespace: space, Verb: rule.Verbs[0],
				Group: rule.APIGroups[0], Resource: rule.Resources[0]}}}
		answer, err := w.client.AuthorizationV1().SubjectAccessReviews().Create(w.ctx, asked, meta.CreateOptions{})
		if err == nil && !answer.Status.Allowed {
			err = fmt.Errorf("it may not %s %s: %s", rule.Verbs[0], rule.Resources[0], answer.Status.Reason)
		}
		return err
	})
}

// account is a kubeconfig of somebody who may do so much, and nothing else, in all namespaces.
func (w *world) account(name string, rules []rbac.PolicyRule) (string, func(), error) {
	called := w.space + "-" + name
	roles, bindings := w.client.RbacV1().ClusterRoles(), w.client.RbacV1().ClusterRoleBindings()
	file := w.path(called + ".kubeconfig")
	away := func() {
		_ = bindings.Delete(w.ctx, called, meta.DeleteOptions{})
		_ = roles.Delete(w.ctx, called, meta.DeleteOptions{})
		_ = os.Remove(file)
	}
	accounts := w.client.CoreV1().ServiceAccounts(w.space)
	_, made := accounts.Create(w.ctx, &core.ServiceAccount{ObjectMeta: meta.ObjectMeta{Name: name}},
		meta.CreateOptions{})
	_, ruled := roles.Create(w.ctx, &rbac.ClusterRole{ObjectMeta: meta.ObjectMeta{Name: called},
		Rules: rules}, meta.CreateOptions{})
	_, bound := bindings.Create(w.ctx, &rbac.ClusterRoleBinding{ObjectMeta: meta.ObjectMeta{Name: called},
		RoleRef:  rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: called},
		Subjects: []rbac.Subject{{Kind: "ServiceAccount", Namespace: w.space, Name: name}}},
		meta.CreateOptions{})
	if err := errors.Join(made, ruled, bound); err != nil {
		return "", away, err
	}
	if err := w.mayAlready(name, "", rules[0]); err != nil {
		return "", away, err
	}
	token, err := accounts.CreateToken(w.ctx, name, &authentication.TokenRequest{}, meta.CreateOptions{})
	if err != nil {
		return "", away, err
	}
	server := local("https", w.cluster.ports.Apiserver)
	return file, away, writeTokenKubeconfig(file, server, w.path("pki", "ca.crt"), token.Status.Token)
}

// An attempt is something that a tenant's rights let it do, and that a policy does not. It leaves
// nothing behind, whether it succeeds or not.
type attempt struct {
	what string
	try  func() error
}

var onlyTried = []string{meta.DryRunAll}

func noteOf(key, value string) []byte {
	text, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]string{key: value}}})
	if err != nil {
		panic(err) // two strings are always JSON
	}
	return text
}

// attempts: `held` is a pod that was given devices, `waits` one that was not yet.
func (w *world) attempts(tenant *kubernetes.Clientset, held *core.Pod, waits string) []attempt {
	pods := tenant.CoreV1().Pods(w.space)
	forged := held.Annotations[allocated]
	create := func(key, value string) func() error {
		return func() error {
			p := pod("forged", container("c", one("1000", "10")))
			p.Annotations = map[string]string{key: value}
			_, err := pods.Create(w.ctx, p, meta.CreateOptions{DryRun: onlyTried})
			return err
		}
	}
	patch := func(name, key, value string, subresources ...string) func() error {
		return func() error {
			_, err := pods.Patch(w.ctx, name, types.MergePatchType, noteOf(key, value),
				meta.PatchOptions{DryRun: onlyTried}, subresources...)
			return err
		}
	}
	bind := func(notes map[string]string) func() error {
		return func() error {
			return pods.Bind(w.ctx, &core.Binding{
				ObjectMeta: meta.ObjectMeta{Name: waits, Annotations: notes},
				Target:     core.ObjectReference{Kind: "Node", Name: held.Spec.NodeName},
			}, meta.CreateOptions{DryRun: onlyTried})
		}
	}
	return []attempt{
		{"a new pod with devices of its own choice", create(allocated, forged)},
		{"a new pod with devices as Volcano gives them", create(volcanoAssigned, "GPU-0,NVIDIA,1000,10:;")},
		{"devices as Volcano gives them for its pod", patch(held.Name, volcanoAssigned, "GPU-0,NVIDIA,1000,10:;")},
		{"a new pod that names a term", create(termOf, held.Annotations[termOf])},
		{"other devices for its pod", patch(held.Name, allocated, ";")},
		{"other devices for its pod, through its status", patch(held.Name, allocated, ";", "status")},
		{"another node for its pod", patch(held.Name, assigned, "elsewhere")},
		{"devices for a pod that waits", patch(waits, allocated, forged)},
		{"a binding that gives devices", bind(map[string]string{allocated: forged})},
		{"a binding of a pod with devices", bind(nil)},
		{"a privileged container beside its share", w.debugs(tenant, held.Name, true)},
	}
}

// debugs adds an ephemeral container, as kubectl debug does.
func (w *world) debugs(tenant *kubernetes.Clientset, held string, privileged bool) func() error {
	return func() error {
		now, err := tenant.CoreV1().Pods(w.space).Get(w.ctx, held, meta.GetOptions{})
		if err != nil {
			return err
		}
		now.Spec.EphemeralContainers = []core.EphemeralContainer{{
			EphemeralContainerCommon: core.EphemeralContainerCommon{Name: "debug", Image: "none",
				SecurityContext: &core.SecurityContext{Privileged: &privileged}}}}
		_, err = tenant.CoreV1().Pods(w.space).UpdateEphemeralContainers(w.ctx, held, now,
			meta.UpdateOptions{DryRun: onlyTried})
		return err
	}
}

// precedence: what puts a pod before others, by every way in which a tenant could say it.
func (w *world) precedence(tenant *kubernetes.Clientset, held string) []attempt {
	pods := tenant.CoreV1().Pods(w.space)
	create := func(key, value string, more asks) func() error {
		return func() error {
			limits := one("1000", "10")
			for name, amount := range more {
				limits[name] = amount
			}
			p := pod("first", container("c", limits))
			p.Annotations = map[string]string{key: value}
			_, err := pods.Create(w.ctx, p, meta.CreateOptions{DryRun: onlyTried})
			return err
		}
	}
	patch := func(key, value string, subresources ...string) func() error {
		return func() error {
			_, err := pods.Patch(w.ctx, held, types.MergePatchType, noteOf(key, value),
				meta.PatchOptions{DryRun: onlyTried}, subresources...)
			return err
		}
	}
	return []attempt{
		{"high priority of a new pod", create("use.divvy.dev/priority", "high", nil)},
		{"high priority of a new pod, in HAMi's words", create("mine", "1", asks{"nvidia.com/priority": "0"})},
		{"a new pod that is never evicted", create("use.divvy.dev/evictable", "false", nil)},
		{"a new pod that runs for days", create("use.divvy.dev/min-runtime", "72h", nil)},
		{"high priority of its pod", patch("c.use.divvy.dev/priority", "high")},
		{"high priority of its pod, through its status", patch("use.divvy.dev/priority", "high", "status")},
		{"a change to high priority", patch("use.divvy.dev/change", `{"id":"a","container":"c","priority":"high"}`)},
	}
}

// A label of the namespace is all that it takes.
func (w *world) firstByLabel(all []attempt) error {
	label := []byte(`{"metadata":{"labels":{"divvy.dev/may-set-priority":"true"}}}`)
	_, err := w.client.CoreV1().Namespaces().Patch(w.ctx, w.space, types.MergePatchType, label, meta.PatchOptions{})
	if err != nil {
		return err
	}
	return w.allPass("in a namespace with the label", all)
}

// The webhook refuses it, too, but of pods that ask it to look away.
func (w *world) debugged(tenant *kubernetes.Clientset, held string) error {
	if err := w.until("a plain ephemeral container is accepted", w.debugs(tenant, held, false)); err != nil {
		return err
	}
	if err := w.debugs(tenant, held, true)(); err == nil || !strings.Contains(err.Error(), "ephemeral container debug is privileged") {
		return fmt.Errorf("a privileged ephemeral container is not refused by the webhook: %v", err)
	}
	away := []byte(`{"metadata":{"labels":{"hami.io/webhook":"ignore"}}}`)
	_, err := w.client.CoreV1().Pods(w.space).Patch(w.ctx, held, types.MergePatchType, away, meta.PatchOptions{})
	return err
}

// What a tenant may always do.
func (w *world) permitted(tenant *kubernetes.Clientset, held string) error {
	pods := tenant.CoreV1().Pods(w.space)
	for _, key := range []string{"use.divvy.dev/node-policy", "example.com/note"} {
		_, err := pods.Patch(w.ctx, held, types.MergePatchType, noteOf(key, "binpack"),
			meta.PatchOptions{})
		if err != nil {
			return fmt.Errorf("its own annotation %s: %w", key, err)
		}
	}
	return nil
}

func nothingForged(w *world) error {
	tenant, err := w.tenant()
	if err != nil {
		return err
	}
	if _, err := w.create(pod("held", container("c", one("3000", "30")))); err != nil {
		return err
	}
	held, err := w.bound("held")
	if err != nil {
		return err
	}
	if _, err := w.create(pod("waits", container("c", one("900000", "10")))); err != nil {
		return err
	}
	if err := w.permitted(tenant, held.Name); err != nil {
		return err
	}
	if err := w.debugged(tenant, held.Name); err != nil {
		return err
	}
	first := w.precedence(tenant, held.Name)
	all := append(w.attempts(tenant, held, "waits"), first...)
	for _, one := range all {
		if err := w.until(one.what+" is refused", refusedByPolicy(one.try)); err != nil {
			return err
		}
	}
	// The control: it was the policies that refused, and not the tenant's rights.
	return errors.Join(w.withoutPolicies(func() error {
		for _, one := range all {
			if err := w.until(one.what+" without policies", one.try); err != nil {
				return err
			}
		}
		return nil
	}), w.until("policies hold again", refusedByPolicy(all[0].try)), w.firstByLabel(first))
}

func refusedByPolicy(try func() error) func() error {
	return func() error {
		err := try()
		if err == nil {
			return errors.New("it was let through")
		}
		if !strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'divvy-") {
			return fmt.Errorf("not by a policy of ours: %w", err)
		}
		return nil
	}
}

// withoutPolicies lets ours only note what they would refuse, and restores them however it ends.
func (w *world) withoutPolicies(run func() error) error {
	bindings := w.client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	list, err := bindings.List(w.ctx, meta.ListOptions{})
	if err != nil {
		return err
	}
	type actions = []admission.ValidationAction
	set := func(ctx context.Context, of func(actions) actions) error {
		var failed error
		for _, one := range list.Items {
			if !strings.HasPrefix(one.Name, "divvy-") {
				continue
			}
			text, err := json.Marshal(map[string]any{"spec": map[string]any{
				"validationActions": of(one.Spec.ValidationActions)}})
			if err == nil {
				_, err = bindings.Patch(ctx, one.Name, types.MergePatchType, text, meta.PatchOptions{})
			}
			failed = errors.Join(failed, err)
		}
		return failed
	}
	if err = set(w.ctx, func(actions) actions { return actions{admission.Audit} }); err == nil {
		err = run()
	}
	return errors.Join(err, set(context.WithoutCancel(w.ctx), func(before actions) actions { return before }))
}
