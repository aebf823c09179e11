package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Platform is told of pods that are about to be evicted.
type Platform struct {
	sync.Mutex
	notices map[string][]string // by pod: kinds of news, in order
	Due     map[string]time.Time
	Extend  int // seconds that the first call that says it is due is answered with
	Seen    func(pod, kind string)
}

func (p *Platform) ServeHTTP(reply http.ResponseWriter, request *http.Request) {
	var news struct{ Kind, Namespace, Pod, UID, Deadline string }
	if err := json.NewDecoder(request.Body).Decode(&news); err != nil || request.Method != http.MethodPost {
		http.Error(reply, "no news", http.StatusBadRequest)
		return
	}
	if p.Seen != nil {
		p.Seen(news.Pod, news.Kind)
	}
	p.Lock()
	defer p.Unlock()
	before := p.notices[news.Pod]
	p.notices[news.Pod] = append(before, news.Kind)
	if news.Kind != "idle-due" {
		return
	}
	if _, known := p.Due[news.Pod]; !known {
		p.Due[news.Pod] = time.Now()
		fmt.Fprintf(reply, `{"extendSeconds": %d}`, p.Extend)
	}
}

func (p *Platform) Of(pod string) []string {
	p.Lock()
	defer p.Unlock()
	return append([]string{}, p.notices[pod]...)
}

const IdleStop = "3s"

// WithPlatform runs Divvy with the address of one that is told, so long before an eviction.
func (env *Env) WithPlatform(told *Platform, notice string, run func() error) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	told.notices, told.Due = map[string][]string{}, map[string]time.Time{}
	server := &http.Server{Handler: told}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	return env.WithOptions([]string{"--idle-url", "http://" + listener.Addr().String() + "/idle", "--idle-notice", notice,
		"--idle-extension", "60s"}, run)
}

// WaitEvents: its Events have these reasons.
func (env *Env) WaitEvents(name string, reasons ...string) error {
	return env.WaitFor("its events are there", func() error {
		events, err := env.Client.CoreV1().Events(env.Namespace).List(env.Ctx, meta.ListOptions{})
		if err != nil {
			return err
		}
		found := map[string]bool{}
		for _, one := range events.Items {
			if one.InvolvedObject.Name == name {
				found[one.Reason] = true
			}
		}
		for _, reason := range reasons {
			if !found[reason] {
				return errors.New("no event " + reason)
			}
		}
		return nil
	})
}
