package webhook

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

func TestProtectedAnnotations(t *testing.T) {
	checks.Run(t, checks.Check{Name: "a-tenant-gives-itself-nothing",
		Requirement: "a tenant with pod create, patch and binding rights cannot forge or change an assignment",
		Run:         nothingForged})
}

// attempts: `held` is a pod that was given devices, `waits` one that was not yet.
func attempts(env *harness.Env, tenant *kubernetes.Clientset, held *core.Pod, waits string) []harness.Attempt {
	pods := tenant.CoreV1().Pods(env.Namespace)
	forged := held.Annotations[harness.AllocatedKey]
	create := func(key, value string) func() error {
		return func() error {
			p := harness.Pod("forged", harness.Container("c", harness.OneShare("1000", "10")))
			p.Annotations = map[string]string{key: value}
			_, err := pods.Create(env.Ctx, p, meta.CreateOptions{DryRun: harness.DryRun})
			return err
		}
	}
	patch := func(name, key, value string, subresources ...string) func() error {
		return func() error {
			_, err := pods.Patch(env.Ctx, name, types.MergePatchType, harness.AnnotationValuePatch(key, value),
				meta.PatchOptions{DryRun: harness.DryRun}, subresources...)
			return err
		}
	}
	bind := func(notes map[string]string) func() error {
		return func() error {
			return pods.Bind(env.Ctx, &core.Binding{
				ObjectMeta: meta.ObjectMeta{Name: waits, Annotations: notes},
				Target:     core.ObjectReference{Kind: "Node", Name: held.Spec.NodeName},
			}, meta.CreateOptions{DryRun: harness.DryRun})
		}
	}
	return []harness.Attempt{
		{What: "a new pod with devices of its own choice", Try: create(harness.AllocatedKey, forged)},
		{What: "a new pod with devices as Volcano gives them", Try: create(harness.VolcanoAssigned,
			"GPU-0,NVIDIA,1000,10:;")},
		{What: "devices as Volcano gives them for its pod", Try: patch(held.Name, harness.VolcanoAssigned,
			"GPU-0,NVIDIA,1000,10:;")},
		{What: "a new pod that names a term", Try: create(harness.LeaseTermKey, held.Annotations[harness.LeaseTermKey])},
		{What: "other devices for its pod", Try: patch(held.Name, harness.AllocatedKey, ";")},
		{What: "other devices for its pod, through its status", Try: patch(held.Name, harness.AllocatedKey, ";", "status")},
		{What: "another node for its pod", Try: patch(held.Name, harness.AssignedNodeKey, "elsewhere")},
		{What: "devices for a pod that waits", Try: patch(waits, harness.AllocatedKey, forged)},
		{What: "a binding that gives devices", Try: bind(map[string]string{harness.AllocatedKey: forged})},
		{What: "a binding of a pod with devices", Try: bind(nil)},
		{What: "a privileged container beside its share", Try: debugs(env, tenant, held.Name, true)},
	}
}

// debugs adds an ephemeral container, as kubectl debug does.
func debugs(env *harness.Env, tenant *kubernetes.Clientset, held string, privileged bool) func() error {
	return func() error {
		now, err := tenant.CoreV1().Pods(env.Namespace).Get(env.Ctx, held, meta.GetOptions{})
		if err != nil {
			return err
		}
		now.Spec.EphemeralContainers = []core.EphemeralContainer{{
			EphemeralContainerCommon: core.EphemeralContainerCommon{Name: "debug", Image: "none",
				SecurityContext: &core.SecurityContext{Privileged: &privileged}}}}
		_, err = tenant.CoreV1().Pods(env.Namespace).UpdateEphemeralContainers(env.Ctx, held, now,
			meta.UpdateOptions{DryRun: harness.DryRun})
		return err
	}
}

