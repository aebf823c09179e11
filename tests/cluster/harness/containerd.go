// The runtime of the node with a kubelet: Debian's containerd, or containerd 2 of its own module.

package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// CdiDir is where the agent writes for containerd 2, not the machine's own.
func (c *Cluster) CdiDir() string { return c.Path("cdi") }

func (c *Cluster) containerdSocket() string { return c.Path("ctd", "ctd.sock") }

// What containerd 2 reads. As below; the shim is found beside the program.
const containerdConfig2 = `version = 3
root = %[1]q
state = %[2]q
[grpc]
  address = %[3]q
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "` + PauseImage + `"
[plugins.'io.containerd.cri.v1.runtime']
  cdi_spec_dirs = [%[5]q]
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = [%[4]q]
    conf_dir = %[4]q
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      SystemdCgroup = %[6]t
`

// A machine that is a virtual one may have no right to protect its processes from running out of
// memory, and no AppArmor.
const containerdConfig = `version = 2
root = %[1]q
state = %[2]q
[grpc]
  address = %[3]q
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "` + PauseImage + `"
  restrict_oom_score_adj = true
  disable_apparmor = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %[4]q
    conf_dir = %[4]q
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = %[5]t
`

// Pods here are on the host's network, as a rule; a kubelet is ready only where there is some network.
const cniConfig = `{"cniVersion": "0.4.0", "name": "host", "loadOnlyInlinedPlugins": true, "plugins": [{"type": "none"}]}
`

// Who wants a network of its own gets one with nothing in it, and an address that is nobody's.
const cniPlugin = `#!/bin/sh
cat >/dev/null
case "$CNI_COMMAND" in
VERSION) echo '{"cniVersion": "0.4.0", "supportedVersions": ["0.3.1", "0.4.0"]}' ;;
ADD) echo '{"cniVersion": "0.4.0", "interfaces": [{"name": "'"$CNI_IFNAME"'", "sandbox": "'"$CNI_NETNS"'"}],
  "ips": [{"version": "4", "interface": 0, "address": "192.0.2.1/32"}]}' ;;
esac
`

func (c *Cluster) StartContainerd(ctx context.Context) error {
	for _, dir := range []string{"ctd/root", "ctd/state", "ctd/cni", "kubelet", "pods-log"} {
		if err := os.MkdirAll(c.Path(dir), 0o755); err != nil {
			return err
		}
	}
	record, err := c.ReadNodeRecord()
	if err != nil {
		return err
	}
	program, path, form := "containerd", os.Getenv("PATH"), containerdConfig
	if record.Runtime != "" {
		program, form = filepath.Join(record.Runtime, "containerd"), containerdConfig2
		path = record.Runtime + ":" + path // of its shim
	}
	places := []any{c.Path("ctd", "root"), c.Path("ctd", "state"), c.containerdSocket(), c.Path("ctd", "cni")}
	if record.Runtime != "" {
		places = append(places, c.CdiDir())
	}
	places = append(places, underSystemd())
	config := fmt.Sprintf(form, places...)
	if err := os.WriteFile(c.Path("ctd", "config.toml"), []byte(config), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(c.Path("ctd", "cni", "10-none.conflist"), []byte(cniConfig), 0o644); err != nil {
		return err
	}
	for _, name := range []string{"none", "loopback"} {
		if err := os.WriteFile(c.Path("ctd", "cni", name), []byte(cniPlugin), 0o755); err != nil {
			return err
		}
	}
	err = c.Processes.Start("containerd", "/usr/bin/env", "PATH="+path, program, "-c",
		c.Path("ctd", "config.toml"))
	if err != nil {
		return err
	}
	return c.Processes.Wait(ctx, "containerd", func() error { return c.Ctr("version") })
}

func (c *Cluster) Ctr(args ...string) error {
	out, err := exec.Command("ctr", append([]string{"-a", c.containerdSocket(), "-n", "k8s.io"},
		args...)...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("ctr %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return err
}

// importImages makes those that pods of the checks consist of. `build`: where CMake put programs.
func (c *Cluster) importImages(build string) error {
	tests := filepath.Join(build, "tests")
	probe := filepath.Join(tests, "share_probe")
	files := map[string]string{"/share_probe": probe}
	for _, name := range []string{"busy", "swapper"} {
		files["/"+name] = filepath.Join(build, "e2e", name)
	}
	for _, needs := range []string{probe, files["/busy"], files["/swapper"],
		filepath.Join(build, "simgpu", "libcuda.so.1"), filepath.Join(build, "simgpu", "libnvidia-ml.so.1"),
		filepath.Join(build, "lib", "libdivvy-cuda.so"), filepath.Join(build, "lib", "libdivvy-nvml.so")} {
		if err := libraries(needs, files); err != nil {
			return err
		}
	}
	for _, one := range []image{
		{PauseImage, []string{"/pause"}, map[string]string{"/pause": filepath.Join(tests, "pause")}, nil},
		{probeImage, []string{"/share_probe"}, files, map[string]string{LinkInContainer: TenantFolderInContainer}},
	} {
		file := c.Path("ctd", "image.tar")
		if err := one.write(file); err != nil {
			return fmt.Errorf("image %s: %w", one.name, err)
		}
		if err := c.Ctr("images", "import", file); err != nil {
			return err
		}
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}

// endContainers has containerd end them all: with the last one of a pod its shim ends.
func (c *Cluster) endContainers() {
	out, err := exec.Command("ctr", "-a", c.containerdSocket(), "-n", "k8s.io", "tasks", "ls", "-q").Output()
	if err != nil {
		return // it does not run: cgroups say who is left
	}
	for _, id := range strings.Fields(string(out)) {
		_ = c.Ctr("tasks", "rm", "-f", id)
	}
}

// endShims kills those that lost their containerd, and so were never told to end: their containers did.
func (c *Cluster) endShims() {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range all {
		text, err := os.ReadFile(file)
		words := strings.Split(string(text), "\x00")
		if err != nil || !strings.HasSuffix(words[0], "containerd-shim-runc-v2") || !slices.Contains(words,
			c.containerdSocket()) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
