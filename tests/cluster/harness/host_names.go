package harness

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// On one machine all processes have one host name, by which kube-scheduler calls itself. In a UTS
// namespace of its own a process can have another.
const HostNameComponent = "with-host-name"

// onHost is the program in such a namespace: `self`, the cluster's program, begins there, renames it and becomes it.
func onHost(self, host, program string, args []string) *exec.Cmd {
	command := exec.Command(self, append([]string{HostNameComponent, host, program}, args...)...)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWUTS}
	if os.Geteuid() != 0 {
		// Who is nobody special may be so in a user namespace, where that is allowed.
		command.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return command
}

// RunWithHostName is what is begun there: HOST PROGRAM ARGUMENTS. It returns only if it fails.
func RunWithHostName() int {
	if len(os.Args) < 3 {
		return 2
	}
	err := syscall.Sethostname([]byte(os.Args[1]))
	if err == nil {
		err = syscall.Exec(os.Args[2], os.Args[2:], os.Environ())
	}
	fmt.Fprintf(os.Stderr, "cluster: %s: %v\n", os.Args[2], err)
	return 1
}

// hostsCanDiffer: nil where it is so.
func hostsCanDiffer(self string) error {
	out, err := onHost(self, "divvy-tried", "/bin/sh", []string{"-c", "uname -n"}).CombinedOutput()
	if err == nil && string(out) != "divvy-tried\n" {
		err = fmt.Errorf("the host is called %q", out)
	}
	return err
}
