package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"divvy.dev/tests/cluster/harness"
)

// A figure is one result, under its key.
type measurement struct {
	key     string // "pods_per_s/1000/with"
	value   float64
	bar     *float64
	atLeast bool // the bar is one to reach
}

func (f measurement) passed() bool {
	if f.bar == nil {
		return true
	}
	if f.atLeast {
		return f.value >= *f.bar
	}
	return f.value <= *f.bar
}

// A report is what a bench found, against its bars: as divvy-bench has it.
type report struct {
	driver       string
	measurements []measurement
	notes        []string
	details      map[string]any // in the JSON only
}

func (r *report) add(key string, value float64) {
	r.measurements = append(r.measurements, measurement{key: key, value: value})
}

func (r *report) atMost(key string, value, bar float64) {
	r.measurements = append(r.measurements, measurement{key, value, &bar, false})
}

func (r *report) atLeast(key string, value, bar float64) {
	r.measurements = append(r.measurements, measurement{key, value, &bar, true})
}

func (r *report) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

func (r *report) passed() bool {
	for _, one := range r.measurements {
		if !one.passed() {
			return false
		}
	}
	return true
}

func (r *report) table() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s  %s\n%s\n\n%-36s %10s %10s\n", now(), r.driver, host(), "figure", "value",
		"bar")
	for _, one := range r.measurements {
		bar, verdict := "-", ""
		if one.bar != nil {
			bar, verdict = fmt.Sprintf("%.2f", *one.bar), "pass"
			if !one.passed() {
				verdict = "MISS"
			}
		}
		fmt.Fprintf(&text, "%-36s %10.2f %10s  %s\n", one.key, one.value, bar, verdict)
	}
	for _, note := range r.notes {
		fmt.Fprintf(&text, "%s\n", note)
	}
	return text.String()
}

func (r *report) write(file string) error {
	root := map[string]any{"date": now(), "driver": r.driver, "host": host(), "passed": r.passed(),
		"details": r.details}
	bars := map[string]float64{}
	for _, one := range r.measurements {
		at := root
		groups := strings.Split(one.key, "/")
		for _, group := range groups[:len(groups)-1] {
			if _, known := at[group]; !known {
				at[group] = map[string]any{}
			}
			at = at[group].(map[string]any)
		}
		at[groups[len(groups)-1]] = one.value
		if one.bar != nil {
			bars[one.key] = *one.bar
		}
	}
	root["bars"] = bars
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

func host() string {
	model := "unknown processor"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for _, line := range harness.Lines(string(text)) {
			if name, value, found := strings.Cut(line, ": "); found &&
				strings.HasPrefix(name, "model name") {
				model = value
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d processors", model, runtime.NumCPU())
}
