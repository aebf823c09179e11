package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func init() {
	checks = append(checks,
		check{"the-schedulers-dashboard-has-data",
			"a real Prometheus scrapes the scheduler: every query of its dashboard has a value once a pod was placed, one " +
				"waits and one was refused; of metrics that nobody has it has none",
			dashboardHasData})
}

const prometheusProgram = "/usr/bin/prometheus"

// A prometheus is one that scrapes the scheduler, and ends with the check.
type prometheus struct {
	url string
	log string
}

// withPrometheus runs one that only this machine reaches, and takes it away with all that it wrote.
func (w *world) withPrometheus(target string, run func(*prometheus) error) (err error) {
	if _, err := os.Stat(prometheusProgram); err != nil {
		return skip{fmt.Errorf("Prometheus (Debian: prometheus) is not installed: %w", err)}
	}
	dir, err := os.MkdirTemp("", "prometheus-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	config := filepath.Join(dir, "prometheus.yaml")
	text := fmt.Sprintf("global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: divvy\n  static_configs:\n"+
		"  - targets: [%q]\n", target)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return err
	}
	var port int
	if err := chooseInto(&port); err != nil {
		return err
	}
	said := &prometheus{local("http", port), filepath.Join(dir, "log")}
	log, err := os.Create(said.log)
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.CommandContext(w.ctx, prometheusProgram, "--config.file="+config,
		fmt.Sprintf("--web.listen-address=127.0.0.1:%d", port), "--storage.tsdb.path="+filepath.Join(dir, "data"))
	command.Stdout, command.Stderr = log, log
	// It ends when the thread does that started it: when we are killed.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return err
	}
	defer func() {
		_ = command.Process.Kill()
		_ = command.Wait() // killed: that is no failure of the check
	}()
	return run(said)
}

// A sample is one series that a query has, and its value now.
type sample struct {
	labels map[string]string
	value  float64
}

func (p *prometheus) ask(query string) ([]sample, error) {
	answer, err := http.Get(p.url + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var said struct {
		Status, Error string
		Data          struct {
			ResultType string
			Result     []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	if said.Status != "success" || said.Data.ResultType != "vector" {
		return nil, fmt.Errorf("%s: %s %s: %s", query, said.Status, said.Data.ResultType, said.Error)
	}
	var found []sample
	for _, one := range said.Data.Result {
		value, err := strconv.ParseFloat(fmt.Sprint(one.Value[1]), 64)
		if err != nil {
			return nil, err
		}
		found = append(found, sample{one.Metric, value})
	}
	return found, nil
}

// most is the greatest value of those with that label; a value that is no number is none.
func most(samples []sample, label, value string) (greatest float64, there bool) {
	for _, one := range samples {
		// What is no number is not equal to itself.
		if (label != "" && one.labels[label] != value) || one.value != one.value {
			continue
		}
		if !there || one.value > greatest {
			greatest = one.value
		}
		there = true
	}
	return greatest, there
}

// A shown is a query of a dashboard, as Grafana would ask it of all.
type shown struct{ panel, query string }

var (
	ofTemplate   = regexp.MustCompile(`\{\w+=~"\$\w+"\}`)
	leftTemplate = regexp.MustCompile(`\$\w+`)
)

func (w *world) dashboard(name string) ([]shown, error) {
	// Beside what is applied to clusters.
	text, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Clean(w.deploy)), "grafana", name))
	if err != nil {
		return nil, err
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var all []shown
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			query := ofTemplate.ReplaceAllString(target.Expr, "")
			query = strings.ReplaceAll(query, "$__range", "1h")
			if left := leftTemplate.FindString(query); left != "" {
				return nil, fmt.Errorf("%s of %s: nobody says here what %s is", panel.Title, name, left)
			}
			all = append(all, shown{panel.Title, query})
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no query", name)
	}
	return all, nil
}

