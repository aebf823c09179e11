package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// How long something may take that a cluster does at once; only a broken one needs it all.
var checkBound = patiently(60 * time.Second)

// A check is one thing that Divvy promises on a real control plane.
type check struct {
	name        string
	requirement string // in an issue's or a document's words
	run         func(*world) error
}

// A record is what became of a check.
type record struct {
	Name        string  `json:"name"`
	Requirement string  `json:"requirement"`
	Seconds     float64 `json:"seconds"`
	Result      string  `json:"result"` // pass, fail, skip
	Reason      string  `json:"reason,omitempty"`
	Note        string  `json:"note,omitempty"` // what was measured
	// Why it failed when it was tried first, on an installation that had been through other checks.
	FirstFailure string `json:"first_failure,omitempty"`
}

// A skip is why a check cannot be made on this machine.
type skip struct{ error }

// A world is what a check acts on: a namespace of its own in a cluster with Divvy.
type world struct {
	*installation
	ctx    context.Context
	client *kubernetes.Clientset
	space  string
	note   string
}

// runChecks runs the checks with `only` in their names that are not among `except`, one after the other, each in a new namespace.
func (i *installation) runChecks(ctx context.Context, only, except, file string) error {
	omitted, err := named(except)
	if err != nil {
		return err
	}
	client, err := i.client()
	if err != nil {
		return err
	}
	var records []record
	failed, skipped := 0, 0
	for at, one := range checks {
		if !wanted(one.name, only) || omitted[one.name] {
			continue
		}
		w := &world{i, ctx, client, "", ""}
		began := time.Now()
		if os.Getenv("DIVVY_PATIENCE") != "" {
			fmt.Printf("     %s begins\n", one.name)
		}
		err := w.try(at, one)
		var cannot skip
		var first string
		if err != nil && !errors.As(err, &cannot) && ctx.Err() == nil {
			// As `./dev test` has it: the second time alone decides, and the first is told.
			first = err.Error()
			err = errors.Join(w.again(), w.try(at, one))
		}
		made := record{one.name, one.requirement, time.Since(began).Seconds(), "pass", "", w.note, first}
		if errors.As(err, &cannot) {
			made.Result, made.Reason = "skip", err.Error()
			skipped++
		} else if err != nil {
			made.Result, made.Reason = "fail", err.Error()
			failed++
		}
		fmt.Printf("%-4s %6.2f s  %s\n", made.Result, made.Seconds, made.Name)
		if w.note != "" {
			fmt.Printf("     %s\n", w.note)
		}
		if first != "" {
			fmt.Printf("     failed first: %s\n", strings.ReplaceAll(first, "\n", "\n     "))
		}
		if err != nil {
			fmt.Printf("     %s\n", strings.ReplaceAll(made.Reason, "\n", "\n     "))
		}
		records = append(records, made)
	}
	if len(records) == 0 {
		return fmt.Errorf("no check's name holds %q", only)
	}
	if file != "" {
		text, err := json.MarshalIndent(records, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", len(records)-failed-skipped, failed, skipped)
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(records))
	}
	return nil
}

// named is a list of checks, each by its whole name: one that is misspelt would be run, or be run nowhere.
func named(list string) (map[string]bool, error) {
	names := map[string]bool{}
	for _, name := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		if !slices.ContainsFunc(checks, func(one check) bool { return one.name == name }) {
			return nil, fmt.Errorf("--except: no check is called %q", name)
		}
		names[name] = true
	}
	return names, nil
}

// wanted: the name holds one of the texts, which commas separate.
func wanted(name, only string) bool {
	return slices.ContainsFunc(strings.Split(only, ","), func(text string) bool { return strings.Contains(name, text) })
}

// try runs a check in a namespace of its own.
func (w *world) try(at int, one check) error {
	w.space, w.note = fmt.Sprintf("check-%d-%d", at, time.Now().UnixMilli()), ""
	if err := w.alone(); err != nil {
		return err
	}
	return w.inside(one.run)
}

// alone: nobody else's pods hold devices, nor an earlier check's.
func (w *world) alone() error {
	return w.until("nobody else holds devices", func() error {
		count, _, err := w.bookings()
		if err == nil && len(count) > 0 {
			err = fmt.Errorf("pods hold %s: delete them", strings.Join(sorted(count), ", "))
		}
		return err
	})
}

// inside makes the namespace and takes it away, with all that was in it, at once.
func (w *world) inside(run func(*world) error) error {
	spaces := w.client.CoreV1().Namespaces()
	_, err := spaces.Create(w.ctx, &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: w.space}},
		meta.CreateOptions{})
	if err != nil {
		return err
	}
	err = w.until("the namespace's service account", func() error {
		_, err := w.client.CoreV1().ServiceAccounts(w.space).Get(w.ctx, "default", meta.GetOptions{})
		return err
	})
	if err == nil {
		err = run(w)
	}
	// First: while it ends nobody is made in it any more, by a controller whose pods go.
	gone := spaces.Delete(w.ctx, w.space, meta.DeleteOptions{})
	if err == nil {
		err = gone
	}
	none := int64(0)
	gone = w.client.CoreV1().Pods(w.space).DeleteCollection(w.ctx,
		meta.DeleteOptions{GracePeriodSeconds: &none}, meta.ListOptions{})
	if err == nil {
		err = gone
	}
	return err
}

