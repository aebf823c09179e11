package commands

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"divvy.dev/tests/cluster/harness"
	authorization "k8s.io/api/authorization/v1"
	rbac "k8s.io/api/rbac/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// recordedCalls counts what passes a proxy.
type recordedCalls struct {
	mutex sync.Mutex
	lists map[string]int // by path
	asked map[string]int // by user that is impersonated
	dry   int            // pods that are created in a dry run
	other []string       // what is neither a read nor that
}

func (r *recordedCalls) see(request *http.Request) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.asked[request.Header.Get("Impersonate-User")]++
	query, path := request.URL.Query(), request.URL.Path
	last := path[strings.LastIndex(path, "/")+1:]
	switch {
	case request.Method == http.MethodGet && query.Get("watch") != "":
	case request.Method == http.MethodGet && slices.Contains(append(consoleCollections, "deviceclasses"), last):
		r.lists[last]++
	case request.Method == http.MethodGet:
	case request.Method == http.MethodPost && last == "pods" && slices.Equal(query["dryRun"], []string{"All"}):
		r.dry++
	default:
		r.other = append(r.other, request.Method+" "+request.URL.String())
	}
	return false // nothing is held
}

// listed is how often each collection was listed so far.
func (r *recordedCalls) listed() map[string]int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return maps.Clone(r.lists)
}

// recorded is a proxy before the API server, and what passes it.
func recorded(env *harness.Env) (*harness.Proxy, *recordedCalls, error) {
	proxy, err := harness.NewProxy(harness.LocalURL("https", env.Cluster.Ports.Apiserver), env.Path("pki", "ca.crt"))
	if err != nil {
		return nil, nil, err
	}
	calls := &recordedCalls{lists: map[string]int{}, asked: map[string]int{}}
	proxy.Holds = calls.see
	proxy.Hold()
	return proxy, calls, nil
}

