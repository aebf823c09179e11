package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-scheduler/framework"
	scheduling "k8s.io/kubernetes/pkg/scheduler/framework"
)

const stopwatchName = "Stopwatch"

// A stopwatch is a plugin of kube-scheduler that changes nothing: it writes how long its one
// scheduling thread was busy with each pod, from the end of PreFilter until the pod is reserved:
// filters, extenders, scores. Its own metrics have no finer step than 1 ms.
type stopwatch struct {
	began time.Time // pods come one at a time
	file  *os.File
}

// newStopwatch takes {"file": PATH}.
func newStopwatch(_ context.Context, given runtime.Object, _ scheduling.Handle) (scheduling.Plugin,
	error) {
	said, known := given.(*runtime.Unknown)
	if !known {
		return nil, fmt.Errorf("%s: no arguments", stopwatchName)
	}
	var terms struct {
		File string `json:"file"`
	}
	if err := json.Unmarshal(said.Raw, &terms); err != nil {
		return nil, fmt.Errorf("%s: %w", stopwatchName, err)
	}
	file, err := os.OpenFile(terms.File, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	return &stopwatch{file: file}, err
}

func (s *stopwatch) Name() string { return stopwatchName }

func (s *stopwatch) PreFilter(context.Context, framework.CycleState, *core.Pod,
	[]framework.NodeInfo) (*scheduling.PreFilterResult, *framework.Status) {
	s.began = time.Now()
	return nil, nil
}

func (s *stopwatch) PreFilterExtensions() scheduling.PreFilterExtensions { return nil }

func (s *stopwatch) Reserve(context.Context, framework.CycleState, *core.Pod,
	string) *framework.Status {
	spent := time.Since(s.began).Nanoseconds()
	if _, err := s.file.WriteString(strconv.FormatInt(spent, 10) + "\n"); err != nil {
		return framework.AsStatus(err)
	}
	return nil
}

func (s *stopwatch) Unreserve(context.Context, framework.CycleState, *core.Pod, string) {}

// readStopwatch is what was written since `from`, in milliseconds, and where it ends.
func readStopwatch(file string, from int) ([]float64, int, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, from, err
	}
	var spent []float64
	for _, line := range lines(string(text[from:])) {
		nanoseconds, err := strconv.ParseInt(line, 10, 64)
		if err != nil {
			return nil, from, fmt.Errorf("%s: %w", file, err)
		}
		spent = append(spent, float64(nanoseconds)/1e6)
	}
	return spent, len(text), nil
}
