package harness

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	core "k8s.io/api/core/v1"
)

// A Worker is a program in a pod that does what it is told, a line at a time, over a socket of ours
// that is mounted into it: tests/e2e/busy.c and swapper.c say which lines there are.
type Worker struct {
	Name string
	Conn *net.UnixConn
	in   *bufio.Reader
}

// StartWorker makes the pod with that program in it, and is there when it has begun.
func (env *Env) StartWorker(p *core.Pod, program string) (*Worker, error) {
	workers, err := env.StartWorkers(p, program)
	if err != nil {
		return nil, err
	}
	return workers[0], nil
}

// StartWorkers are those of a pod's containers, in their order.
func (env *Env) StartWorkers(p *core.Pod, program string) ([]*Worker, error) {
	dir, err := os.MkdirTemp("", "hand-")
	if err != nil {
		return nil, err
	}
	// Who has connected needs no name any more.
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	const inside = "/run/hand"
	kind := core.HostPathDirectory
	p.Spec.Volumes = append(p.Spec.Volumes, core.Volume{Name: "hand",
		VolumeSource: core.VolumeSource{HostPath: &core.HostPathVolumeSource{Path: dir, Type: &kind}}})
	var listeners []*net.UnixListener
	for at := range p.Spec.Containers {
		c := &p.Spec.Containers[at]
		listener, err := listenFor(filepath.Join(dir, c.Name))
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		listeners = append(listeners, listener)
		c.VolumeMounts = append(c.VolumeMounts, core.VolumeMount{Name: "hand", MountPath: inside})
		c.Command = []string{"/" + program, inside + "/" + c.Name}
	}
	if _, err := env.Create(p); err != nil {
		return nil, err
	}
	var found []*Worker
	for _, listener := range listeners {
		h, err := env.accept(p.Name, listener)
		if err != nil {
			return nil, err
		}
		found = append(found, h)
	}
	return found, nil
}

func listenFor(path string) (*net.UnixListener, error) {
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	return listener, os.Chmod(path, 0o777)
}

func (env *Env) accept(name string, listener *net.UnixListener) (*Worker, error) {
	var conn *net.UnixConn
	err := env.WaitFor(name+" begins", func() error {
		err := listener.SetDeadline(time.Now().Add(100 * time.Millisecond))
		if err != nil {
			return err
		}
		if conn, err = listener.AcceptUnix(); err == nil {
			return nil
		}
		now, err := env.Get(name)
		if err != nil {
			return err
		}
		return fmt.Errorf("it is %s on %q: %s %+v", now.Status.Phase, now.Spec.NodeName, UnschedulableMessage(now),
			now.Status.ContainerStatuses)
	})
	if err != nil {
		return nil, err
	}
	return &Worker{name, conn, bufio.NewReader(conn)}, nil
}

// PID is its process on this machine.
func (h *Worker) PID() (int, error) {
	raw, err := h.Conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var who *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		who, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err = errors.Join(err, failed); err != nil {
		return 0, err
	}
	return int(who.Pid), nil
}

func (h *Worker) Send(words ...any) error {
	_, err := fmt.Fprintln(h.Conn, words...)
	return err
}

// receive is the words behind "ok".
func (h *Worker) receive() ([]string, error) {
	if err := h.Conn.SetReadDeadline(time.Now().Add(checkBound)); err != nil {
		return nil, err
	}
	line, err := h.in.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("%s does not answer: %w", h.Name, err)
	}
	words := strings.Fields(line)
	if len(words) < 2 || words[0] != "ok" {
		return nil, fmt.Errorf("%s says %q", h.Name, line)
	}
	return words[1:], nil
}

func (h *Worker) Request(words ...any) ([]string, error) {
	if err := h.Send(words...); err != nil {
		return nil, err
	}
	return h.receive()
}

// Code is what a call of the driver's came to: the first word of the answer. 0: well.
func (h *Worker) Code(words ...any) (int, error) {
	said, err := h.Request(words...)
	if err != nil {
		return 0, err
	}
	var code int
	_, err = fmt.Sscan(said[0], &code)
	return code, err
}

// Must is for what has to go well.
func (h *Worker) Must(words ...any) error {
	code, err := h.Code(words...)
	if err == nil && code != 0 {
		err = fmt.Errorf("%s: %v: %d", h.Name, words, code)
	}
	return err
}

// Number is an answer of one word.
func (h *Worker) Number(words ...any) (int, error) { return h.Code(words...) }

// Stop ends what it does, and says how often it did it.
func (h *Worker) Stop() (int, error) {
	said, err := h.Request("rest")
	if err != nil {
		return 0, err
	}
	if len(said) != 2 || said[0] != "0" {
		return 0, fmt.Errorf("%s: rest: %v", h.Name, said)
	}
	var times int
	_, err = fmt.Sscan(said[1], &times)
	return times, err
}

// VerifyMemory: it reads back all that it has, and every word is what it has to be.
func (h *Worker) VerifyMemory() error {
	said, err := h.Request("verify")
	if err == nil && strings.Join(said, " ") != "0 0" {
		err = fmt.Errorf("%s: verify: error %s, %s words are wrong", h.Name, said[0], strings.Join(said[1:], " "))
	}
	return err
}

// Exit has the program end, well.
func (h *Worker) Exit(env *Env) error {
	err := errors.Join(h.Send("exit"), h.Conn.Close())
	if err != nil {
		return err
	}
	return env.WaitFor(h.Name+" ends", func() error {
		p, err := env.Get(h.Name)
		if err == nil && p.Status.Phase != core.PodSucceeded {
			err = fmt.Errorf("it is %s: %+v", p.Status.Phase, p.Status.ContainerStatuses)
		}
		return err
	})
}