// consoleUser is a user that may read nodes and pods of all namespaces, and create pods in the check's.
func consoleUser(env *harness.Env) (string, func(), error) {
	name := env.Namespace + "-user"
	roles, bindings := env.Client.RbacV1().ClusterRoles(), env.Client.RbacV1().ClusterRoleBindings()
	away := func() {
		_ = bindings.Delete(env.Ctx, name, meta.DeleteOptions{})
		_ = roles.Delete(env.Ctx, name, meta.DeleteOptions{})
	}
	user := []rbac.Subject{{Kind: rbac.UserKind, APIGroup: rbac.GroupName, Name: name}}
	_, ruled := roles.Create(env.Ctx, &rbac.ClusterRole{ObjectMeta: meta.ObjectMeta{Name: name},
		Rules: []rbac.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes", "pods"},
			Verbs: []string{"get", "list", "watch"}}}}, meta.CreateOptions{})
	_, bound := bindings.Create(env.Ctx, &rbac.ClusterRoleBinding{ObjectMeta: meta.ObjectMeta{Name: name},
		RoleRef: rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: name}, Subjects: user},
		meta.CreateOptions{})
	_, allowed := env.Client.RbacV1().Roles(env.Namespace).Create(env.Ctx, &rbac.Role{
		ObjectMeta: meta.ObjectMeta{Name: name}, Rules: []rbac.PolicyRule{{APIGroups: []string{""},
			Resources: []string{"pods"}, Verbs: []string{"create"}}}}, meta.CreateOptions{})
	_, granted := env.Client.RbacV1().RoleBindings(env.Namespace).Create(env.Ctx, &rbac.RoleBinding{
		ObjectMeta: meta.ObjectMeta{Name: name},
		RoleRef:    rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "Role", Name: name}, Subjects: user},
		meta.CreateOptions{})
	if err := errors.Join(ruled, bound, allowed, granted); err != nil {
		return name, away, err
	}
	return name, away, env.WaitFor(name+" has its rights", func() error {
		for _, one := range []authorization.ResourceAttributes{{Verb: "list", Resource: "nodes"},
			{Verb: "create", Resource: "pods", Namespace: env.Namespace}} {
			reply, err := env.Client.AuthorizationV1().SubjectAccessReviews().Create(env.Ctx,
				&authorization.SubjectAccessReview{Spec: authorization.SubjectAccessReviewSpec{User: name,
					ResourceAttributes: &one}}, meta.CreateOptions{})
			if err == nil && !reply.Status.Allowed {
				err = fmt.Errorf("it may not %s %s", one.Verb, one.Resource)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// How long a console is watched that has nothing to do.
const consoleRest = 10 * time.Second

// One console has all rights, the other one those of a user that it impersonates. What both ask of the API server
// passes a proxy each.
func consoleRights(env *harness.Env) error {
	if err := someHoldAndOneWaits(env, 2); err != nil {
		return err
	}
	user, away, err := consoleUser(env)
	defer away()
	if err != nil {
		return err
	}
	file, gone, err := env.CreateAccount("gate", []rbac.PolicyRule{{APIGroups: []string{""},
		Resources: []string{"users"}, Verbs: []string{"impersonate"}}})
	defer gone()
	if err != nil {
		return err
	}
	reader, left, err := env.CreateAccount("reader", []rbac.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes", "pods", "resourcequotas", "namespaces", "events"},
			Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"policy"}, Resources: []string{"poddisruptionbudgets"},
			Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"divvy.dev"}, Resources: []string{"queues"}, Verbs: []string{"get", "list", "watch"}}})
	defer left()
	if err != nil {
		return err
	}
	log, err := harness.OpenAudit(env.Path("audit.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	few, fewCalls, ended, err := consoleBehindProxy(env, []string{"nodes", "pods"}, "--kubeconfig", file, "--as", user)
	defer ended()
	if err != nil {
		return err
	}
	all, allCalls, closed, err := consoleBehindProxy(env, consoleCollections, "--kubeconfig", reader)
	defer closed()
	if err != nil {
		return err
	}
	if err := sameRows(env, few, all); err != nil {
		return err
	}
	if err := atRest(map[*consoleSession]*recordedCalls{few: fewCalls, all: allCalls}); err != nil {
		return err
	}
	env.Note = fmt.Sprintf("lists after %v at rest: with few rights %v, with all %v", consoleRest, fewCalls.listed(),
		allCalls.listed())
	if err := few.asksWithin(fewCalls, user); err != nil {
		return err
	}
	return onlyDryRuns(env, log, "system:serviceaccount:"+env.Namespace+":gate",
		"system:serviceaccount:"+env.Namespace+":reader")
}

func consoleBehindProxy(env *harness.Env, read []string, options ...string) (*consoleSession, *recordedCalls, func(),
	error) {
	proxy, calls, err := recorded(env)
	if err != nil {
		return nil, nil, func() {}, err
	}
	s, end, err := openConsole(env, append(options, "--server", proxy.URL())...)
	away := func() {
		end()
		proxy.Close()
	}
	if err != nil {
		return nil, nil, away, err
	}
	return s, calls, away, s.waitRead(read...)
}

// sameRows: devices, shares and waiting pods do not depend on the other collections.
func sameRows(env *harness.Env, few, all *consoleSession) error {
	return env.WaitFor("both consoles show the same", func() error {
		one, err := few.settled()
		if err != nil {
			return err
		}
		other, err := all.settled()
		if err == nil && (one != other || !strings.Contains(one, "waits")) {
			err = fmt.Errorf("with few rights\n%s\nand with all\n%s", one, other)
		}
		return err
	})
}

// atRest reads the pages of consoles that have nothing to do, for a time. They list nothing of what they have read: a
// collection that they may not list is tried again now and then.
func atRest(consoles map[*consoleSession]*recordedCalls) error {
	before := map[*consoleSession]map[string]int{}
	for s, calls := range consoles {
		before[s] = calls.listed()
	}
	for end := time.Now().Add(consoleRest); time.Now().Before(end); {
		for s := range consoles {
			if _, err := s.settled(); err != nil {
				return err
			}
		}
	}
	for s, calls := range consoles {
		sources, err := s.sources()
		if err != nil {
			return err
		}
		for name, count := range calls.listed() {
			more := count - before[s][name]
			// Those of the scheduler, and those of consoles.
			want := 1
			if name == "events" {
				want = 2
			}
			if sources[name].State == "ok" && (more != 0 || count != want) {
				return fmt.Errorf("%s were listed %d times, %d times at rest", name, count, more)
			}
			// Pauses grow.
			if more > int(consoleRest/time.Second) {
				return fmt.Errorf("%s, which may not be listed, were asked for %d times in %v", name, more, consoleRest)
			}
		}
	}
	return nil
}

// asksWithin: explanations and plans need only the user's rights, and plans are dry runs. All calls are the user's.
func (s *consoleSession) asksWithin(calls *recordedCalls, user string) error {
	if err := s.env.WaitFor("waits is explained alike", func() error { return s.explainedWithin("waits") }); err != nil {
		return err
	}
	text, err := s.plan(plannedPods)
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), "/first") {
		return fmt.Errorf("the plan is %s", text)
	}
	calls.mutex.Lock()
	defer calls.mutex.Unlock()
	if len(calls.other) != 0 || calls.dry != 4 {
		return fmt.Errorf("%d pods were created in dry runs; other calls are %v", calls.dry, calls.other)
	}
	if len(calls.asked) != 1 || calls.asked[user] == 0 {
		return fmt.Errorf("the calls are made as %v, and not only as %s", calls.asked, user)
	}
	return nil
}

func (s *consoleSession) explainedWithin(name string) error {
	var answer struct {
		Explanation struct {
			Fits  bool
			Nodes []any
		}
	}
	err := s.get(&answer, "waiting/"+s.env.Namespace+"/"+name+"/explain")
	if err == nil && (answer.Explanation.Fits || len(answer.Explanation.Nodes) != harness.NodeCount) {
		err = fmt.Errorf("the explanation is %+v", answer)
	}
	return err
}

// onlyDryRuns: the audit log has the plan's pods of these accounts, and no other write.
func onlyDryRuns(env *harness.Env, log *harness.Audit, accounts ...string) error {
	created := 0
	var other []string
	return env.WaitFor("the audit log has the plan's dry runs", func() error {
		err := log.Read(func(one *harness.AuditedWrite) {
			if !slices.Contains(accounts, one.User.Username) {
				return
			}
			if one.Verb == "create" && one.Object.Resource == "pods" && one.Object.Subresource == "" {
				created++
			} else {
				other = append(other, one.Verb+" "+one.Object.Resource+" "+one.Object.Name)
			}
		})
		if err == nil && (created != 4 || len(other) != 0) {
			err = fmt.Errorf("%d pods are created; other writes are %v", created, other)
		}
		return err
	})
}
