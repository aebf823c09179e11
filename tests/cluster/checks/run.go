// Package checks runs what Divvy promises on a real control plane as subtests of `go test`, one for each check.
package checks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"divvy.dev/tests/cluster/harness"
)

// A Check is one thing that Divvy promises on a real control plane.
type Check struct {
	Name        string
	Requirement string // in an issue's or a document's words
	Run         func(*harness.Env) error
	// It holds no devices and changes nothing that other checks see: it runs beside others of that kind.
	Parallel bool
}

// Divvy is installed again before the second try of a check, and no other check may run meanwhile.
var installed sync.RWMutex

// Run makes a subtest of each check. With -names it prints their names and requirements instead; without -dir it
// skips, since there is no cluster to run them on.
func Run(t *testing.T, list ...Check) {
	t.Helper()
	if *options.names {
		for _, one := range list {
			fmt.Printf("%s\t%s\n", one.Name, one.Requirement)
		}
		return
	}
	if *options.dir == "" {
		t.Skip("no cluster: -dir is not given")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	// Parallel subtests go on after this function has returned.
	t.Cleanup(stop)
	for _, one := range list {
		t.Run(one.Name, func(t *testing.T) {
			if one.Parallel {
				t.Parallel()
			}
			env, err := openEnv(ctx)
			if err != nil {
				t.Fatal(err)
			}
			run(t, env, one)
		})
	}
}

// run tries the check once, and once more if it fails: the second try alone decides, and the first is told.
func run(t *testing.T, env *harness.Env, one Check) {
	began := time.Now()
	if os.Getenv("DIVVY_PATIENCE") != "" {
		fmt.Printf("     %s begins\n", one.Name)
	}
	installed.RLock()
	err := env.Try(!one.Parallel, one.Run)
	installed.RUnlock()
	var skip harness.Skip
	made := harness.Record{Name: one.Name, Requirement: one.Requirement, Result: "pass"}
	if err != nil && !errors.As(err, &skip) && env.Ctx.Err() == nil {
		made.FirstFailure = err.Error()
		installed.Lock()
		err = errors.Join(env.Reinstall(), env.Try(!one.Parallel, one.Run))
		installed.Unlock()
	}
	made.Seconds, made.Note = time.Since(began).Seconds(), env.Note
	switch {
	case errors.As(err, &skip):
		made.Result, made.Reason = "skip", err.Error()
	case err != nil:
		made.Result, made.Reason = "fail", err.Error()
	default:
		made.Flake = made.FirstFailure != ""
	}
	print(made)
	if failed := addRecord(made); failed != nil {
		t.Error(failed)
	}
	switch made.Result {
	case "skip":
		t.Skip(made.Reason)
	case "fail":
		t.Error(made.Reason)
	}
}

func print(made harness.Record) {
	var text strings.Builder
	line := func(words string) { text.WriteString("     " + strings.ReplaceAll(words, "\n", "\n     ") + "\n") }
	fmt.Fprintf(&text, "%-4s %6.2f s  %s\n", made.Result, made.Seconds, made.Name)
	if made.Note != "" {
		line(made.Note)
	}
	if made.FirstFailure != "" {
		line("failed first: " + made.FirstFailure)
	}
	if made.Reason != "" {
		line(made.Reason)
	}
	fmt.Print(text.String())
}
