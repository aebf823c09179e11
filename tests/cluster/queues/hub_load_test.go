package queues

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"time"

	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	loadJobs    = 150
	loadWaiting = 12 // jobs that wait at the same time
	loadRuns    = 2 * time.Second
	// Bars of several clusters: docs/progress.md.
	loadMostCopies    = 1.3
	loadFirstAdmitted = 0.95
	loadLongestWait   = 60 * time.Second
)

// A loadJob is one of many jobs that come to a manager, run in a worker and end.
type loadJob struct {
	pods    int
	made    time.Time
	cluster string    // in which it was admitted
	whole   time.Time // when all its pods had a node
	ended   bool
}

// A jobLoad makes jobs and ends those that have run.
type jobLoad struct {
	m     *multiKueue
	rng   *rand.Rand
	jobs  map[string]*loadJob
	stuck map[string]bool // pods that waited too long in a worker
	waits []time.Duration // from the job to all its pods with a node
}

// create makes a job of one of 20 shapes: 1 to 6 pods with one device, two, a half or a quarter.
func (l *jobLoad) create() error {
	name := fmt.Sprintf("load%d", len(l.jobs))
	pods := []int{1, 2, 3, 4, 6}[l.rng.Intn(5)]
	limits := []harness.Limits{
		{"nvidia.com/gpu": "1"}, {"nvidia.com/gpu": "2"},
		{"nvidia.com/gpu": "1", "nvidia.com/gpumem": "40000", "nvidia.com/gpucores": "50"},
		{"nvidia.com/gpu": "1", "nvidia.com/gpumem": "20000", "nvidia.com/gpucores": "25"}}[l.rng.Intn(4)]
	job := kueueJobOf(name, "check", int32(pods), harness.Pod(name, harness.Container("c", limits)))
	if _, err := l.m.manager.Client.BatchV1().Jobs(l.m.manager.Namespace).Create(l.m.manager.Ctx, job,
		meta.CreateOptions{}); err != nil {
		return err
	}
	l.jobs[name] = &loadJob{pods: pods, made: time.Now()}
	return nil
}

// end deletes a job, and its pods in the worker: no kubelet does that here.
func (l *jobLoad) end(name string, worker *harness.Env) error {
	background, none := meta.DeletePropagationBackground, int64(0)
	manager := l.m.manager
	l.jobs[name].ended = true
	return errors.Join(
		manager.Client.BatchV1().Jobs(manager.Namespace).Delete(manager.Ctx, name,
			meta.DeleteOptions{PropagationPolicy: &background}),
		worker.Client.BatchV1().Jobs(worker.Namespace).Delete(worker.Ctx, name,
			meta.DeleteOptions{PropagationPolicy: &background}),
		worker.Client.CoreV1().Pods(worker.Namespace).DeleteCollection(worker.Ctx,
			meta.DeleteOptions{GracePeriodSeconds: &none}, meta.ListOptions{LabelSelector: "job-name=" + name}))
}

// observe reads the pods of all workers.
func (l *jobLoad) observe() error {
	for cluster, worker := range l.m.workers {
		list, err := worker.Client.CoreV1().Pods(worker.Namespace).List(worker.Ctx, meta.ListOptions{})
		if err != nil {
			return err
		}
		bound := map[string]int{}
		for at := range list.Items {
			pod := &list.Items[at]
			name := pod.Labels["job-name"]
			job := l.jobs[name]
			if job == nil || job.ended {
				continue
			}
			if job.cluster != "" && job.cluster != cluster {
				return fmt.Errorf("job %s has pods in the workers %s and %s", name, job.cluster, cluster)
			}
			job.cluster = cluster
			if pod.Spec.NodeName != "" {
				bound[name]++
			} else if time.Since(pod.CreationTimestamp.Time) > loadLongestWait {
				l.stuck[cluster+"/"+pod.Name] = true
			}
		}
		for name, count := range bound {
			job := l.jobs[name]
			if count < job.pods {
				continue
			}
			if job.whole.IsZero() {
				job.whole = time.Now()
				l.waits = append(l.waits, job.whole.Sub(job.made))
			}
			if time.Since(job.whole) < loadRuns {
				continue
			}
			if err := ignoreGone(l.end(name, worker)); err != nil {
				return err
			}
		}
	}
	return nil
}

