package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	core "k8s.io/api/core/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-containers-see-their-own-pages-only",
			"two containers of a pod, a neighbour on the same card, and one that was started again: each has the five pages " +
				"of its own share, the limits read-only, and no other file of Divvy's but the doors that all have; who is " +
				"given another's folder by hand is seen to have it",
			pagesAreOnesOwn})
}

// What is mounted of a share, and whether its container may write there (docs/operations/node-agent.md).
var pages = map[string]bool{"control": false, "residency": false, "report": true, "work": true, "swap": true}

// A mounted is one mount of a process, as the kernel has it.
type mounted struct {
	root, point string
	writable    bool
}

func mountsOf(pid int) ([]mounted, error) {
	text, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "mountinfo"))
	if err != nil {
		return nil, err
	}
	var found []mounted
	for _, line := range strings.Split(string(text), "\n") {
		if fields := strings.Fields(line); len(fields) > 5 {
			found = append(found, mounted{fields[3], fields[4], slices.Contains(strings.Split(fields[5], ","), "rw")})
		}
	}
	return found, nil
}

// tenantsOf are those of whose shares a process has some file mounted, wherever.
func (w *world) tenantsOf(pid int) ([]string, error) {
	mounts, err := mountsOf(pid)
	if err != nil {
		return nil, err
	}
	folder := regexp.MustCompile("/" + regexp.QuoteMeta(filepath.Join(simulated, "tenants")) + "(?:/([^/]+)|$)")
	var found []string
	for _, one := range mounts {
		// All of them, if it is the folder that they are in.
		if words := folder.FindStringSubmatch(one.root); words != nil && !slices.Contains(found, words[1]) {
			found = append(found, words[1])
		}
	}
	return found, nil
}

// tenantOf is what the agent calls a container's share.
func (w *world) tenantOf(who lodger) (string, error) {
	all, err := scraped("divvy_tenant_info")
	if err != nil {
		return "", err
	}
	whose := fmt.Sprintf(`namespace="%s",pod="%s",container="%s"`, w.space, who.pod, who.container)
	for _, line := range all {
		if words := tenantOfSample.FindStringSubmatch(line); words != nil && strings.Contains(line, whose) {
			return words[1], nil
		}
	}
	return "", fmt.Errorf("the agent knows no share of %v", who)
}

// seesItsOwn: that process has the pages of that tenant, and nobody else's.
func (w *world) seesItsOwn(pid int, tenant string) error {
	whose, err := w.tenantsOf(pid)
	if err != nil || !slices.Equal(whose, []string{tenant}) {
		return errors.Join(err, fmt.Errorf("it has files of %v mounted, and is %s", whose, tenant))
	}
	const inside = tenantInside
	root := filepath.Join("/proc", fmt.Sprint(pid), "root")
	names, err := namesIn(filepath.Join(root, inside))
	if err != nil || len(names) != len(pages) {
		return errors.Join(err, fmt.Errorf("in %s are %v", inside, names))
	}
	mounts, err := mountsOf(pid)
	if err != nil {
		return err
	}
	for name, writable := range pages {
		at := slices.IndexFunc(mounts, func(one mounted) bool { return one.point == filepath.Join(inside, name) })
		if at < 0 || mounts[at].writable != writable {
			return fmt.Errorf("%s is not mounted, or can be written: %+v", name, mounts)
		}
		its, failed := os.Stat(filepath.Join(root, inside, name))
		ours, err := os.Stat(w.path("divvy", simulated, "tenants", tenant, name))
		if err := errors.Join(failed, err); err != nil {
			return err
		}
		if !os.SameFile(its, ours) {
			return fmt.Errorf("its %s is not that of %s", name, tenant)
		}
	}
	return nothingElse(root)
}

// nothingElse: of Divvy's it has what all containers have beside their pages.
func nothingElse(root string) error {
	for folder, most := range map[string][]string{
		"/run/divvy":     {"card", "lib", "reg", "simgpu", "tenant"},
		"/run/divvy/reg": {"register.sock"},
		"/run/divvy/lib": {"libdivvy-cuda.so", "libdivvy-nvml.so"},
	} {
		names, err := namesIn(filepath.Join(root, folder))
		if err != nil || !slices.Equal(names, most) {
			return errors.Join(err, fmt.Errorf("in %s are %v", folder, names))
		}
	}
	return nil
}

