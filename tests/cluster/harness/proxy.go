package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
)

// A gate is what is between two who talk HTTP: it sees what passes, and can hold it up, as a slow
// network does, or a machine that stands still.
type gate struct {
	server *http.Server
	port   int

	mutex sync.Mutex
	held  chan struct{}                  // what is to be held waits until it is closed; nil: nothing is
	which func(*http.Request) bool       // is to be held; nil: bindings
	wait  int                            // how many do
	late  []int                          // how those were answered that had waited
	after func(path string, body []byte) // told of every answer before it goes on; may be nil
}

// newGate forwards to `target`; `authority` is the file of those who may vouch for it, if any.
func newGate(target, authority string) (*gate, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	// What had to wait does not meet a connection that was closed meanwhile.
	transport := &http.Transport{DisableKeepAlives: true}
	if authority != "" {
		text, err := os.ReadFile(authority)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(text)
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := &gate{port: listener.Addr().(*net.TCPAddr).Port, which: isBinding}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.Transport = transport
	proxy.FlushInterval = -1 // watches
	proxy.ModifyResponse = g.answered
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) {
		w.WriteHeader(http.StatusBadGateway)
	}
	g.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxy.ServeHTTP(w, g.pass(r))
	})}
	go func() { _ = g.server.Serve(listener) }()
	return g, nil
}

func (g *gate) url() string { return local("http", g.port) }
func (g *gate) close()      { _ = g.server.Close() }

type waited struct{}

func isBinding(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/binding")
}

func isEviction(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/eviction")
}

// pass returns when the request may go on. Who waited goes on also when its sender has given up:
// what is on its way arrives.
func (g *gate) pass(r *http.Request) *http.Request {
	g.mutex.Lock()
	held, which := g.held, g.which
	if which == nil {
		which = isBinding
	}
	if held == nil || !which(r) {
		g.mutex.Unlock()
		return r
	}
	g.wait++
	g.mutex.Unlock()
	body, err := io.ReadAll(r.Body)
	<-held
	if err != nil {
		return r
	}
	// One that can end: of others the proxy finds out that the sender has gone.
	on, end := context.WithTimeout(context.WithoutCancel(r.Context()), checkBound)
	context.AfterFunc(on, end)
	again := r.WithContext(context.WithValue(on, waited{}, true))
	again.Body = io.NopCloser(bytes.NewReader(body))
	return again
}

func (g *gate) answered(answer *http.Response) error {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if answer.Request.Context().Value(waited{}) != nil {
		g.late = append(g.late, answer.StatusCode)
	}
	// What is watched does not end.
	if g.after == nil || answer.Request.URL.Query().Get("watch") != "" {
		return nil
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	g.after(answer.Request.URL.Path, body)
	return nil
}

// holdAfterOne lets one such request pass and keeps those after its answer.
func (g *gate) holdAfterOne(suffix string, which func(*http.Request) bool) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.which = which
	g.after = func(path string, _ []byte) {
		if strings.HasSuffix(path, suffix) && g.held == nil {
			g.held = make(chan struct{})
		}
	}
}

// hold keeps bindings from now on, or what `which` says.
func (g *gate) hold() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.held = make(chan struct{})
}

// release lets them go, and all after them.
func (g *gate) release() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.held != nil {
		close(g.held)
	}
	g.held = nil
}

// leave keeps those that wait until the channel is closed, and nobody after them.
func (g *gate) leave() chan struct{} {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	held := g.held
	g.held, g.wait = nil, 0
	return held
}

// holds: so many wait.
func (g *gate) holds(count int) error {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.wait < count {
		return fmt.Errorf("%d of %d wait", g.wait, count)
	}
	return nil
}

// answers to those that had waited.
func (g *gate) lateAnswers(count int) ([]int, error) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if len(g.late) < count {
		return nil, fmt.Errorf("%d of %d were answered", len(g.late), count)
	}
	return append([]int{}, g.late...), nil
}
