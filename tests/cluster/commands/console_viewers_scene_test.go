package commands

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"divvy.dev/tests/cluster/harness"
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

// Each namespace of the scene has a word, which all names, labels and images of it have. Viewers that may not read the
// namespace must never see the word.
var viewerWords = []string{"aardvark", "bullfinch", "capybara"}

// The name of the queue has this word. A pod of the first namespace runs in it, one of the second waits.
const queueWord = "quetzal"

// all namespaces, in rights.
const everyNamespace = "*"

// A viewerScene is three namespaces, each with pods on a node of its own.
type viewerScene struct {
	env    *harness.Env            // of accounts; it has no pods
	spaces map[string]*harness.Env // by word
	nodes  map[string]string       // by word
	queue  string
}

// namespaces are the names for words with blanks between, sorted.
func (s *viewerScene) namespaces(words string) []string {
	names := []string{}
	for _, word := range strings.Fields(words) {
		names = append(names, s.spaces[word].Namespace)
	}
	slices.Sort(names)
	return names
}

// withViewerScene makes the namespaces and their pods, and removes them after the run.
func withViewerScene(env *harness.Env, run func(*viewerScene) error) error {
	s := &viewerScene{env: env, spaces: map[string]*harness.Env{}, nodes: map[string]string{},
		queue: queueWord + "-" + env.Namespace}
	nodes, err := env.Client.CoreV1().Nodes().List(env.Ctx, meta.ListOptions{})
	if err != nil {
		return err
	}
	if len(nodes.Items) < len(viewerWords) {
		return fmt.Errorf("the cluster has %d nodes", len(nodes.Items))
	}
	for at, word := range viewerWords {
		s.nodes[word] = nodes.Items[at].Name
	}
	away, err := env.CreateQueue(s.queue, harness.QueueSpec{Limit: harness.DeviceAmount(1)})
	defer away()
	if err != nil {
		return err
	}
	return s.inNamespaces(viewerWords, func() error {
		for _, word := range viewerWords {
			if err := s.fill(word); err != nil {
				return err
			}
		}
		return run(s)
	})
}

func (s *viewerScene) inNamespaces(words []string, run func() error) error {
	if len(words) == 0 {
		return run()
	}
	space := *s.env
	space.Namespace += "-" + words[0]
	return space.InNamespace(func(env *harness.Env) error {
		s.spaces[words[0]] = env
		return s.inNamespaces(words[1:], run)
	})
}

// pod has the word everywhere.
func (s *viewerScene) pod(word, name string, limits harness.Limits) *core.Pod {
	container := harness.Container("container-"+word, limits)
	container.Image = "registry.invalid/image-" + word + ":1"
	p := harness.WithAnnotations(harness.Pod(word+"-"+name, container), "example.com/note", "note-"+word)
	p.Labels = map[string]string{"example.com/label": "label-" + word, "divvy.dev/model": "model-" + word}
	p.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": s.nodes[word]}
	return p
}

// The pods of the queue, by word.
var queuedPods = map[string]string{viewerWords[0]: "first", viewerWords[1]: "queued"}

// fill makes a team, a pod with a share, one that never fits, and the namespace's pod of the queue.
func (s *viewerScene) fill(word string) error {
	env := s.spaces[word]
	team := []byte(`{"metadata":{"labels":{"divvy.dev/team":"team-` + word + `"}}}`)
	_, err := env.Client.CoreV1().Namespaces().Patch(env.Ctx, env.Namespace, types.MergePatchType, team,
		meta.PatchOptions{})
	if err != nil {
		return err
	}
	pods := []*core.Pod{s.pod(word, "share", harness.OneShare("2048", "10")),
		s.pod(word, "waits", harness.Limits{"nvidia.com/gpu": "9"})}
	if name := queuedPods[word]; name != "" {
		p := s.pod(word, name, harness.Limits{"nvidia.com/gpu": "1"})
		pods = append(pods, harness.WithAnnotations(p, harness.QueueKey, s.queue))
	}
	for _, p := range pods {
		if _, err := env.Create(p); err != nil {
			return err
		}
		if p.Name == word+"-share" || p.Name == word+"-first" {
			if _, err := env.WaitBound(p.Name); err != nil {
				return err
			}
		}
	}
	if word == viewerWords[1] {
		if err := env.WaitQueuePending(s.queue, 1, "limit of queue "+s.queue); err != nil {
			return err
		}
	}
	return env.WaitEvents(word+"-waits", "FailedScheduling")
}

