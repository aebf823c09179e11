package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func init() {
	checks = append(checks,
		check{"hamis-monitor-finds-its-pods",
			"HAMi's pod label by a second write after the bind, only where a HAMi monitor runs",
			monitorFinds},
		check{"a-locked-node-takes-one-pod-at-a-time",
			"foreign vendor plugins that need the node lock get it; a locked node is a retryable error",
			lockedNode},
		check{"resources-are-called-as-hami-was-told",
			"device-config.yaml read as it is: renamed resources reach webhook and kube-scheduler",
			renamed},
		check{"an-agent-that-reports-is-asked-again",
			"handshakes of foreign plugins: who reports is answered by Requesting, who left has no " +
				"devices until it reports again", handshake})
}

const nodeLock = "hami.io/mutex.lock"

// pluginOn is what a HAMi device plugin's pod looks like there.
func (w *world) pluginOn(node string) error {
	p := pod("plugin", container("c", asks{"cpu": "1m"}))
	p.Labels = map[string]string{"app.kubernetes.io/component": "hami-device-plugin"}
	p.Spec.NodeName = node
	_, err := w.create(p)
	return err
}

func monitorFinds(w *world) error {
	const with, without = "node-00001", "node-00002"
	if err := w.pluginOn(with); err != nil {
		return err
	}
	for _, node := range []string{without, with} {
		p := pod("on-"+node, container("c", one("1000", "10")))
		p.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": node}
		if _, err := w.create(p); err != nil {
			return err
		}
		if _, err := w.bound(p.Name); err != nil {
			return err
		}
	}
	err := w.until("the label", func() error {
		p, err := w.get("on-" + with)
		if err == nil && p.Labels[assigned] != with {
			err = fmt.Errorf("labels are %v", p.Labels)
		}
		return err
	})
	if err != nil {
		return err
	}
	p, err := w.get("on-" + without)
	if err == nil && p.Labels[assigned] != "" {
		err = fmt.Errorf("it is labelled where nobody reads it")
	}
	if err == nil {
		err = w.unlock(with)
	}
	return err
}

func (w *world) lockOf(node string) (string, error) {
	found, err := w.client.CoreV1().Nodes().Get(w.ctx, node, meta.GetOptions{})
	if err != nil {
		return "", err
	}
	return found.Annotations[nodeLock], nil
}

// unlock is what an agent does when it has handed out a pod's devices.
func (w *world) unlock(node string) error {
	text, err := annotating(map[string]any{nodeLock: nil})
	if err != nil {
		return err
	}
	_, err = w.client.CoreV1().Nodes().Patch(w.ctx, node, types.MergePatchType, text,
		meta.PatchOptions{})
	return err
}

func lockedNode(w *world) error {
	var hygon family
	for _, one := range families {
		if one.name == "hygon" {
			hygon = one
		}
	}
	name := w.space + "-lock"
	if _, err := w.client.CoreV1().Nodes().Create(w.ctx, hygon.node(name), meta.CreateOptions{}); err != nil {
		return err
	}
	err := w.oneAtATime(name, asks{"hygon.com/dcunum": "1", "hygon.com/dcumem": "1000",
		"hygon.com/dcucores": "10"})
	if gone := w.client.CoreV1().Nodes().Delete(w.ctx, name, meta.DeleteOptions{}); err == nil {
		err = gone
	}
	return err
}

func (w *world) oneAtATime(node string, ask asks) error {
	if _, err := w.create(pod("first", container("c", ask))); err != nil {
		return err
	}
	if _, err := w.bound("first"); err != nil {
		return err
	}
	lock, err := w.lockOf(node)
	if err != nil {
		return err
	}
	fields := strings.Split(lock, ",")
	if len(fields) != 3 || fields[1] != w.space || fields[2] != "first" {
		return fmt.Errorf("the lock is %q", lock)
	}
	if at, err := time.Parse(time.RFC3339, fields[0]); err != nil || time.Since(at) > time.Minute {
		return fmt.Errorf("the lock's instant is %q: %v", fields[0], err)
	}
	if _, err := w.create(pod("second", container("c", ask))); err != nil {
		return err
	}
	// Of a bind that failed kube-scheduler says so in an Event.
	err = w.until("the second is put off", func() error {
		events, err := w.client.CoreV1().Events(w.space).List(w.ctx, meta.ListOptions{})
		if err != nil {
			return err
		}
		for _, one := range events.Items {
			if one.InvolvedObject.Name == "second" && strings.Contains(one.Message, "is locked for") {
				return nil
			}
		}
		return fmt.Errorf("nothing is said of it")
	})
	if err != nil {
		return err
	}
	if err := w.unlock(node); err != nil {
		return err
	}
	if _, err := w.bound("second"); err != nil {
		return err
	}
	// A lock whose pod is gone is nobody's.
	if err := w.remove("second"); err != nil {
		return err
	}
	if _, err := w.create(pod("third", container("c", ask))); err != nil {
		return err
	}
	_, err = w.bound("third")
	return err
}

