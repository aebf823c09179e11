package webhook

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
)

func TestHostilePeers(t *testing.T) {
	checks.Run(t, checks.Check{Name: "a-hostile-peer-holds-nothing-up",
		Requirement: "silent, slow and rubbish connections to the webhook's and the metrics' port, and pods whose shares nearly " +
			"fit: other pods are admitted and placed, metrics are told, the scheduler's loop goes on", Run: hostilePeer})
}

const (
	hostileAddress = "127.0.0.9" // not the API server's
	silentPeers    = 1100        // more than a port holds
	rubbishPeers   = 8
	nearlyFitting  = 12
	mostLateness   = 1.0 // seconds; the machine itself may stand still for a part of it
)

// hostile is a peer that connects from an address of its own.
type hostile struct {
	dialer  net.Dialer
	held    []net.Conn
	rubbish int
	stop    chan struct{}
	done    chan struct{}
}

func beginHostile(ports ...int) (*hostile, error) {
	h := &hostile{net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(hostileAddress)}, Timeout: time.Second}, nil, 0,
		make(chan struct{}), make(chan struct{}, rubbishPeers)}
	for _, port := range ports {
		for range silentPeers {
			// A port that is full drops the oldest, so all of them connect.
			made, err := h.dialer.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				return h, fmt.Errorf("port %d, after %d connections: %w", port, len(h.held), err)
			}
			h.held = append(h.held, made)
		}
	}
	for at := range rubbishPeers {
		h.rubbish++
		go h.sendRubbish(ports[at%len(ports)])
	}
	return h, nil
}

// sendRubbish begins requests that never end, and things that are none.
func (h *hostile) sendRubbish(port int) {
	defer func() { h.done <- struct{}{} }()
	words := []string{"GET /metrics HTTP/1.1\r\nHost: a\r\nX-Slow: ", "\x16\x03\x01\x02\x00\x01\x00", "\x00\xff\x00\xff",
		"POST /webhook HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n{"}
	for at := 0; ; at++ {
		select {
		case <-h.stop:
			return
		default:
		}
		made, err := h.dialer.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		_ = made.SetDeadline(time.Now().Add(50 * time.Millisecond))
		_, _ = made.Write([]byte(words[at%len(words)]))
		_, _ = made.Read(make([]byte, 1))
		_ = made.Close()
	}
}

func (h *hostile) end() {
	close(h.stop)
	for range h.rubbish {
		<-h.done
	}
	for _, one := range h.held {
		_ = one.Close()
	}
}

// nearlyFits has three shares of each of eight sizes. Their sum is less than a node's eight devices have, and no way
// puts three of them on each device: the sizes' places sum up to 84, and a device takes 10 of them.
func nearlyFits(name string) *core.Pod {
	var containers []core.Container
	for at := range 24 {
		size := 26950 + 100*(at%8)
		containers = append(containers, harness.Container(fmt.Sprintf("c%d", at), harness.OneShare(fmt.Sprint(size), "1")))
	}
	return harness.Pod(name, containers...)
}

func hostilePeer(env *harness.Env) error {
	ports, err := env.Ports(harness.DefaultReplica)
	if err != nil {
		return err
	}
	h, err := beginHostile(ports.Webhook, ports.Metrics)
	defer h.end()
	if err != nil {
		return err
	}
	for at := range nearlyFitting {
		if _, err := env.Create(nearlyFits(fmt.Sprintf("nearly-%d", at))); err != nil {
			return err
		}
	}
	began := time.Now()
	for at := range 10 {
		name := fmt.Sprintf("honest-%d", at)
		if _, err := env.Create(harness.Pod(name, harness.Container("c", harness.OneShare("1000", "10")))); err != nil {
			return err
		}
		if _, err := env.WaitBound(name); err != nil {
			return err
		}
	}
	took := time.Since(began)
	if _, err := env.WaitRefused("nearly-0"); err != nil {
		return err
	}
	late, err := lateness(ports.Metrics)
	if err == nil && late > mostLateness {
		err = fmt.Errorf("the loop was late by %.3f s; at most %.1f s", late, mostLateness)
	}
	env.Note = fmt.Sprintf("ten pods in %.1f s, beside %d connections and %d pods that nearly fit; the loop was late by %.3f s",
		took.Seconds(), 2*silentPeers, nearlyFitting, late)
	return err
}

// lateness is the largest of the last minute.
func lateness(port int) (float64, error) {
	late, found := 0.0, false
	err := harness.Scrape(harness.LocalURL("http", port)+"/metrics", func(name, _ string, value float64) {
		if name == "divvy_scheduler_loop_lateness_max_seconds" {
			late, found = value, true
		}
	})
	if err == nil && !found {
		err = errors.New("no lateness in the metrics")
	}
	return late, err
}
