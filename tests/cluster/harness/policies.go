package harness

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

func (env *Env) DryRunPod(p *core.Pod) error {
	_, err := env.Client.CoreV1().Pods(env.Namespace).Create(env.Ctx, p, meta.CreateOptions{DryRun: DryRun})
	return err
}

// A tenant may do what it likes to the pods of its namespace, as far as roles go: binding included.
func (env *Env) TenantClient() (*kubernetes.Clientset, error) {
	const name = "tenant"
	what := &rbac.Role{ObjectMeta: meta.ObjectMeta{Name: name}, Rules: []rbac.PolicyRule{{
		APIGroups: []string{""}, Verbs: []string{"*"},
		Resources: []string{"pods", "pods/binding", "pods/status", "pods/ephemeralcontainers", "bindings"}}}}
	whose := &rbac.RoleBinding{ObjectMeta: meta.ObjectMeta{Name: name},
		RoleRef:  rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "Role", Name: name},
		Subjects: []rbac.Subject{{Kind: "ServiceAccount", Namespace: env.Namespace, Name: name}}}
	accounts := env.Client.CoreV1().ServiceAccounts(env.Namespace)
	_, made := accounts.Create(env.Ctx, &core.ServiceAccount{ObjectMeta: meta.ObjectMeta{Name: name}},
		meta.CreateOptions{})
	_, ruled := env.Client.RbacV1().Roles(env.Namespace).Create(env.Ctx, what, meta.CreateOptions{})
	_, bound := env.Client.RbacV1().RoleBindings(env.Namespace).Create(env.Ctx, whose, meta.CreateOptions{})
	if err := errors.Join(made, ruled, bound); err != nil {
		return nil, err
	}
	if err := env.mayAlready(name, env.Namespace, what.Rules[0]); err != nil {
		return nil, err
	}
	token, err := accounts.CreateToken(env.Ctx, name, &authentication.TokenRequest{}, meta.CreateOptions{})
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", env.Path("kubeconfig"))
	if err != nil {
		return nil, err
	}
	config = rest.AnonymousClientConfig(config)
	config.BearerToken = token.Status.Token
	return kubernetes.NewForConfig(config)
}

// mayAlready waits until the API server has heard what the account may do in that namespace, or in all.
func (env *Env) mayAlready(name, namespace string, rule rbac.PolicyRule) error {
	return env.WaitFor(name+" has its rights", func() error {
		asked := &authorization.SubjectAccessReview{Spec: authorization.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + env.Namespace + ":" + name,
			ResourceAttributes: &authorization.ResourceAttributes{Namespace: namespace, Verb: rule.Verbs[0],
				Group: rule.APIGroups[0], Resource: rule.Resources[0]}}}
		reply, err := env.Client.AuthorizationV1().SubjectAccessReviews().Create(env.Ctx, asked, meta.CreateOptions{})
		if err == nil && !reply.Status.Allowed {
			err = fmt.Errorf("it may not %s %s: %s", rule.Verbs[0], rule.Resources[0], reply.Status.Reason)
		}
		return err
	})
}

// CreateAccount is a kubeconfig of somebody who may do so much, and nothing else, in all namespaces.
func (env *Env) CreateAccount(name string, rules []rbac.PolicyRule) (string, func(), error) {
	called := env.Namespace + "-" + name
	roles, bindings := env.Client.RbacV1().ClusterRoles(), env.Client.RbacV1().ClusterRoleBindings()
	file := env.Path(called + ".kubeconfig")
	accounts := env.Client.CoreV1().ServiceAccounts(env.Namespace)
	away := func() {
		_ = accounts.Delete(env.Ctx, name, meta.DeleteOptions{})
		_ = bindings.Delete(env.Ctx, called, meta.DeleteOptions{})
		_ = roles.Delete(env.Ctx, called, meta.DeleteOptions{})
		_ = os.Remove(file)
	}
	_, made := accounts.Create(env.Ctx, &core.ServiceAccount{ObjectMeta: meta.ObjectMeta{Name: name}},
		meta.CreateOptions{})
	_, ruled := roles.Create(env.Ctx, &rbac.ClusterRole{ObjectMeta: meta.ObjectMeta{Name: called},
		Rules: rules}, meta.CreateOptions{})
	_, bound := bindings.Create(env.Ctx, &rbac.ClusterRoleBinding{ObjectMeta: meta.ObjectMeta{Name: called},
		RoleRef:  rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: called},
		Subjects: []rbac.Subject{{Kind: "ServiceAccount", Namespace: env.Namespace, Name: name}}},
		meta.CreateOptions{})
	if err := errors.Join(made, ruled, bound); err != nil {
		return "", away, err
	}
	if err := env.mayAlready(name, "", rules[0]); err != nil {
		return "", away, err
	}
	token, err := accounts.CreateToken(env.Ctx, name, &authentication.TokenRequest{}, meta.CreateOptions{})
	if err != nil {
		return "", away, err
	}
	server := LocalURL("https", env.Cluster.Ports.Apiserver)
	return file, away, writeTokenKubeconfig(file, server, env.Path("pki", "ca.crt"), token.Status.Token)
}

// An Attempt is something that a tenant's rights let it do, and that a policy does not. It leaves
// nothing behind, whether it succeeds or not.
type Attempt struct {
	What string
	Try  func() error
}

var DryRun = []string{meta.DryRunAll}

func AnnotationValuePatch(key, value string) []byte {
	text, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]string{key: value}}})
	if err != nil {
		panic(err) // two strings are always JSON
	}
	return text
}

func RefusedByPolicy(try func() error) func() error {
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

// WithoutPolicies lets ours only note what they would refuse, and restores them however it ends.
func (env *Env) WithoutPolicies(run func() error) error {
	bindings := env.Client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	list, err := bindings.List(env.Ctx, meta.ListOptions{})
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
	if err = set(env.Ctx, func(actions) actions { return actions{admission.Audit} }); err == nil {
		err = run()
	}
	return errors.Join(err, set(context.WithoutCancel(env.Ctx), func(before actions) actions { return before }))
}
