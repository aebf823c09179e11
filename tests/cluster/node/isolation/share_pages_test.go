package isolation

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
)

func TestSharePages(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-containers-see-their-own-pages-only",
			Requirement: "two containers of a pod, a neighbour on the same card, and one that was started again: each has the five pages " +
				"of its own share, the limits read-only, and no other file of Divvy's but the doors that all have; who is " +
				"given another's folder by hand is seen to have it",
			Run: pagesAreOnesOwn})
}

// What is mounted of a share, and whether its container may write there (docs/operations/node-agent.md).
var pages = map[string]bool{"control": false, "residency": false, "report": true, "work": true, "swap": true}

// tenantsOf are those of whose shares a process has some file mounted, wherever.
func tenantsOf(env *harness.Env, pid int) ([]string, error) {
	mounts, err := harness.MountsOf(pid)
	if err != nil {
		return nil, err
	}
	folder := regexp.MustCompile("/" + regexp.QuoteMeta(filepath.Join(harness.SimulatedDevices, "tenants")) +
		"(?:/([^/]+)|$)")
	var found []string
	for _, one := range mounts {
		// All of them, if it is the folder that they are in.
		if words := folder.FindStringSubmatch(one.Root); words != nil && !slices.Contains(found, words[1]) {
			found = append(found, words[1])
		}
	}
	return found, nil
}

// tenantOf is what the agent calls a container's share.
func tenantOf(env *harness.Env, who harness.ContainerRef) (string, error) {
	all, err := harness.ScrapeAgent("divvy_tenant_info")
	if err != nil {
		return "", err
	}
	whose := fmt.Sprintf(`namespace="%s",pod="%s",container="%s"`, env.Namespace, who.Pod, who.Container)
	for _, line := range all {
		if words := harness.TenantOfMetric.FindStringSubmatch(line); words != nil && strings.Contains(line, whose) {
			return words[1], nil
		}
	}
	return "", fmt.Errorf("the agent knows no share of %v", who)
}

// seesItsOwn: that process has the pages of that tenant, and nobody else's.
func seesItsOwn(env *harness.Env, pid int, tenant string) error {
	whose, err := tenantsOf(env, pid)
	if err != nil || !slices.Equal(whose, []string{tenant}) {
		return errors.Join(err, fmt.Errorf("it has files of %v mounted, and is %s", whose, tenant))
	}
	const inside = harness.TenantFolderInContainer
	root := filepath.Join("/proc", fmt.Sprint(pid), "root")
	names, err := namesIn(filepath.Join(root, inside))
	if err != nil || len(names) != len(pages) {
		return errors.Join(err, fmt.Errorf("in %s are %v", inside, names))
	}
	mounts, err := harness.MountsOf(pid)
	if err != nil {
		return err
	}
	for name, writable := range pages {
		at := slices.IndexFunc(mounts, func(one harness.Mount) bool { return one.Point == filepath.Join(inside, name) })
		if at < 0 || mounts[at].Writable != writable {
			return fmt.Errorf("%s is not mounted, or can be written: %+v", name, mounts)
		}
		its, failed := os.Stat(filepath.Join(root, inside, name))
		ours, err := os.Stat(env.Path("divvy", harness.SimulatedDevices, "tenants", tenant, name))
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
	harness.ContainerRef
	hand *harness.Worker
}

func pagesAreOnesOwn(env *harness.Env) error {
	record, cards, err := env.NodeAndDevices()
	if err != nil {
		return err
	}
	pair := harness.WithSecondContainer(harness.ShareOf("pair", cards[0], 2000), 1000)
	workers, err := env.StartWorkers(pair, "busy")
	if err != nil {
		return err
	}
	// The same limit, on the same card: nothing but whose they are tells its pages apart.
	neighbour, err := env.StartWorker(harness.ShareOf("neighbour", cards[0], 2000), "busy")
	if err != nil {
		return err
	}
	all := []seer{{harness.ContainerRef{Pod: "pair", Container: "probe"}, workers[0]}, {harness.ContainerRef{Pod: "pair",
		Container: "beside"}, workers[1]},
		{harness.ContainerRef{Pod: "neighbour", Container: "probe"}, neighbour}}
	known := map[string]harness.ContainerRef{}
	for _, one := range all {
		if err := one.hand.Must("open", 1); err != nil {
			return err
		}
		pid, err := one.hand.PID()
		if err != nil {
			return err
		}
		tenant, err := tenantOf(env, one.ContainerRef)
		if err == nil {
			err = seesItsOwn(env, pid, tenant)
		}
		if err != nil {
			return fmt.Errorf("%v: %w", one.ContainerRef, err)
		}
		if other, twice := known[tenant]; twice {
			return fmt.Errorf("%v and %v are both %s", one.ContainerRef, other, tenant)
		}
		known[tenant] = one.ContainerRef
	}
	if err := peeps(env, all[0].ContainerRef, record.Build); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	env.Note = fmt.Sprintf("%d containers, %d pages each", len(all), len(pages))
	if err := seesItsOwnAgain(env, cards[0]); err != nil {
		return err
	}
	both := &harness.TwoContainerPod{Pod: "pair", Workers: [2]*harness.Worker{workers[0], workers[1]}}
	return errors.Join(both.End(env), neighbour.Exit(env))
}

// peeps is the control: into a pod somebody mounts another's folder by hand, and it is seen.
func peeps(env *harness.Env, at harness.ContainerRef, build string) error {
	tenant, err := tenantOf(env, at)
	if err != nil {
		return err
	}
	p := env.UnmanagedPod("peeps", build)
	kind := core.HostPathDirectory
	p.Spec.Volumes = append(p.Spec.Volumes, core.Volume{Name: "another", VolumeSource: core.VolumeSource{
		HostPath: &core.HostPathVolumeSource{Path: env.Path("divvy", harness.SimulatedDevices, "tenants", tenant),
			Type: &kind}}})
	p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts,
		core.VolumeMount{Name: "another", MountPath: "/mnt"})
	h, err := env.StartWorker(p, "busy")
	if err != nil {
		return err
	}
	pid, err := h.PID()
	if err != nil {
		return err
	}
	whose, err := tenantsOf(env, pid)
	if err == nil && !slices.Equal(whose, []string{tenant}) {
		err = fmt.Errorf("it has files of %v, and should have those of %s", whose, tenant)
	}
	return errors.Join(err, h.Exit(env))
}

// seesItsOwnAgain: a container that was killed and begins anew has the pages that it had.
func seesItsOwnAgain(env *harness.Env, card string) error {
	p := harness.ShareOf("again", card, 2000)
	p.Spec.RestartPolicy = core.RestartPolicyAlways
	p.Spec.Containers[0].Args = []string{"stay"}
	p, err := env.Create(p)
	if err != nil {
		return err
	}
	if err := env.WaitRunning("again"); err != nil {
		return err
	}
	tenant, err := tenantOf(env, harness.ContainerRef{Pod: "again", Container: "probe"})
	if err != nil {
		return err
	}
	for times := int32(0); times < 2; times++ {
		err := env.WaitFor("its container has begun", func() error {
			now, err := env.Get("again")
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
		pids, err := harness.PidsOf(p)
		if err != nil || len(pids) != 1 {
			return errors.Join(err, fmt.Errorf("its programs are %v", pids))
		}
		if err := seesItsOwn(env, pids[0], tenant); err != nil {
			return fmt.Errorf("started %d times more: %w", times, err)
		}
		if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
			return err
		}
	}
	return nil
}