func dashboardHasData(w *world) error {
	text, err := os.ReadFile(w.portsFile(standing))
	if err != nil {
		return err
	}
	var ports struct{ Metrics int }
	if err := json.Unmarshal(text, &ports); err != nil || ports.Metrics == 0 {
		return errors.Join(err, fmt.Errorf("it says %s of its ports", text))
	}
	queries, err := w.dashboard("scheduler.json")
	if err != nil {
		return err
	}
	return w.withPrometheus(fmt.Sprintf("127.0.0.1:%d", ports.Metrics), func(p *prometheus) error {
		return w.dashboardShows(p, queries)
	})
}

// What a query says once it has happened: the greatest of its values, of the samples with that label, is above 0.
var happened = []struct{ query, label, value string }{
	{"divvy_scheduler_ready", "", ""},
	{"divvy_scheduler_waiting_pods", "", ""},
	{"divvy_device_memory_promised_bytes", "", ""},
	{"divvy_quota_used", "", ""},
	{"rate(divvy_scheduler_filters_total[5m])", "answer", "placed"},
	{"rate(divvy_scheduler_filters_total[5m])", "answer", "refused"},
	{"rate(divvy_scheduler_binds_total[5m])", "answer", "bound"},
	{"rate(divvy_scheduler_reviews_total[5m])", "answer", "denied"},
}

func (w *world) dashboardShows(p *prometheus, queries []shown) error {
	// Rates are of what was counted between two scrapes: what comes is counted after the first one.
	if err := w.untilScraped(p, "divvy_scheduler_ready", 1); err != nil {
		return err
	}
	// The control: what is said of pods is not said before there were any. Those of an earlier check go.
	err := w.until("control: nothing has happened yet", func() error {
		for _, one := range happened[1:] {
			found, err := p.ask(one.query)
			if value, _ := most(found, one.label, one.value); err != nil || value > 0 {
				return errors.Join(err, fmt.Errorf("%s %s is %v", one.query, one.value, value))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := w.placedWaitingRefused(); err != nil {
		return err
	}
	begun := time.Now()
	err = w.until("it has all that happened", func() error {
		for _, one := range happened {
			found, err := p.ask(one.query)
			if value, there := most(found, one.label, one.value); err != nil || !there || value <= 0 {
				return errors.Join(err, fmt.Errorf("%s %s is %v", one.query, one.value, found))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	w.note = fmt.Sprintf("%d queries have values, %.1f s after it happened", len(queries), time.Since(begun).Seconds())
	return w.until("every query has a value", func() error { return p.allHave(queries) })
}

// untilScraped: it has so many series of that.
func (w *world) untilScraped(p *prometheus, query string, count int) error {
	return w.until("Prometheus has scraped "+query, func() error {
		found, err := p.ask(query)
		if err == nil && len(found) != count {
			err = fmt.Errorf("it has %v", found)
		}
		if err != nil {
			text, _ := os.ReadFile(p.log)
			err = fmt.Errorf("%w: %s", err, text)
		}
		return err
	})
}

// allHave: each query has a number. The control: the same of what is called otherwise has none.
func (p *prometheus) allHave(queries []shown) error {
	for _, one := range queries {
		found, err := p.ask(one.query)
		if err != nil {
			return err
		}
		if _, there := most(found, "", ""); !there {
			return fmt.Errorf("%q shows nothing: %s is %v", one.panel, one.query, found)
		}
		nobodys := strings.ReplaceAll(one.query, "divvy_", "nobody_")
		if found, err = p.ask(nobodys); err != nil || len(found) > 0 {
			return errors.Join(err, fmt.Errorf("control: %s is %v", nobodys, found))
		}
	}
	return nil
}

// placedWaitingRefused: one pod of each kind, in a namespace with a quota.
func (w *world) placedWaitingRefused() error {
	if err := w.spaceMayHave(20000); err != nil {
		return err
	}
	for _, name := range []string{"placed", "waits"} {
		if _, err := w.create(pod(name, container("c", one("15000", "10")))); err != nil {
			return err
		}
		if name == "placed" {
			if _, err := w.bound(name); err != nil {
				return err
			}
		}
	}
	if _, err := w.refused("waits"); err != nil {
		return err
	}
	_, err := w.create(pod("refused", container("c", one("20001", "10"))))
	if err == nil {
		return errors.New("who asks for more than the namespace may ever have is made")
	}
	return nil
}
