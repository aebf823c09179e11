package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-scheduler/framework"
	scheduling "k8s.io/kubernetes/pkg/scheduler/framework"
)

const pluginTimerName = "Stopwatch"

// A pluginTimer is a plugin of kube-scheduler that changes nothing: it writes how long its one
// scheduling thread was busy with each pod, from the end of PreFilter until the pod is reserved:
// filters, extenders, scores. Its own metrics have no finer step than 1 ms.
type pluginTimer struct {
	began time.Time // pods come one at a time
	file  *os.File
}

// newPluginTimer takes {"file": PATH}.
func newPluginTimer(_ context.Context, given runtime.Object, _ scheduling.Handle) (scheduling.Plugin,
	error) {
	said, known := given.(*runtime.Unknown)
	if !known {
		return nil, fmt.Errorf("%s: no arguments", pluginTimerName)
	}
	var terms struct {
		File string `json:"file"`
	}
	if err := json.Unmarshal(said.Raw, &terms); err != nil {
		return nil, fmt.Errorf("%s: %w", pluginTimerName, err)
	}
	file, err := os.OpenFile(terms.File, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	return &pluginTimer{file: file}, err
}

func (s *pluginTimer) Name() string { return pluginTimerName }

func (s *pluginTimer) PreFilter(context.Context, framework.CycleState, *core.Pod,
	[]framework.NodeInfo) (*scheduling.PreFilterResult, *framework.Status) {
	s.began = time.Now()
	return nil, nil
}

func (s *pluginTimer) PreFilterExtensions() scheduling.PreFilterExtensions { return nil }

func (s *pluginTimer) Reserve(context.Context, framework.CycleState, *core.Pod,
	string) *framework.Status {
	spent := time.Since(s.began).Nanoseconds()
	if _, err := s.file.WriteString(strconv.FormatInt(spent, 10) + "\n"); err != nil {
		return framework.AsStatus(err)
	}
	return nil
}

func (s *pluginTimer) Unreserve(context.Context, framework.CycleState, *core.Pod, string) {}

// readStopwatch is what was written since `from`, in milliseconds, and where it ends.
func readStopwatch(file string, from int) ([]float64, int, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, from, err
	}
	var spent []float64
	for _, line := range harness.Lines(string(text[from:])) {
		nanoseconds, err := strconv.ParseInt(line, 10, 64)
		if err != nil {
			return nil, from, fmt.Errorf("%s: %w", file, err)
		}
		spent = append(spent, float64(nanoseconds)/1e6)
	}
	return spent, len(text), nil
}
