package main

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

// A hand is a program in a pod that does what it is told, a line at a time, over a socket of ours
// that is mounted into it: tests/e2e/busy.c and swapper.c say which lines there are.
type hand struct {
	name string
	conn *net.UnixConn
	in   *bufio.Reader
}

// hand makes the pod with that program in it, and is there when it has begun.
func (w *world) hand(p *core.Pod, program string) (*hand, error) {
	hands, err := w.hands(p, program)
	if err != nil {
		return nil, err
	}
	return hands[0], nil
}

// hands are those of a pod's containers, in their order.
func (w *world) hands(p *core.Pod, program string) ([]*hand, error) {
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
	if _, err := w.create(p); err != nil {
		return nil, err
	}
	var found []*hand
	for _, listener := range listeners {
		h, err := w.accept(p.Name, listener)
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

func (w *world) accept(name string, listener *net.UnixListener) (*hand, error) {
	var conn *net.UnixConn
	err := w.until(name+" begins", func() error {
		err := listener.SetDeadline(time.Now().Add(100 * time.Millisecond))
		if err != nil {
			return err
		}
		if conn, err = listener.AcceptUnix(); err == nil {
			return nil
		}
		now, err := w.get(name)
		if err != nil {
			return err
		}
		return fmt.Errorf("it is %s on %q: %s %+v", now.Status.Phase, now.Spec.NodeName, unscheduled(now),
			now.Status.ContainerStatuses)
	})
	if err != nil {
		return nil, err
	}
	return &hand{name, conn, bufio.NewReader(conn)}, nil
}

// pid is its process on this machine.
func (h *hand) pid() (int, error) {
	raw, err := h.conn.SyscallConn()
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

func (h *hand) tell(words ...any) error {
	_, err := fmt.Fprintln(h.conn, words...)
	return err
}

// answer is the words behind "ok".
func (h *hand) answer() ([]string, error) {
	if err := h.conn.SetReadDeadline(time.Now().Add(checkBound)); err != nil {
		return nil, err
	}
	line, err := h.in.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("%s does not answer: %w", h.name, err)
	}
	words := strings.Fields(line)
	if len(words) < 2 || words[0] != "ok" {
		return nil, fmt.Errorf("%s says %q", h.name, line)
	}
	return words[1:], nil
}

func (h *hand) ask(words ...any) ([]string, error) {
	if err := h.tell(words...); err != nil {
		return nil, err
	}
	return h.answer()
}

// code is what a call of the driver's came to: the first word of the answer. 0: well.
func (h *hand) code(words ...any) (int, error) {
	said, err := h.ask(words...)
	if err != nil {
		return 0, err
	}
	var code int
	_, err = fmt.Sscan(said[0], &code)
	return code, err
}

// must is for what has to go well.
func (h *hand) must(words ...any) error {
	code, err := h.code(words...)
	if err == nil && code != 0 {
		err = fmt.Errorf("%s: %v: %d", h.name, words, code)
	}
	return err
}

// number is an answer of one word.
func (h *hand) number(words ...any) (int, error) { return h.code(words...) }

// rest ends what it does, and says how often it did it.
func (h *hand) rest() (int, error) {
	said, err := h.ask("rest")
	if err != nil {
		return 0, err
	}
	if len(said) != 2 || said[0] != "0" {
		return 0, fmt.Errorf("%s: rest: %v", h.name, said)
	}
	var times int
	_, err = fmt.Sscan(said[1], &times)
	return times, err
}

// intact: it reads back all that it has, and every word is what it has to be.
func (h *hand) intact() error {
	said, err := h.ask("verify")
	if err == nil && strings.Join(said, " ") != "0 0" {
		err = fmt.Errorf("%s: verify: error %s, %s words are wrong", h.name, said[0], strings.Join(said[1:], " "))
	}
	return err
}

// end has the program end, well.
func (h *hand) end(w *world) error {
	err := errors.Join(h.tell("exit"), h.conn.Close())
	if err != nil {
		return err
	}
	return w.until(h.name+" ends", func() error {
		p, err := w.get(h.name)
		if err == nil && p.Status.Phase != core.PodSucceeded {
			err = fmt.Errorf("it is %s: %+v", p.Status.Phase, p.Status.ContainerStatuses)
		}
		return err
	})
}
