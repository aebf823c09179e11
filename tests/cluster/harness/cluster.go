package harness

import (
	"fmt"
	"path/filepath"
)

// Open is the cluster in that folder, of the program `self`, whether it runs or not.
func Open(dir, self string) (*Cluster, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return &Cluster{Dir: absolute, Self: self, Processes: Processes{absolute, self}}, nil
}

// ProgramOf is the program that made the cluster in that folder.
func ProgramOf(dir string) (string, error) {
	return filepath.EvalSymlinks(filepath.Join(dir, "bin", "kubectl"))
}

// ControlPlaneProcesses are what always runs; Divvy's are there where it was installed.
var ControlPlaneProcesses = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}

func (c *Cluster) Running() error {
	missing := 0
	for _, name := range ControlPlaneProcesses {
		if one, known := c.Processes.Find(name); !known || !one.Alive() {
			missing++
		}
	}
	if missing > 0 {
		return fmt.Errorf("%d of %d do not run in %s", missing, len(ControlPlaneProcesses), c.Dir)
	}
	return nil
}