// ignoreGone is nil where all errors say that the object is not there any more.
func ignoreGone(err error) error {
	if err == nil || strings.Count(err.Error(), "not found") == strings.Count(err.Error(), "\n")+1 {
		return nil
	}
	return err
}

func (l *jobLoad) count(is func(*loadJob) bool) int {
	count := 0
	for _, job := range l.jobs {
		if is(job) {
			count++
		}
	}
	return count
}

// run makes all jobs, and returns when all of them have ended.
func (l *jobLoad) run() error {
	for end := time.Now().Add(15 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if err := l.observe(); err != nil {
			return err
		}
		waiting := l.count(func(job *loadJob) bool { return job.whole.IsZero() })
		for ; waiting < loadWaiting && len(l.jobs) < loadJobs; waiting++ {
			if err := l.create(); err != nil {
				return err
			}
		}
		ended := l.count(func(job *loadJob) bool { return job.ended })
		if ended == loadJobs {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d of %d jobs have ended, and %d wait", ended, len(l.jobs), waiting)
		}
	}
}

// firstNominations returns by job the cluster of its first nomination, from the hub's Events.
func (l *jobLoad) firstNominations() (map[string]string, error) {
	manager := l.m.manager
	events, err := manager.Client.CoreV1().Events(manager.Namespace).List(manager.Ctx, meta.ListOptions{})
	if err != nil {
		return nil, err
	}
	items := slices.DeleteFunc(events.Items, func(one core.Event) bool { return one.Reason != "ClusterNominated" })
	slices.SortFunc(items, func(a, b core.Event) int { return a.FirstTimestamp.Compare(b.FirstTimestamp.Time) })
	first := map[string]string{}
	for _, one := range items {
		// job-load7-1a2b3: "two. one: too few devices; two: fits now".
		words := strings.Split(one.InvolvedObject.Name, "-")
		if len(words) < 3 {
			continue
		}
		cluster, _, _ := strings.Cut(one.Message, ".")
		if _, known := first[words[1]]; !known {
			first[words[1]] = cluster
		}
	}
	return first, nil
}

func hubDispatchesMany(env *harness.Env) (err error) {
	options, err := env.PrintedKueue("hub")
	if err != nil {
		return err
	}
	m, err := startMultiKueue(env, options, "one", "two", "three")
	defer func() { err = errors.Join(err, m.end()) }()
	if err != nil {
		return err
	}
	hub, err := env.StartHub(m.workers)
	m.ends = append(m.ends, hub.End)
	if err != nil {
		return err
	}
	load := &jobLoad{m: m, rng: rand.New(rand.NewSource(7)), jobs: map[string]*loadJob{}, stuck: map[string]bool{}}
	began := time.Now()
	if err := load.run(); err != nil {
		return err
	}
	took := time.Since(began)
	nominations, err := nominationsOf(hub)
	if err != nil {
		return err
	}
	first, err := load.firstNominations()
	if err != nil {
		return err
	}
	admitted := 0
	for name, job := range load.jobs {
		if first[name] == job.cluster {
			admitted++
		}
	}
	slices.Sort(load.waits)
	copies := nominations / loadJobs
	env.Note = fmt.Sprintf("%d jobs of 20 shapes in 3 workers in %.0f s: %d were admitted by the first nominated cluster, "+
		"%.2f copies a job, %d pods waited longer than %v in a worker; from job to all pods placed %.1f s in the middle, %.1f s p95",
		loadJobs, took.Seconds(), admitted, copies, len(load.stuck), loadLongestWait,
		load.waits[len(load.waits)/2].Seconds(), load.waits[len(load.waits)*95/100].Seconds())
	for worker, one := range m.workers {
		if err := one.NoDeviceOverbooked(); err != nil {
			return fmt.Errorf("worker %s: %w", worker, err)
		}
	}
	if copies > loadMostCopies || float64(admitted) < loadFirstAdmitted*loadJobs || len(load.stuck) > 0 {
		return fmt.Errorf("%s; accepted: at most %.1f copies, at least %.0f %% by the first cluster, no waiting pods", env.Note,
			loadMostCopies, 100*loadFirstAdmitted)
	}
	return nil
}
