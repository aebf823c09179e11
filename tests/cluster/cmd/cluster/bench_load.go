package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sort"
	"sync"
	"syscall"
	"time"
)

// A query is one of a load, and what is good about its answer.
type query struct {
	url  string
	body []byte
	good func(reply []byte) error
}

func (q query) send(client *http.Client) error {
	reply, err := client.Post(q.url, "application/json", bytes.NewReader(q.body))
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return err
	}
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s: %s", q.url, reply.Status, text)
	}
	return q.good(text)
}

// latencies are in milliseconds, ascending.
type latencies []float64

// at is the smallest that no more than the rest is above; 0 of none.
func (l latencies) at(part float64) float64 {
	if len(l) == 0 {
		return 0
	}
	return l[min(len(l)-1, int(part*float64(len(l))))]
}

// openLoop sends queries on schedule, whatever became of those before, and takes the time from the
// instant that each was scheduled for: who is kept waiting by a slow one before it counts that too.
func openLoop(rate float64, length time.Duration, next func(at int) query) (latencies, error) {
	count := int(rate * length.Seconds())
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		MaxIdleConnsPerHost: 512, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	took := make(latencies, count)
	faults := make([]error, count)
	var under sync.WaitGroup
	runtime.LockOSThread() // its sleep is finer than that of the runtime's timers
	defer runtime.UnlockOSThread()
	start := time.Now().Add(10 * time.Millisecond)
	for at := range count {
		one := next(at)
		due := start.Add(time.Duration(float64(at) / rate * 1e9))
		if left := time.Until(due); left > 0 {
			span := syscall.NsecToTimespec(left.Nanoseconds())
			_ = syscall.Nanosleep(&span, nil)
		}
		under.Add(1)
		go func() {
			defer under.Done()
			faults[at] = one.send(client)
			took[at] = float64(time.Since(due).Nanoseconds()) / 1e6
		}()
	}
	under.Wait()
	for _, fault := range faults {
		if fault != nil {
			return nil, fault
		}
	}
	sort.Float64s(took)
	return took, nil
}