// until asks again and again, within the bound.
func (w *world) until(what string, so func() error) error {
	end := time.Now().Add(checkBound)
	for {
		err := so()
		if err == nil {
			return nil
		}
		if w.ctx.Err() != nil {
			return w.ctx.Err()
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s: not within %v: %w", what, checkBound, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// asks are limits of a container: "nvidia.com/gpu": "1".
type asks map[string]string

func container(name string, limits asks) core.Container {
	made := core.Container{Name: name, Image: "registry.invalid/none",
		Resources: core.ResourceRequirements{Limits: core.ResourceList{}}}
	for resourceName, amount := range limits {
		made.Resources.Limits[core.ResourceName(resourceName)] = resource.MustParse(amount)
	}
	return made
}

func pod(name string, containers ...core.Container) *core.Pod {
	return &core.Pod{ObjectMeta: meta.ObjectMeta{Name: name},
		Spec: core.PodSpec{Containers: containers}}
}

func (w *world) create(p *core.Pod) (*core.Pod, error) {
	return w.client.CoreV1().Pods(w.space).Create(w.ctx, p, meta.CreateOptions{})
}

func (w *world) get(name string) (*core.Pod, error) {
	return w.client.CoreV1().Pods(w.space).Get(w.ctx, name, meta.GetOptions{})
}

func (w *world) remove(name string) error {
	none := int64(0)
	return w.client.CoreV1().Pods(w.space).Delete(w.ctx, name,
		meta.DeleteOptions{GracePeriodSeconds: &none})
}

// bound is the pod once it is on a node.
func (w *world) bound(name string) (*core.Pod, error) {
	var found *core.Pod
	err := w.until(name+" is bound", func() error {
		p, err := w.get(name)
		if err != nil {
			return err
		}
		if p.Spec.NodeName == "" {
			return fmt.Errorf("it waits: %s", unscheduled(p))
		}
		found = p
		return nil
	})
	return found, err
}

// refused is what the pod's condition says once kube-scheduler has found no node.
func (w *world) refused(name string) (string, error) { return w.refusedFor(name, "") }

// refusedFor waits until it says these words: what comes first may be of a node as it was before.
func (w *world) refusedFor(name, words string) (string, error) {
	var why string
	err := w.until(name+" is found to fit nowhere", func() error {
		p, err := w.get(name)
		if err != nil {
			return err
		}
		if p.Spec.NodeName != "" {
			return fmt.Errorf("it is on %s", p.Spec.NodeName)
		}
		if why = unscheduled(p); why == "" {
			return fmt.Errorf("nothing is said of it yet")
		}
		if !strings.Contains(why, words) {
			return fmt.Errorf("%q is said of it, and not %q", why, words)
		}
		return nil
	})
	return why, err
}

func unscheduled(p *core.Pod) string {
	for _, one := range p.Status.Conditions {
		if one.Type == core.PodScheduled && one.Status == core.ConditionFalse {
			return one.Message
		}
	}
	return ""
}

const (
	allocated = "hami.io/vgpu-devices-allocated"
	assigned  = "hami.io/vgpu-node"
)

// A share is one device of one container, as an annotation says it. It is read here by its
// documented form and not by our own codec: the two must not agree in their mistakes.
type share struct{ uuid, kind, memory, cores string }

func sharesOf(p *core.Pod) ([][]share, error) {
	text := p.Annotations[allocated]
	if !strings.HasSuffix(text, ";") {
		return nil, fmt.Errorf("%s is %q", allocated, text)
	}
	var all [][]share
	for _, one := range strings.Split(strings.TrimSuffix(text, ";"), ";") {
		var shares []share
		for _, device := range strings.Split(strings.TrimSuffix(one, ":"), ":") {
			if device == "" {
				continue
			}
			fields := strings.Split(device, ",")
			if len(fields) != 4 {
				return nil, fmt.Errorf("%q of %q has not four fields", device, text)
			}
			shares = append(shares, share{fields[0], fields[1], fields[2], fields[3]})
		}
		all = append(all, shares)
	}
	return all, nil
}

// bookings adds up what pods of all namespaces hold: number of shares and MiB, by device.
func (w *world) bookings() (map[string]int, map[string]int, error) {
	pods, err := w.client.CoreV1().Pods("").List(w.ctx, meta.ListOptions{})
	if err != nil {
		return nil, nil, err
	}
	count, memory := map[string]int{}, map[string]int{}
	for at := range pods.Items {
		p := &pods.Items[at]
		if p.Annotations[allocated] == "" {
			continue
		}
		shares, err := sharesOf(p)
		if err != nil {
			return nil, nil, err
		}
		for _, list := range shares {
			for _, one := range list {
				var mebibytes int
				if _, err := fmt.Sscan(one.memory, &mebibytes); err != nil {
					return nil, nil, fmt.Errorf("%s: memory %q", p.Name, one.memory)
				}
				count[one.uuid]++
				memory[one.uuid] += mebibytes
			}
		}
	}
	return count, memory, nil
}

func sorted(from map[string]int) []string {
	var keys []string
	for key := range from {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
