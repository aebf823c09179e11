package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// A write is one line of the audit log, as far as it is counted.
type write struct {
	Verb string `json:"verb"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	UserAgent string `json:"userAgent"`
	Object    struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Status struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Done time.Time `json:"stageTimestamp"`
}

func (w *write) binding() bool {
	return w.Verb == "create" && w.Object.Resource == "pods" && w.Object.Subresource == "binding" &&
		w.Status.Code < 300
}

// An audit reads the log on, also where it goes on in a new file.
type audit struct {
	path string
	file *os.File
	in   *bufio.Reader
	rest string // of a line that is not all there yet
}

// openAudit reads what is written from now on.
func openAudit(path string) (*audit, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	_, err = file.Seek(0, io.SeekEnd)
	return &audit{path: path, file: file, in: bufio.NewReaderSize(file, 1<<20)}, err
}

func (a *audit) close() { _ = a.file.Close() }

// renewed opens the file that took the place of the one that was read to its end.
func (a *audit) renewed() (bool, error) {
	ours, err := a.file.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Stat(a.path)
	if errors.Is(err, os.ErrNotExist) || (err == nil && os.SameFile(ours, there)) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	fresh, err := os.Open(a.path)
	if err != nil {
		return false, err
	}
	a.close()
	a.file, a.rest = fresh, ""
	a.in.Reset(fresh)
	return true, nil
}

// read hands on what came since it was asked last.
func (a *audit) read(each func(*write)) error {
	for {
		line, err := a.in.ReadString('\n')
		a.rest += line
		if errors.Is(err, io.EOF) {
			more, err := a.renewed()
			if err != nil || !more {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		var one write
		if err := json.Unmarshal([]byte(a.rest), &one); err != nil {
			return fmt.Errorf("%s: %w", a.path, err)
		}
		a.rest = ""
		each(&one)
	}
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
