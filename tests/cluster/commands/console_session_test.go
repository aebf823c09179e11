package commands

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"syscall"
	"time"

	"divvy.dev/tests/cluster/harness"
)

// How long the page may be behind the API server.
const consoleBound = 5 * time.Second

// A consoleSession is a running `divvy console --cluster`, and a session of it.
type consoleSession struct {
	env    *harness.Env
	base   string // address of the console, without the last slash
	cookie *http.Cookie
	csrf   string
}

// openConsole starts a console with further options, and opens a session by the printed link. The second result ends
// the console; it is never nil.
func openConsole(env *harness.Env, options ...string) (*consoleSession, func(), error) {
	ctx, cancel := context.WithCancel(env.Ctx)
	command := exec.CommandContext(ctx, env.Divvy, append([]string{"console", "--cluster", "--history", "memory",
		"--listen", "127.0.0.1:0"}, options...)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+env.Path("kubeconfig"))
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = harness.StopBound
	var aside bytes.Buffer
	command.Stderr = &aside
	out, in, err := os.Pipe()
	if err != nil {
		cancel()
		return nil, cancel, err
	}
	command.Stdout = in
	err = command.Start()
	_ = in.Close()
	if err != nil {
		_ = out.Close()
		cancel()
		return nil, cancel, err
	}
	end := func() {
		cancel()
		_ = command.Wait()
		_ = out.Close()
	}
	link, err := printedLink(out)
	if err != nil {
		end()
		return nil, func() {}, fmt.Errorf("divvy console: %w: %s", err, aside.String())
	}
	s := &consoleSession{env: env}
	if err = s.open(link); err != nil {
		end()
		return nil, func() {}, err
	}
	return s, end, nil
}

// printedLink is the first address in the output. Later lines are read and dropped, so that no write blocks.
func printedLink(out *os.File) (string, error) {
	if err := out.SetReadDeadline(time.Now().Add(harness.ReadyBound)); err != nil {
		return "", err
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if at := strings.Index(line, "http://"); at >= 0 {
			if err := out.SetReadDeadline(time.Time{}); err != nil {
				return "", err
			}
			go func() { _, _ = io.Copy(io.Discard, lines) }()
			return strings.TrimSpace(line[at:]), nil
		}
		if err != nil {
			return "", fmt.Errorf("no link was printed: %w", err)
		}
	}
}

func (s *consoleSession) open(link string) error {
	base, token, found := strings.Cut(link, "/#token=")
	if !found {
		return fmt.Errorf("the link %q has no token", link)
	}
	s.base = base
	body, err := json.Marshal(map[string]string{"token": token})
	if err != nil {
		return err
	}
	reply, err := s.send(s.env.Ctx, http.MethodPost, "session", body)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	var opened struct{ Csrf, Mode string }
	if err := json.NewDecoder(reply.Body).Decode(&opened); err != nil {
		return err
	}
	if cookies := reply.Cookies(); len(cookies) == 1 {
		s.cookie = cookies[0]
	}
	if reply.StatusCode != http.StatusOK || s.cookie == nil || opened.Csrf == "" || opened.Mode != "cluster" {
		return fmt.Errorf("the session is %d, %+v, cookies %v", reply.StatusCode, opened, reply.Cookies())
	}
	s.csrf = opened.Csrf
	return nil
}

func (s *consoleSession) send(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.base+"/api/v1/"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if s.cookie != nil {
		request.AddCookie(s.cookie)
		request.Header.Set("X-Divvy-CSRF", s.csrf)
	}
	return http.DefaultClient.Do(request)
}

// ask decodes the answer to a request; any status but 200 is an error, which has the answer.
func (s *consoleSession) ask(into any, method, path string, body []byte) error {
	ctx, cancel := context.WithTimeout(s.env.Ctx, time.Minute)
	defer cancel()
	reply, err := s.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return err
	}
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %d %s", method, path, reply.StatusCode, text)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s %s: %w: %s", method, path, err, text)
	}
	return nil
}

func (s *consoleSession) get(into any, path string) error {
	return s.ask(into, http.MethodGet, path, nil)
}

// rows reads a whole list, page by page.
func rows[T any](s *consoleSession, list string) ([]T, error) {
	all := []T{}
	for after := ""; ; {
		var page struct {
			Items []T
			Total int
			Next  string
		}
		if err := s.get(&page, list+"?limit=20"+after); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if page.Next == "" {
			if len(all) != page.Total {
				return nil, fmt.Errorf("%s: %d rows of %d", list, len(all), page.Total)
			}
			return all, nil
		}
		after = "&after=" + url.QueryEscape(page.Next)
	}
}