// Rights as the API server grants them. Pods and events: words with blanks between, or everyNamespace.
type viewerRights struct {
	nodes, queues bool
	pods, events  string
}

// A viewerShape is a service account, and the rights that it is given.
type viewerShape struct {
	name    string
	cluster []rbac.PolicyRule            // in all namespaces
	roles   map[string][]rbac.PolicyRule // by word
	missing string                       // word of a namespace with a binding of a role that does not exist
	api     bool                         // it signs in with a token of the API server
	want    viewerRights
}

// A viewer is an account with a token.
type viewer struct {
	viewerShape
	env     *harness.Env
	scene   *viewerScene
	client  *kubernetes.Clientset // with its own token of the API server
	token   string
	session *consoleSession
}

func reads(group string, resources ...string) []rbac.PolicyRule {
	return []rbac.PolicyRule{{APIGroups: []string{group}, Resources: resources,
		Verbs: []string{"get", "list", "watch"}}}
}

// Ten shapes of rights.
func viewerShapes() []viewerShape {
	a, b, c := viewerWords[0], viewerWords[1], viewerWords[2]
	both := reads("", "pods", "events")
	named := []rbac.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"},
		ResourceNames: []string{a + "-share", a + "-waits"}, Verbs: []string{"get", "list", "watch"}}}
	exec := []rbac.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods/exec", "pods/log"},
		Verbs: []string{"create", "get", "list"}}}
	return []viewerShape{
		{name: "whole", cluster: append(reads("", "nodes", "pods", "events"), reads("divvy.dev", "queues")...),
			want: viewerRights{true, true, everyNamespace, everyNamespace}},
		{name: "one", roles: map[string][]rbac.PolicyRule{a: both}, api: true,
			want: viewerRights{pods: a, events: a}},
		{name: "two", roles: map[string][]rbac.PolicyRule{a: both, c: both},
			want: viewerRights{pods: a + " " + c, events: a + " " + c}},
		{name: "none", missing: a},
		{name: "nodes", cluster: reads("", "nodes"), want: viewerRights{nodes: true}},
		{name: "exec", roles: map[string][]rbac.PolicyRule{a: exec}},
		{name: "events", roles: map[string][]rbac.PolicyRule{b: reads("", "events")}, want: viewerRights{events: b}},
		{name: "queues", cluster: reads("divvy.dev", "queues"), want: viewerRights{queues: true}},
		{name: "pods", cluster: reads("", "pods"), api: true, want: viewerRights{pods: everyNamespace}},
		{name: "named", roles: map[string][]rbac.PolicyRule{a: named}},
	}
}

func (v *viewer) user() string { return "system:serviceaccount:" + v.env.Namespace + ":" + v.name }