// precedence: what puts a pod before others, by every way in which a tenant could say it.
func precedence(env *harness.Env, tenant *kubernetes.Clientset, held string) []harness.Attempt {
	pods := tenant.CoreV1().Pods(env.Namespace)
	create := func(key, value string, more harness.Limits) func() error {
		return func() error {
			limits := harness.OneShare("1000", "10")
			for name, amount := range more {
				limits[name] = amount
			}
			p := harness.Pod("first", harness.Container("c", limits))
			p.Annotations = map[string]string{key: value}
			_, err := pods.Create(env.Ctx, p, meta.CreateOptions{DryRun: harness.DryRun})
			return err
		}
	}
	patch := func(key, value string, subresources ...string) func() error {
		return func() error {
			_, err := pods.Patch(env.Ctx, held, types.MergePatchType, harness.AnnotationValuePatch(key, value),
				meta.PatchOptions{DryRun: harness.DryRun}, subresources...)
			return err
		}
	}
	return []harness.Attempt{
		{What: "high priority of a new pod", Try: create("use.divvy.dev/priority", "high", nil)},
		{What: "high priority of a new pod, in HAMi's words", Try: create("mine", "1",
			harness.Limits{"nvidia.com/priority": "0"})},
		{What: "a new pod that is never evicted", Try: create("use.divvy.dev/evictable", "false", nil)},
		{What: "a new pod that runs for days", Try: create("use.divvy.dev/min-runtime", "72h", nil)},
		{What: "high priority of its pod", Try: patch("c.use.divvy.dev/priority", "high")},
		{What: "high priority of its pod, through its status", Try: patch("use.divvy.dev/priority", "high", "status")},
		{What: "a change to high priority", Try: patch("use.divvy.dev/change",
			`{"id":"a","container":"c","priority":"high"}`)},
	}
}

// A label of the namespace is all that it takes.
func firstByLabel(env *harness.Env, all []harness.Attempt) error {
	label := []byte(`{"metadata":{"labels":{"divvy.dev/may-set-priority":"true"}}}`)
	_, err := env.Client.CoreV1().Namespaces().Patch(env.Ctx, env.Namespace, types.MergePatchType, label,
		meta.PatchOptions{})
	if err != nil {
		return err
	}
	return env.AllPermitted("in a namespace with the label", all)
}

// The webhook refuses it, too, but of pods that ask it to look away.
func debugged(env *harness.Env, tenant *kubernetes.Clientset, held string) error {
	if err := env.WaitFor("a plain ephemeral container is accepted", debugs(env, tenant, held, false)); err != nil {
		return err
	}
	if err := debugs(env, tenant, held, true)(); err == nil || !strings.Contains(err.Error(),
		"ephemeral container debug is privileged") {
		return fmt.Errorf("a privileged ephemeral container is not refused by the webhook: %v", err)
	}
	away := []byte(`{"metadata":{"labels":{"hami.io/webhook":"ignore"}}}`)
	_, err := env.Client.CoreV1().Pods(env.Namespace).Patch(env.Ctx, held, types.MergePatchType, away, meta.PatchOptions{})
	return err
}

// What a tenant may always do.
func permitted(env *harness.Env, tenant *kubernetes.Clientset, held string) error {
	pods := tenant.CoreV1().Pods(env.Namespace)
	for _, key := range []string{"use.divvy.dev/node-policy", "example.com/note"} {
		_, err := pods.Patch(env.Ctx, held, types.MergePatchType, harness.AnnotationValuePatch(key, "binpack"),
			meta.PatchOptions{})
		if err != nil {
			return fmt.Errorf("its own annotation %s: %w", key, err)
		}
	}
	return nil
}

func nothingForged(env *harness.Env) error {
	tenant, err := env.TenantClient()
	if err != nil {
		return err
	}
	if _, err := env.Create(harness.Pod("held", harness.Container("c", harness.OneShare("3000", "30")))); err != nil {
		return err
	}
	held, err := env.WaitBound("held")
	if err != nil {
		return err
	}
	if _, err := env.Create(harness.Pod("waits", harness.Container("c", harness.OneShare("900000", "10")))); err != nil {
		return err
	}
	if err := permitted(env, tenant, held.Name); err != nil {
		return err
	}
	if err := debugged(env, tenant, held.Name); err != nil {
		return err
	}
	first := precedence(env, tenant, held.Name)
	all := append(attempts(env, tenant, held, "waits"), first...)
	for _, one := range all {
		if err := env.WaitFor(one.What+" is refused", harness.RefusedByPolicy(one.Try)); err != nil {
			return err
		}
	}
	// The control: it was the policies that refused, and not the tenant's rights.
	return errors.Join(env.WithoutPolicies(func() error {
		for _, one := range all {
			if err := env.WaitFor(one.What+" without policies", one.Try); err != nil {
				return err
			}
		}
		return nil
	}), env.WaitFor("policies hold again", harness.RefusedByPolicy(all[0].Try)), firstByLabel(env, first))
}
