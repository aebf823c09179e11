package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"divvy.dev/tests/cluster/harness"
)

// areas are the test programs AREA.test (`go test -c`), in the order in which they run: first those of nodes that only
// the API server knows, then those of the node with a kubelet.
var areas = []string{"placement", "compatibility", "webhook", "leader", "queues", "gangs", "preemption", "commands",
	"shares", "devices", "memory", "isolation", "migration", "deviceplugin"}

const checkUsage = `usage: cluster check [--dir DIR] [--only TEXT,...] [--except NAME,...] [--json FILE] ...

Runs the programs of go test beside this one, in checks/, on a cluster that is up.
  --json FILE          one record per check
  --only TEXT,...      those whose names hold one of these
  --except NAME,...    not these
  --list               print the names and requirements of those, and run none
  --install DIVVY      Divvy's program [build/release/bin/divvy]
  --deploy DIR         where the manifests are [deploy/kubernetes]
  --before BUILD       of an earlier commit, for the check of an upgrade [it is skipped]
  --volcano PROGRAM    Volcano's scheduler, with its kinds in volcano-crds beside it [its check is skipped]
  --oauth2-proxy PROGRAM  oauth2-proxy, for the check of a console behind it [it is skipped]
  --kueue PROGRAM      Kueue, with its manifests in kueue-manifests beside it [its checks are skipped]
  --nvidia PLUGIN      NVIDIA's device plugin, for the check of a migration [it is skipped]
  --kills N            how often those that kill do so [as fits into a minute]
`

// A listed check is one of an area, as its program names it.
type listed struct{ area, name, requirement string }

// A checkRun is what `cluster check` was asked for.
type checkRun struct {
	tests   string   // folder of the test programs
	dir     string   // of the cluster
	options []string // of the test programs, as they are given to `check`
	records string   // a folder for what they write
}

func checkCommand(args []string) int {
	flags := flag.NewFlagSet("cluster check", flag.ExitOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, checkUsage) }
	dir := flags.String("dir", "build/cluster", "")
	file := flags.String("json", "", "")
	only := flags.String("only", "", "")
	except := flags.String("except", "", "")
	list := flags.Bool("list", false, "")
	_ = flags.String("kubelet", "", "") // as `up` has it: the node's record says it
	_ = flags.String("containerd", "", "")
	_ = flags.Bool("helper", false, "")
	var run checkRun
	for _, name := range []string{"install", "deploy", "before", "volcano", "oauth2-proxy", "kueue", "nvidia",
		"kills"} {
		flags.Func(name, "", func(value string) error {
			run.options = append(run.options, "-"+name+"="+value)
			return nil
		})
	}
	_ = flags.Parse(args)
	if flags.NArg() > 0 {
		fail(2, fmt.Errorf("%q is not expected", flags.Arg(0)))
	}
	ctx, stop := notifyContext()
	defer stop()
	err := run.prepare(*dir)
	if err == nil {
		defer os.RemoveAll(run.records)
		err = run.all(ctx, *only, *except, *file, *list)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "cluster: %v\n", err)
		return 1
	}
	return 0
}

func (r *checkRun) prepare(dir string) error {
	c, err := openHere(dir)
	if err != nil {
		return err
	}
	r.dir, r.tests = c.Path(), filepath.Join(filepath.Dir(c.Self), "checks")
	r.records, err = os.MkdirTemp("", "checks-")
	return err
}

// all runs the checks with `only` in their names that are not among `except`.
func (r *checkRun) all(ctx context.Context, only, except, file string, list bool) error {
	known, err := r.list(ctx)
	if err != nil {
		return err
	}
	chosen, err := choose(known, only, except)
	if err != nil {
		return err
	}
	if list {
		for _, one := range chosen {
			fmt.Printf("%s\t%s\n", one.name, one.requirement)
		}
		return nil
	}
	var records []harness.Record
	var failed error
	for _, area := range areas {
		made, err := r.area(ctx, area, chosen)
		records, failed = append(records, made...), errors.Join(failed, err)
		if ctx.Err() != nil {
			break
		}
	}
	if file != "" {
		failed = errors.Join(failed, harness.WriteRecords(file, records))
	}
	return errors.Join(failed, summary(records))
}

func summary(records []harness.Record) error {
	count := map[string]int{}
	for _, one := range records {
		count[one.Result]++
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", count["pass"], count["fail"], count["skip"])
	if count["fail"] > 0 {
		return fmt.Errorf("%d of %d checks failed", count["fail"], len(records))
	}
	return nil
}

func (r *checkRun) program(area string) string { return filepath.Join(r.tests, area+".test") }

// list is all checks that there are, in the order in which they run.
func (r *checkRun) list(ctx context.Context) ([]listed, error) {
	var all []listed
	for _, area := range areas {
		out, err := exec.CommandContext(ctx, r.program(area), "-names").Output()
		if err != nil {
			return nil, fmt.Errorf("%s -names: %w", r.program(area), err)
		}
		for _, line := range strings.Split(string(out), "\n") {
			if name, requirement, is := strings.Cut(line, "\t"); is {
				all = append(all, listed{area, name, requirement})
			}
		}
	}
	return all, nil
}

// choose are those whose names hold one of the texts of `only`, which commas separate, without those that `except`
// names
// in full: one that is misspelt there would be run, or be run nowhere.
func choose(known []listed, only, except string) ([]listed, error) {
	omitted := strings.FieldsFunc(except, func(r rune) bool { return r == ',' })
	for _, name := range omitted {
		if !slices.ContainsFunc(known, func(one listed) bool { return one.name == name }) {
			return nil, fmt.Errorf("--except: no check is called %q", name)
		}
	}
	var chosen []listed
	for _, one := range known {
		holds := func(text string) bool { return strings.Contains(one.name, text) }
		if slices.ContainsFunc(strings.Split(only, ","), holds) && !slices.Contains(omitted, one.name) {
			chosen = append(chosen, one)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no check's name holds %q", only)
	}
	return chosen, nil
}

// area runs those that were chosen of it. One without a record has failed: its program ended before.
func (r *checkRun) area(ctx context.Context, area string, chosen []listed) ([]harness.Record, error) {
	var names []string
	of := map[string]listed{}
	for _, one := range chosen {
		if one.area == area {
			names, of[one.name] = append(names, regexp.QuoteMeta(one.name)), one
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	file := filepath.Join(r.records, area+".json")
	command := exec.CommandContext(ctx, r.program(area), append([]string{"-test.timeout=0",
		"-test.run=/^(" + strings.Join(names, "|") + ")$", "-dir=" + r.dir, "-records=" + file}, r.options...)...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	ended := command.Run()
	records, err := harness.ReadRecords(file)
	if err != nil {
		return nil, err
	}
	for i := range records {
		records[i].Package = area
		delete(of, records[i].Name)
	}
	if ctx.Err() == nil {
		for _, one := range chosen {
			if _, missing := of[one.name]; missing {
				records = append(records, harness.Record{Name: one.name, Package: area, Requirement: one.requirement,
					Result: "fail", Reason: fmt.Sprintf("%s ended without a record of it: %v", r.program(area), ended)})
			}
		}
	}
	var exit *exec.ExitError
	if ended != nil && !errors.As(ended, &exit) {
		return records, ended
	}
	if ended != nil && !slices.ContainsFunc(records, func(one harness.Record) bool { return one.Result == "fail" }) {
		return records, fmt.Errorf("%s ended with %s", area, strconv.Itoa(exit.ExitCode()))
	}
	return records, nil
}
