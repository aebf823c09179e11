package harness

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

// A Proxy is what is between two who talk HTTP: it sees what passes, and can hold it up, as a slow
// network does, or a machine that stands still.
type Proxy struct {
	server *http.Server
	port   int

	Mutex   sync.Mutex
	held    chan struct{}                  // what is to be held waits until it is closed; nil: nothing is
	Holds   func(*http.Request) bool       // is to be held; nil: bindings
	wait    int                            // how many do
	late    []int                          // how those were answered that had waited
	OnReply func(path string, body []byte) // told of every answer before it goes on; may be nil
}

// NewProxy forwards to `target`; `authority` is the file of those who may vouch for it, if any.
func NewProxy(target, authority string) (*Proxy, error) {
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
	g := &Proxy{port: listener.Addr().(*net.TCPAddr).Port, Holds: isBinding}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.Transport = transport
	proxy.FlushInterval = -1 // watches
	proxy.ModifyResponse = g.inspectReply
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) {
		w.WriteHeader(http.StatusBadGateway)
	}
	g.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxy.ServeHTTP(w, g.pass(r))
	})}
	go func() { _ = g.server.Serve(listener) }()
	return g, nil
}

func (g *Proxy) URL() string { return LocalURL("http", g.port) }

func (g *Proxy) Close() { _ = g.server.Close() }

type waited struct{}

func isBinding(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/binding")
}

func IsEviction(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/eviction")
}

// pass returns when the request may go on. Who waited goes on also when its sender has given up:
// what is on its way arrives.
func (g *Proxy) pass(r *http.Request) *http.Request {
	g.Mutex.Lock()
	held, which := g.held, g.Holds
	if which == nil {
		which = isBinding
	}
	if held == nil || !which(r) {
		g.Mutex.Unlock()
		return r
	}
	g.wait++
	g.Mutex.Unlock()
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

func (g *Proxy) inspectReply(reply *http.Response) error {
	g.Mutex.Lock()
	defer g.Mutex.Unlock()
	if reply.Request.Context().Value(waited{}) != nil {
		g.late = append(g.late, reply.StatusCode)
	}
	// What is watched does not end.
	if g.OnReply == nil || reply.Request.URL.Query().Get("watch") != "" {
		return nil
	}
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		return err
	}
	reply.Body = io.NopCloser(bytes.NewReader(body))
	g.OnReply(reply.Request.URL.Path, body)
	return nil
}

// HoldAfterOne lets one such request pass and keeps those after its answer.
func (g *Proxy) HoldAfterOne(suffix string, which func(*http.Request) bool) {
	g.Mutex.Lock()
	defer g.Mutex.Unlock()
	g.Holds = which
	g.OnReply = func(path string, _ []byte) {
		if strings.HasSuffix(path, suffix) && g.held == nil {
			g.held = make(chan struct{})
		}
	}
}

// Hold keeps bindings from now on, or what `which` says.
func (g *Proxy) Hold() {
	g.Mutex.Lock()
	defer g.Mutex.Unlock()
	g.held = make(chan struct{})
}

// Release lets them go, and all after them.
func (g *Proxy) Release() {
	g.Mutex.Lock()
	defer g.Mutex.Unlock()
	if g.held != nil {
		close(g.held)
	}
	g.held = nil
}

// HoldOnlyWaiting keeps those that wait until the channel is closed, and nobody after them.
func (g *Proxy) HoldOnlyWaiting() chan struct{} {
	g.Mutex.Lock()
	defer g.Mutex.Unlock()
	held := g.held
	g.held, g.wait = nil, 0
	return held
}

// WaitingAtLeast: so many wait.
func (g *Proxy) WaitingAtLeast(count int) error {
	g.Mutex.Lock()
	defer g.Mutex.Unlock()
	if g.wait < count {
		return fmt.Errorf("%d of %d wait", g.wait, count)
	}
	return nil
}

// answers to those that had waited.
func (g *Proxy) LateReplies(count int) ([]int, error) {
	g.Mutex.Lock()
	defer g.Mutex.Unlock()
	if len(g.late) < count {
		return nil, fmt.Errorf("%d of %d were answered", len(g.late), count)
	}
	return append([]int{}, g.late...), nil
}
