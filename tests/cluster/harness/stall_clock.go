package main

import (
	"sync"
	"time"
)

const (
	wokenEvery = 50 * time.Millisecond
	stallsFrom = 5 * wokenEvery // what is less is how processes take turns
)

// A stallWatch knows for how long the machine stood still: this process asks to be woken, and was not. What is to be
// done within a bound cannot be done meanwhile.
type stallWatch struct {
	begun time.Time
	mutex sync.Mutex
	last  time.Time
	lost  time.Duration
	ended chan struct{}
	gone  sync.WaitGroup
}

// watchStalls begins a clock; whoever asked for it ends it.
func watchStalls() *stallWatch {
	now := time.Now()
	s := &stallWatch{begun: now, last: now, ended: make(chan struct{})}
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

func (s *stallWatch) woken(now time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if gap := now.Sub(s.last); gap >= stallsFrom {
		s.lost += gap - wokenEvery
	}
	s.last = now
}

// passed is how long it is since the clock began, but for the time in which the machine stood still.
func (s *stallWatch) passed() time.Duration {
	now := time.Now()
	s.woken(now)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return now.Sub(s.begun) - s.lost
}

func (s *stallWatch) end() {
	close(s.ended)
	s.gone.Wait()
}
