package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"divvy.dev/tests/cluster/harness"
	rbac "k8s.io/api/rbac/v1"
)

// keptText is output of a program, or a stream, that several goroutines use.
type keptText struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (k *keptText) Write(more []byte) (int, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.text.Write(more)
}

func (k *keptText) String() string {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.text.String()
}

// Rights of the console's own account: the reads of docs/guides/console-cluster.md, and reviews.
var viewerConsoleRules = []rbac.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"nodes", "pods", "namespaces", "resourcequotas", "events"},
		Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"policy"}, Resources: []string{"poddisruptionbudgets"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"divvy.dev"}, Resources: []string{"queues"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"resource.k8s.io"}, Resources: []string{"deviceclasses"}, Verbs: []string{"get", "list"}},
	{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
	{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}},
}

const viewerConsoleAccount = "console"

// A viewerConsole is a running `divvy console --cluster --login token`.
type viewerConsole struct {
	env  *harness.Env
	base string // address, without the last slash
	said *keptText
}

var servedAddress = regexp.MustCompile(`The console serves (http://\S+)/; viewers sign in `)

// openViewerConsole starts a console with an account of its own, and waits until it has read the cluster. The second
// result ends it; it is never nil.
func openViewerConsole(env *harness.Env, options ...string) (*viewerConsole, func(), error) {
	file, gone, err := env.CreateAccount(viewerConsoleAccount, viewerConsoleRules)
	if err != nil {
		return nil, gone, err
	}
	ctx, cancel := context.WithCancel(env.Ctx)
	if !slices.Contains(options, "--login") {
		options = append(options, "--login", "token")
	}
	options = append([]string{"console", "--cluster", "--history", "memory",
		"--listen", "127.0.0.1:0", "--kubeconfig", file, "--agents", "none", "--name", "the-cluster"}, options...)
	command := exec.CommandContext(ctx, env.Divvy, options...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = harness.StopBound
	c := &viewerConsole{env: env, said: &keptText{}}
	command.Stdout, command.Stderr = c.said, c.said
	if err := command.Start(); err != nil {
		cancel()
		return nil, gone, err
	}
	end := func() {
		cancel()
		_ = command.Wait()
		gone()
	}
	err = env.WaitFor("the console serves", func() error {
		found := servedAddress.FindStringSubmatch(c.said.String())
		if found == nil {
			return fmt.Errorf("it says %q", c.said.String())
		}
		c.base = found[1]
		return nil
	})
	return c, end, err
}

// answer is status and body of a request without a session.
func (c *viewerConsole) answer(method, path, bearer string, body []byte) (int, string, error) {
	ctx, cancel := context.WithTimeout(c.env.Ctx, time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, c.base+"/api/v1/"+path, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if bearer != "" {
		request.Header.Set("Authorization", "Bearer "+bearer)
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	return reply.StatusCode, string(text), err
}

func tokenBody(token string) []byte {
	body, err := json.Marshal(map[string]string{"token": token})
	if err != nil {
		panic(err) // a string is always JSON
	}
	return body
}

// signIn opens a session. A console that signs in too many viewers at once is asked again.
func (c *viewerConsole) signIn(token string) (*consoleSession, error) {
	s := &consoleSession{env: c.env, base: c.base}
	err := c.env.WaitFor("a viewer signs in", func() error {
		reply, err := s.send(c.env.Ctx, http.MethodPost, "session", tokenBody(token))
		if err != nil {
			return err
		}
		defer reply.Body.Close()
		text, err := io.ReadAll(reply.Body)
		var opened struct{ Csrf string }
		if err == nil && reply.StatusCode == http.StatusOK {
			err = json.Unmarshal(text, &opened)
		}
		if cookies := reply.Cookies(); len(cookies) == 1 {
			s.cookie = cookies[0]
		}
		if err != nil || reply.StatusCode != http.StatusOK || opened.Csrf == "" || s.cookie == nil {
			return errors.Join(err, fmt.Errorf("the session is %d %s", reply.StatusCode, text))
		}
		s.csrf = opened.Csrf
		return nil
	})
	return s, err
}

// raw is status and body of a request of the session.
func (s *consoleSession) raw(path string) (int, string, error) {
	ctx, cancel := context.WithTimeout(s.env.Ctx, time.Minute)
	defer cancel()
	reply, err := s.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return 0, "", err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	return reply.StatusCode, string(text), err
}

// A viewerScope is the member scope of a session. A list that is null is all namespaces.
type viewerScope struct {
	Everything, Nodes, Queues bool
	Pods, Events              *[]string
}

type viewerSession struct {
	User  string
	WayIn string `json:"way_in"`
	Node  string
	Can   struct{ Change, Plan bool }
	Scope viewerScope
}

// checkSession: user, way in, scope and changes are as the API server says.
func (v *viewer) checkSession() error {
	var shown viewerSession
	if err := v.session.get(&shown, "session"); err != nil {
		return err
	}
	way := map[bool]string{true: "api-token", false: "console-token"}[v.api]
	if shown.User != v.user() || shown.WayIn != way || shown.Can.Change || shown.Can.Plan != v.api ||
		shown.Node != "the-cluster" {
		return fmt.Errorf("the session of %s is %+v", v.name, shown)
	}
	scope := shown.Scope
	all := v.want.pods == everyNamespace && v.want.events == everyNamespace && v.want.nodes && v.want.queues
	if scope.Nodes != v.want.nodes || scope.Queues != v.want.queues || scope.Everything != all {
		return fmt.Errorf("the scope of %s is %+v; its rights are %+v", v.name, scope, v.want)
	}
	for what, lists := range map[string]struct {
		shown *[]string
		want  string
	}{"pods": {scope.Pods, v.want.pods}, "events": {scope.Events, v.want.events}} {
		if (lists.shown == nil) != (lists.want == everyNamespace) {
			return fmt.Errorf("%s of %s are of %v; its rights are %+v", what, v.name, lists.shown, v.want)
		}
		if lists.shown == nil {
			continue
		}
		if want := v.scene.namespaces(lists.want); !slices.Equal(slices.Sorted(slices.Values(*lists.shown)), want) {
			return fmt.Errorf("%s of %s are of %v, and not of %v", what, v.name, *lists.shown, want)
		}
	}
	return nil
}

// A viewerStream keeps all that a stream sends.
type viewerStream struct {
	text  keptText
	ended chan struct{} // closed when the console ends it
}

const viewerTopics = "overview,nodes,devices,shares,waiting,workloads,queues,pools,teams,models,events"

// follow opens a stream of all topics. It is open when this returns.
func (v *viewer) follow(ctx context.Context) (*viewerStream, error) {
	reply, err := v.session.send(ctx, http.MethodGet, "stream?topics="+viewerTopics, nil)
	if err != nil {
		return nil, err
	}
	if kind := reply.Header.Get("Content-Type"); reply.StatusCode != http.StatusOK || kind != "text/event-stream" {
		reply.Body.Close()
		return nil, fmt.Errorf("the stream of %s is %d %s", v.name, reply.StatusCode, kind)
	}
	s := &viewerStream{ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		defer reply.Body.Close()
		_, _ = io.Copy(&s.text, reply.Body)
	}()
	return s, v.env.WaitFor("the stream of "+v.name+" is open", func() error {
		if s.text.String() == "" {
			return errors.New("it has sent nothing")
		}
		return nil
	})
}

// has: a message of the stream has the text.
func (s *viewerStream) has(text string) bool { return strings.Contains(s.text.String(), text) }
