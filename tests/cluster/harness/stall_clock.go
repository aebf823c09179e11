package harness

import (
	"sync"
	"time"
)

const (
	wokenEvery = 50 * time.Millisecond
	stallsFrom = 5 * wokenEvery // what is less is how processes take turns
)

// A StallClock knows for how long the machine stood still: this process asks to be woken, and was not. What is to be
// done within a bound cannot be done meanwhile.
type StallClock struct {
	begun time.Time
	mutex sync.Mutex
	last  time.Time
	lost  time.Duration
	ended chan struct{}
	gone  sync.WaitGroup
}

// NewStallClock begins a clock; whoever asked for it ends it.
func NewStallClock() *StallClock {
	now := time.Now()
	s := &StallClock{begun: now, last: now, ended: make(chan struct{})}
	s.gone.Add(1)
	go func() {
		defer s.gone.Done()
		ticker := time.NewTicker(wokenEvery)
		defer ticker.Stop()
		for {
			select {
			case <-s.ended:
				return
			case <-ticker.C:
				s.woken(time.Now())
			}
		}
	}()
	return s
}

func (s *StallClock) woken(now time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if gap := now.Sub(s.last); gap >= stallsFrom {
		s.lost += gap - wokenEvery
	}
	s.last = now
}

// Elapsed is how long it is since the clock began, but for the time in which the machine stood still.
func (s *StallClock) Elapsed() time.Duration {
	now := time.Now()
	s.woken(now)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return now.Sub(s.begun) - s.lost
}

func (s *StallClock) Stop() {
	close(s.ended)
	s.gone.Wait()
}
