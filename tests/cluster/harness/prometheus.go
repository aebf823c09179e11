package harness

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
)

const prometheusProgram = "/usr/bin/prometheus"

// A Prometheus is one that scrapes the scheduler, and ends with the check.
type Prometheus struct {
	url string
	log string
}

// WithPrometheus runs one that only this machine reaches, and takes it away with all that it wrote.
func (env *Env) WithPrometheus(target string, run func(*Prometheus) error) (err error) {
	if _, err := os.Stat(prometheusProgram); err != nil {
		return Skip{fmt.Errorf("Prometheus (Debian: prometheus) is not installed: %w", err)}
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
	if err := ChooseFreePorts(&port); err != nil {
		return err
	}
	said := &Prometheus{LocalURL("http", port), filepath.Join(dir, "log")}
	log, err := os.Create(said.log)
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.CommandContext(env.Ctx, prometheusProgram, "--config.file="+config,
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

// A Sample is one series that a query has, and its value now.
type Sample struct {
	Labels map[string]string
	value  float64
}

func (p *Prometheus) Query(query string) ([]Sample, error) {
	reply, err := http.Get(p.url + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
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
	if err := json.NewDecoder(reply.Body).Decode(&said); err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	if said.Status != "success" || said.Data.ResultType != "vector" {
		return nil, fmt.Errorf("%s: %s %s: %s", query, said.Status, said.Data.ResultType, said.Error)
	}
	var found []Sample
	for _, one := range said.Data.Result {
		value, err := strconv.ParseFloat(fmt.Sprint(one.Value[1]), 64)
		if err != nil {
			return nil, err
		}
		found = append(found, Sample{one.Metric, value})
	}
	return found, nil
}

// MaxValue is the greatest value of those with that label; a value that is no number is none.
func MaxValue(samples []Sample, label, value string) (greatest float64, there bool) {
	for _, one := range samples {
		// What is no number is not equal to itself.
		if (label != "" && one.Labels[label] != value) || one.value != one.value {
			continue
		}
		if !there || one.value > greatest {
			greatest = one.value
		}
		there = true
	}
	return greatest, there
}

// A PanelQuery is a query of a dashboard, as Grafana would ask it of all.
type PanelQuery struct{ Panel, Query string }

var (
	ofTemplate   = regexp.MustCompile(`\{\w+=~"\$\w+"\}`)
	leftTemplate = regexp.MustCompile(`\$\w+`)
)

func (env *Env) DashboardQueries(name string) ([]PanelQuery, error) {
	// Beside what is applied to clusters.
	text, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Clean(env.Deploy)), "grafana", name))
	if err != nil {
		return nil, err
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var all []PanelQuery
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			query := ofTemplate.ReplaceAllString(target.Expr, "")
			query = strings.ReplaceAll(query, "$__range", "1h")
			if left := leftTemplate.FindString(query); left != "" {
				return nil, fmt.Errorf("%s of %s: nobody says here what %s is", panel.Title, name, left)
			}
			all = append(all, PanelQuery{panel.Title, query})
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no query", name)
	}
	return all, nil
}

// WaitSeries: it has so many series of that.
func (env *Env) WaitSeries(p *Prometheus, query string, count int) error {
	return env.WaitFor("Prometheus has scraped "+query, func() error {
		found, err := p.Query(query)
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

// AllHaveValues: each query has a number. The control: the same of what is called otherwise has none.
func (p *Prometheus) AllHaveValues(queries []PanelQuery) error {
	for _, one := range queries {
		found, err := p.Query(one.Query)
		if err != nil {
			return err
		}
		if _, there := MaxValue(found, "", ""); !there {
			return fmt.Errorf("%q shows nothing: %s is %v", one.Panel, one.Query, found)
		}
		nobodys := strings.ReplaceAll(one.Query, "divvy_", "nobody_")
		if found, err = p.Query(nobodys); err != nil || len(found) > 0 {
			return errors.Join(err, fmt.Errorf("control: %s is %v", nobodys, found))
		}
	}
	return nil
}

// A ContainerRef is a container that has a share, as people call it.
type ContainerRef struct{ Pod, Container string }
