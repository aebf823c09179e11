package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"
)

// NoDeviceTwice: whole cards are nobody else's.
func (env *Env) NoDeviceTwice() error {
	count, _, err := env.Allocations()
	for device, pods := range count {
		if pods > 1 {
			err = fmt.Errorf("%d pods are on %s", pods, device)
		}
	}
	return err
}

// underSystemd: it makes control groups, in one hierarchy, as on the nodes that users have.
func underSystemd() bool {
	_, none := os.Stat("/run/systemd/system")
	_, apart := os.Stat("/sys/fs/cgroup/cgroup.controllers")
	return none == nil && apart == nil
}

func cgroupDriver() string {
	if underSystemd() {
		return "systemd"
	}
	return "cgroupfs"
}

func cgroupsOf(name string) []string {
	found, _ := filepath.Glob(filepath.Join("/sys/fs/cgroup", "*", name))
	if _, err := os.Stat(filepath.Join("/sys/fs/cgroup", name)); err == nil {
		found = append(found, filepath.Join("/sys/fs/cgroup", name))
	}
	return found
}

// podGroups are those that kubelets make for pods, whoever's, the innermost first.
func podGroups() []string {
	var groups []string
	for _, group := range append(cgroupsOf("kubepods"), cgroupsOf("kubepods.slice")...) {
		_ = filepath.WalkDir(group, func(path string, entry os.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				groups = append(groups, path)
			}
			return nil
		})
	}
	sort.Sort(sort.Reverse(sort.StringSlice(groups)))
	return groups
}

// takeLeftGroups takes away the empty ones that a node left which ended without `down`: with its
// container, whose folders went with it, while control groups are the machine's. Those of a node that
// lives stay, and are an error.
func takeLeftGroups() error {
	groups := podGroups()
	if len(groups) == 0 {
		return nil
	}
	outermost := groups[len(groups)-1]
	if pid := someKubelet(); pid != 0 {
		return fmt.Errorf("%s is there, and process %d is a kubelet: is this a node of another cluster?",
			outermost, pid)
	}
	for _, group := range groups {
		// Only empty ones can be removed.
		if err := syscall.Rmdir(group); err != nil && !errors.Is(err, syscall.ENOENT) {
			return fmt.Errorf("%s is there, and in use (%w): is this a node of another cluster?", group, err)
		}
	}
	fmt.Printf("cluster: took away %d empty control groups of a node that is no more (%s)\n", len(groups),
		outermost)
	return nil
}

// someKubelet is the process of one on this machine; 0: there is none.
func someKubelet() int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		words := strings.Split(string(text), "\x00")
		// Ours is a part of this program.
		if filepath.Base(words[0]) == "kubelet" || len(words) > 1 && words[1] == "kubelet" {
			var pid int
			_, _ = fmt.Sscanf(file, "/proc/%d/", &pid)
			return pid
		}
	}
	return 0
}

// endPodGroups kills who is left in pods, and takes their groups away.
func endPodGroups() error {
	var failed error
	for _, group := range podGroups() {
		failed = errors.Join(failed, emptied(group))
	}
	return failed
}

// emptied: nobody is in the group, and it is gone.
func emptied(group string) error {
	var err error
	for end := time.Now().Add(StopBound); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var text []byte
		if text, err = os.ReadFile(filepath.Join(group, "cgroup.procs")); err != nil {
			break
		}
		for _, pid := range strings.Fields(string(text)) {
			var number int
			if _, err := fmt.Sscan(pid, &number); err == nil && number > 1 {
				_ = syscall.Kill(number, syscall.SIGKILL)
			}
		}
		if err = syscall.Rmdir(group); err == nil {
			return nil
		}
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("%s: %w", group, err)
}