// newViewer makes the account, its rights and its token, and waits until the API server grants the rights. The second
// result removes what is outside of namespaces; it is never nil.
func newViewer(s *viewerScene, shape viewerShape) (*viewer, func(), error) {
	env := s.env
	v := &viewer{viewerShape: shape, env: env, scene: s}
	accounts := env.Client.CoreV1().ServiceAccounts(env.Namespace)
	_, made := accounts.Create(env.Ctx, &core.ServiceAccount{ObjectMeta: meta.ObjectMeta{Name: shape.name}},
		meta.CreateOptions{})
	away, granted := v.grantCluster()
	if err := errors.Join(made, granted); err != nil {
		return v, away, err
	}
	for word, rules := range shape.roles {
		if err := v.grant(word, rules); err != nil {
			return v, away, err
		}
	}
	if shape.missing != "" {
		if err := v.bind(shape.missing); err != nil {
			return v, away, err
		}
	}
	forServer, err := v.createToken()
	if err != nil {
		return v, away, err
	}
	v.token = forServer
	if !shape.api {
		if v.token, err = v.createToken("divvy-console"); err != nil {
			return v, away, err
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", env.Path("kubeconfig"))
	if err != nil {
		return v, away, err
	}
	config = rest.AnonymousClientConfig(config)
	config.BearerToken = forServer
	if v.client, err = kubernetes.NewForConfig(config); err != nil {
		return v, away, err
	}
	return v, away, env.WaitFor(v.name+" has its rights", v.checkRights)
}

func (v *viewer) createToken(audiences ...string) (string, error) {
	reply, err := v.env.Client.CoreV1().ServiceAccounts(v.env.Namespace).CreateToken(v.env.Ctx, v.name,
		&authentication.TokenRequest{Spec: authentication.TokenRequestSpec{Audiences: audiences}}, meta.CreateOptions{})
	if err != nil {
		return "", err
	}
	return reply.Status.Token, nil
}

func (v *viewer) subjects() []rbac.Subject {
	return []rbac.Subject{{Kind: "ServiceAccount", Namespace: v.env.Namespace, Name: v.name}}
}

func (v *viewer) grantCluster() (func(), error) {
	if v.cluster == nil {
		return func() {}, nil
	}
	name := v.env.Namespace + "-" + v.name
	roles, bindings := v.env.Client.RbacV1().ClusterRoles(), v.env.Client.RbacV1().ClusterRoleBindings()
	away := func() {
		_ = bindings.Delete(v.env.Ctx, name, meta.DeleteOptions{})
		_ = roles.Delete(v.env.Ctx, name, meta.DeleteOptions{})
	}
	_, ruled := roles.Create(v.env.Ctx, &rbac.ClusterRole{ObjectMeta: meta.ObjectMeta{Name: name}, Rules: v.cluster},
		meta.CreateOptions{})
	_, bound := bindings.Create(v.env.Ctx, &rbac.ClusterRoleBinding{ObjectMeta: meta.ObjectMeta{Name: name},
		RoleRef:  rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: v.subjects()}, meta.CreateOptions{})
	return away, errors.Join(ruled, bound)
}

func (v *viewer) grant(word string, rules []rbac.PolicyRule) error {
	space := v.scene.spaces[word]
	_, err := space.Client.RbacV1().Roles(space.Namespace).Create(space.Ctx, &rbac.Role{
		ObjectMeta: meta.ObjectMeta{Name: v.name}, Rules: rules}, meta.CreateOptions{})
	return errors.Join(err, v.bind(word))
}

func (v *viewer) bind(word string) error {
	space := v.scene.spaces[word]
	_, err := space.Client.RbacV1().RoleBindings(space.Namespace).Create(space.Ctx, &rbac.RoleBinding{
		ObjectMeta: meta.ObjectMeta{Name: v.name},
		RoleRef:    rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "Role", Name: v.name},
		Subjects:   v.subjects()}, meta.CreateOptions{})
	return err
}

// may asks the API server with the viewer's own token.
func (v *viewer) may(group, resource, namespace string) (bool, error) {
	reply, err := v.client.AuthorizationV1().SelfSubjectAccessReviews().Create(v.env.Ctx,
		&authorization.SelfSubjectAccessReview{Spec: authorization.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorization.ResourceAttributes{Verb: "list", Group: group, Resource: resource,
				Namespace: namespace}}}, meta.CreateOptions{})
	if err != nil {
		return false, err
	}
	return reply.Status.Allowed, nil
}

// rights are those that the API server states.
func (v *viewer) rights() (viewerRights, error) {
	var found viewerRights
	var err, failed error
	found.nodes, err = v.may("", "nodes", "")
	found.queues, failed = v.may("divvy.dev", "queues", "")
	if err := errors.Join(err, failed); err != nil {
		return found, err
	}
	for resource, into := range map[string]*string{"pods": &found.pods, "events": &found.events} {
		all, err := v.may("", resource, "")
		if err != nil {
			return found, err
		}
		if all {
			*into = everyNamespace
			continue
		}
		words := []string{}
		for _, word := range viewerWords {
			one, err := v.may("", resource, v.scene.spaces[word].Namespace)
			if err != nil {
				return found, err
			}
			if one {
				words = append(words, word)
			}
		}
		*into = strings.Join(words, " ")
	}
	return found, nil
}

// checkRights: the shape has the rights that it is meant to have.
func (v *viewer) checkRights() error {
	found, err := v.rights()
	if err == nil && found != v.want {
		err = fmt.Errorf("the rights of %s are %+v, and not %+v", v.name, found, v.want)
	}
	return err
}

func holds(words, word string) bool {
	return words == everyNamespace || slices.Contains(strings.Fields(words), word)
}

// seesPods: it may list the pods of the namespace.
func (v *viewer) seesPods(word string) bool { return holds(v.want.pods, word) }

// seesEvents: it may list the events of the namespace.
func (v *viewer) seesEvents(word string) bool { return holds(v.want.events, word) }

// seesQueue: it may list queues, or pods of a namespace with a pod of the queue.
func (v *viewer) seesQueue() bool {
	return v.want.queues || v.seesPods(viewerWords[0]) || v.seesPods(viewerWords[1])
}