const handshakeKey = "hami.io/node-handshake"

// shakes is what a plugin of the old contract does.
func (w *world) shakes(node, text string) error {
	_, err := w.client.CoreV1().Nodes().Patch(w.ctx, node, types.MergePatchType, noteOf(handshakeKey, text),
		meta.PatchOptions{})
	return err
}

func handshake(w *world) (err error) {
	node := w.space + "-shakes"
	// From the first on: the scheduler might hear of the pod before it hears of a change.
	left := map[string]string{handshakeKey: "Deleted_2026-08-21 10:00:00"}
	if err = w.cardsNoted(node, left, "NVIDIA H20"); err != nil {
		return err
	}
	defer w.without(node, &err)
	ask := asks{"divvy.dev/gpu-h20": "1", "nvidia.com/gpumem": "1000"}
	if _, err = w.create(pod("early", container("c", ask))); err != nil {
		return err
	}
	if _, err = w.refused("early"); err != nil {
		return err
	}
	if err = w.shakes(node, "Reported 2026-08-21 10:00:30"); err != nil {
		return err
	}
	if _, err = w.bound("early"); err != nil {
		return err
	}
	return w.until("the plugin is asked again", func() error {
		found, err := w.client.CoreV1().Nodes().Get(w.ctx, node, meta.GetOptions{})
		if err == nil && !strings.HasPrefix(found.Annotations[handshakeKey], "Requesting_20") {
			err = fmt.Errorf("its handshake is %q", found.Annotations[handshakeKey])
		}
		return err
	})
}

const renamedConfig = `nvidia:
  resourceCountName: example.com/vgpu
  resourceMemoryName: example.com/vgpu-memory
  resourceCoreName: example.com/vgpu-cores
  resourceMemoryPercentageName: example.com/vgpu-percent
  resourcePriorityName: example.com/vgpu-priority
  defaultMemory: 2000
  deviceSplitCount: 10
`

func renamed(w *world) error {
	file := w.path("device-config.yaml")
	if err := os.WriteFile(file, []byte(renamedConfig), 0o644); err != nil {
		return err
	}
	return w.called("example.com/vgpu", []string{"--device-config", file}, w.asRenamed)
}

// called runs a check while resources are called so: Divvy is told it, and what is printed by it is
// what the API server and kube-scheduler are told.
func (w *world) called(counted string, words []string, run func() error) (err error) {
	folder := w.path("renamed")
	if err := copyFolder(w.deploy, folder); err != nil {
		return err
	}
	for print, name := range map[string]string{"config": "scheduler-config.yaml", "webhook": "webhook.yaml"} {
		args := append([]string{"scheduler", "--print", print}, words...)
		text, err := exec.Command(w.divvy, args...).Output()
		if err != nil {
			return err
		}
		if err := os.WriteFile(folder+"/"+name, text, 0o644); err != nil {
			return err
		}
	}
	old := w.deploy
	w.deploy, w.words, w.counted = folder, words, counted
	defer func() {
		w.deploy, w.words, w.counted = old, nil, ""
		if again := w.again(); err == nil {
			err = again
		}
	}()
	if err = w.again(); err != nil {
		return err
	}
	return run()
}

func (w *world) asRenamed() error {
	if _, err := w.create(pod("p", container("c", asks{"example.com/vgpu": "1"}))); err != nil {
		return err
	}
	p, err := w.bound("p")
	if err != nil {
		return err
	}
	shares, err := sharesOf(p)
	if err != nil {
		return err
	}
	if shares[0][0].memory != "2000" {
		return fmt.Errorf("%v: the default memory is 2000", shares[0][0])
	}
	// API servers hear of policies and registrations later than they are written.
	return w.until("what is called otherwise is for others", func() error {
		plain, err := w.client.CoreV1().Pods(w.space).Create(w.ctx,
			pod("theirs", container("c", asks{"nvidia.com/gpu": "1"})),
			meta.CreateOptions{DryRun: []string{meta.DryRunAll}})
		if err == nil && plain.Spec.SchedulerName != "default-scheduler" {
			err = fmt.Errorf("it is for %s", plain.Spec.SchedulerName)
		}
		return err
	})
}

func copyFolder(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(from))
}