// namesIn are those of a folder, in their order.
func namesIn(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	var names []string
	for _, one := range entries {
		names = append(names, one.Name())
	}
	return names, err
}

// Each one's hand, and who it is.
type seer struct {
	lodger
	hand *hand
}

func pagesAreOnesOwn(w *world) error {
	record, cards, err := w.nodeAndCards()
	if err != nil {
		return err
	}
	pair := beside(shareOf("pair", cards[0], 2000), 1000)
	hands, err := w.hands(pair, "busy")
	if err != nil {
		return err
	}
	// The same limit, on the same card: nothing but whose they are tells its pages apart.
	neighbour, err := w.hand(shareOf("neighbour", cards[0], 2000), "busy")
	if err != nil {
		return err
	}
	all := []seer{{lodger{"pair", "probe"}, hands[0]}, {lodger{"pair", "beside"}, hands[1]},
		{lodger{"neighbour", "probe"}, neighbour}}
	known := map[string]lodger{}
	for _, one := range all {
		if err := one.hand.must("open", 1); err != nil {
			return err
		}
		pid, err := one.hand.pid()
		if err != nil {
			return err
		}
		tenant, err := w.tenantOf(one.lodger)
		if err == nil {
			err = w.seesItsOwn(pid, tenant)
		}
		if err != nil {
			return fmt.Errorf("%v: %w", one.lodger, err)
		}
		if other, twice := known[tenant]; twice {
			return fmt.Errorf("%v and %v are both %s", one.lodger, other, tenant)
		}
		known[tenant] = one.lodger
	}
	if err := w.peeps(all[0].lodger, record.Build); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	w.note = fmt.Sprintf("%d containers, %d pages each", len(all), len(pages))
	if err := w.seesItsOwnAgain(cards[0]); err != nil {
		return err
	}
	both := &duo{"pair", [2]*hand{hands[0], hands[1]}}
	return errors.Join(both.end(w), neighbour.end(w))
}

// peeps is the control: into a pod somebody mounts another's folder by hand, and it is seen.
func (w *world) peeps(at lodger, build string) error {
	tenant, err := w.tenantOf(at)
	if err != nil {
		return err
	}
	p := w.bare("peeps", build)
	kind := core.HostPathDirectory
	p.Spec.Volumes = append(p.Spec.Volumes, core.Volume{Name: "another", VolumeSource: core.VolumeSource{
		HostPath: &core.HostPathVolumeSource{Path: w.path("divvy", simulated, "tenants", tenant), Type: &kind}}})
	p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts,
		core.VolumeMount{Name: "another", MountPath: "/mnt"})
	h, err := w.hand(p, "busy")
	if err != nil {
		return err
	}
	pid, err := h.pid()
	if err != nil {
		return err
	}
	whose, err := w.tenantsOf(pid)
	if err == nil && !slices.Equal(whose, []string{tenant}) {
		err = fmt.Errorf("it has files of %v, and should have those of %s", whose, tenant)
	}
	return errors.Join(err, h.end(w))
}

// seesItsOwnAgain: a container that was killed and begins anew has the pages that it had.
func (w *world) seesItsOwnAgain(card string) error {
	p := shareOf("again", card, 2000)
	p.Spec.RestartPolicy = core.RestartPolicyAlways
	p.Spec.Containers[0].Args = []string{"stay"}
	p, err := w.create(p)
	if err != nil {
		return err
	}
	if err := w.runs("again"); err != nil {
		return err
	}
	tenant, err := w.tenantOf(lodger{"again", "probe"})
	if err != nil {
		return err
	}
	for times := int32(0); times < 2; times++ {
		err := w.until("its container has begun", func() error {
			now, err := w.get("again")
			if err != nil {
				return err
			}
			if one := now.Status.ContainerStatuses[0]; one.RestartCount != times || one.State.Running == nil {
				return fmt.Errorf("it was started %d times more: %+v", one.RestartCount, one.State)
			}
			return nil
		})
		if err != nil {
			return err
		}
		pids, err := pidsOf(p)
		if err != nil || len(pids) != 1 {
			return errors.Join(err, fmt.Errorf("its programs are %v", pids))
		}
		if err := w.seesItsOwn(pids[0], tenant); err != nil {
			return fmt.Errorf("started %d times more: %w", times, err)
		}
		if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
			return err
		}
	}
	return nil
}