// A consoleSource says which collection of the API server was read.
type consoleSource struct{ Node, State, Message string }

func (s *consoleSession) sources() (map[string]consoleSource, error) {
	var overview struct{ Sources []consoleSource }
	if err := s.get(&overview, "overview"); err != nil {
		return nil, err
	}
	all := map[string]consoleSource{}
	for _, one := range overview.Sources {
		all[one.Node] = one
	}
	return all, nil
}

// Collections that a console follows.
var consoleCollections = []string{"nodes", "pods", "resourcequotas", "poddisruptionbudgets", "namespaces", "queues",
	"events"}

// waitRead waits until these collections have been read, and all others have been refused.
func (s *consoleSession) waitRead(read ...string) error {
	return s.env.WaitFor("the console has read "+strings.Join(read, ", "), func() error {
		sources, err := s.sources()
		if err != nil {
			return err
		}
		refused := len(consoleCollections) - len(read)
		for _, name := range read {
			if sources[name].State != "ok" {
				return fmt.Errorf("%s: %+v", name, sources[name])
			}
			delete(sources, name)
		}
		for name, one := range sources {
			if one.State != "never-reached" || !strings.Contains(one.Message, "cannot list resource") {
				return fmt.Errorf("%s: %+v", name, one)
			}
		}
		if len(sources) != refused {
			return fmt.Errorf("%d collections are refused: %+v", len(sources), sources)
		}
		return nil
	})
}

// differ is how two JSON values of one question differ.
func differ(what string, one, other json.RawMessage) error {
	var a, b any
	if err := errors.Join(json.Unmarshal(one, &a), json.Unmarshal(other, &b)); err != nil {
		return err
	}
	if !reflect.DeepEqual(a, b) {
		return fmt.Errorf("%s: the console answers\n%s\nand the command\n%s", what, one, other)
	}
	return nil
}

// A delta is a message of the console's stream.
type delta struct {
	Topic string
	Put   []map[string]any
	Drop  []string
}

// A consoleStream hands out its messages.
type consoleStream struct {
	messages chan delta
	fault    chan error
}

// stream follows topics until the context ends. It is open when this returns.
func (s *consoleSession) stream(ctx context.Context, topics string) (*consoleStream, error) {
	reply, err := s.send(ctx, http.MethodGet, "stream?topics="+topics, nil)
	if err != nil {
		return nil, err
	}
	if kind := reply.Header.Get("Content-Type"); reply.StatusCode != http.StatusOK || kind != "text/event-stream" {
		reply.Body.Close()
		return nil, fmt.Errorf("the stream is %d %s", reply.StatusCode, kind)
	}
	f := &consoleStream{make(chan delta, 1000), make(chan error, 1)}
	lines := bufio.NewReader(reply.Body)
	// The first line is sent when the stream is open.
	if _, err := lines.ReadString('\n'); err != nil {
		reply.Body.Close()
		return nil, err
	}
	go func() {
		defer reply.Body.Close()
		f.fault <- f.read(lines)
	}()
	return f, nil
}

func (f *consoleStream) read(lines *bufio.Reader) error {
	event := ""
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		line = strings.TrimSuffix(line, "\n")
		if name, is := strings.CutPrefix(line, "event: "); is {
			event = name
		}
		data, is := strings.CutPrefix(line, "data: ")
		if !is {
			continue
		}
		if event != "delta" {
			return fmt.Errorf("the stream has event %s, %s", event, data)
		}
		var one delta
		if err := json.Unmarshal([]byte(data), &one); err != nil {
			return fmt.Errorf("the stream has %q: %w", data, err)
		}
		f.messages <- one
	}
}

// until reads messages until one is as expected. What was passed over is dropped.
func (f *consoleStream) until(what string, so func(delta) bool) error {
	bound := time.NewTimer(consoleBound)
	defer bound.Stop()
	passed := 0
	for {
		select {
		case one := <-f.messages:
			if so(one) {
				return nil
			}
			passed++
		case err := <-f.fault:
			return fmt.Errorf("%s: %w", what, err)
		case <-bound.C:
			return fmt.Errorf("%s: not in the stream within %v, after %d other messages", what, consoleBound, passed)
		}
	}
}
