package harness

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

// An AuditedWrite is one line of the audit log, as far as it is counted.
type AuditedWrite struct {
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

func (w *AuditedWrite) Binding() bool {
	return w.Verb == "create" && w.Object.Resource == "pods" && w.Object.Subresource == "binding" &&
		w.Status.Code < 300
}

// An Audit reads the log on, also where it goes on in a new file.
type Audit struct {
	path string
	file *os.File
	in   *bufio.Reader
	rest string // of a line that is not all there yet
}

// OpenAudit reads what is written from now on.
func OpenAudit(path string) (*Audit, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	_, err = file.Seek(0, io.SeekEnd)
	return &Audit{path: path, file: file, in: bufio.NewReaderSize(file, 1<<20)}, err
}

func (a *Audit) Close() { _ = a.file.Close() }

// renewed opens the file that took the place of the one that was read to its end.
func (a *Audit) renewed() (bool, error) {
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
	a.Close()
	a.file, a.rest = fresh, ""
	a.in.Reset(fresh)
	return true, nil
}

// Read workers on what came since it was asked last.
func (a *Audit) Read(each func(*AuditedWrite)) error {
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
		var one AuditedWrite
		if err := json.Unmarshal([]byte(a.rest), &one); err != nil {
			return fmt.Errorf("%s: %w", a.path, err)
		}
		a.rest = ""
		each(&one)
	}
}

func Lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
