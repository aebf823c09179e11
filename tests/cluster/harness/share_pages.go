package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"
)

const (
	TenantFolderInContainer = "/run/divvy/tenant"
	// Deeper than the pages: runtimes mount what has more folders in its path later.
	LinkInContainer = "/made/by/the/image/pages"
)

// WithSecondContainer adds a second container with a share of its own to the pod, of the same program.
func WithSecondContainer(p *core.Pod, mebibytes int) *core.Pod {
	second := Container("beside", OneShare(fmt.Sprint(mebibytes), "10"))
	second.Image, second.ImagePullPolicy = probeImage, core.PullNever
	p.Spec.Containers = append(p.Spec.Containers, second)
	return p
}

// TenantPagesOf are the tenants' files that a process has mounted, by the kernel's word.
func TenantPagesOf(pid int) ([]string, error) {
	mounts, err := MountsOf(pid)
	var found []string
	for _, one := range mounts {
		if strings.HasPrefix(one.Point, "/run/divvy/tenant") {
			found = append(found, one.Root)
		}
	}
	return found, err
}

// A Mount is one mount of a process, as the kernel has it.
type Mount struct {
	Root, Point string
	Writable    bool
}

func MountsOf(pid int) ([]Mount, error) {
	text, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "mountinfo"))
	if err != nil {
		return nil, err
	}
	var found []Mount
	for _, line := range strings.Split(string(text), "\n") {
		if fields := strings.Fields(line); len(fields) > 5 {
			found = append(found, Mount{fields[3], fields[4], slices.Contains(strings.Split(fields[5], ","), "rw")})
		}
	}
	return found, nil
}
