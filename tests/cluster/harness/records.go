package harness

import (
	"encoding/json"
	"errors"
	"os"
)

// A Record is what became of a check.
type Record struct {
	Name        string  `json:"name"`
	Package     string  `json:"package,omitempty"` // of `go test`, which has the check
	Requirement string  `json:"requirement"`
	Seconds     float64 `json:"seconds"`
	Result      string  `json:"result"` // pass, fail, skip
	Reason      string  `json:"reason,omitempty"`
	Note        string  `json:"note,omitempty"` // what was measured
	// Why it failed when it was tried first, on an installation that had been through other checks.
	FirstFailure string `json:"first_failure,omitempty"`
	Flake        bool   `json:"flake,omitempty"` // it failed first, and passed then
}

// WriteRecords replaces the file by a list of these.
func WriteRecords(file string, records []Record) error {
	text, err := json.MarshalIndent(records, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// ReadRecords is what WriteRecords wrote; none if there is no such file.
func ReadRecords(file string) ([]Record, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var records []Record
	return records, json.Unmarshal(text, &records)
}
