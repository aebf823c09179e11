// Package upgrade compares what is public of two builds: series, alert rules and annotations. It needs no cluster.
package upgrade

import (
	"bufio"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Series is one sample of a /metrics page.
type Series struct {
	Name   string
	Labels map[string]string
	Value  float64
}

// identity is the series as Prometheus writes it, with sorted labels, without those that say what its object does now.
func (s Series) identity() string {
	var pairs []string
	for _, label := range slices.Sorted(maps.Keys(s.Labels)) {
		if !isState(s.Name, label) {
			pairs = append(pairs, label+"="+strconv.Quote(s.Labels[label]))
		}
	}
	return s.Name + "{" + strings.Join(pairs, ",") + "}"
}

// An Exposition is a /metrics page.
type Exposition struct {
	Types  map[string]string // of families: "counter", "gauge", "histogram"
	Series []Series
}

// ParseExposition reads the text format of Prometheus, as both daemons write it: without timestamps.
func ParseExposition(text string) (*Exposition, error) {
	page := &Exposition{Types: map[string]string{}}
	in := bufio.NewScanner(strings.NewReader(text))
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		line := in.Text()
		if fields := strings.Fields(line); len(fields) == 4 && fields[0] == "#" && fields[1] == "TYPE" {
			page.Types[fields[2]] = fields[3]
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		one, err := parseSeries(line)
		if err != nil {
			return nil, err
		}
		page.Series = append(page.Series, one)
	}
	return page, in.Err()
}

// parseSeries reads `NAME{LABEL="VALUE",...} NUMBER`. A value may hold each of these characters, and escapes.
func parseSeries(line string) (Series, error) {
	one := Series{Labels: map[string]string{}}
	end := strings.IndexAny(line, "{ ")
	if end <= 0 {
		return one, fmt.Errorf("no sample: %q", line)
	}
	one.Name = line[:end]
	rest := line[end:]
	if strings.HasPrefix(rest, "{") {
		rest = rest[1:]
		for !strings.HasPrefix(rest, "}") {
			label, behind, found := strings.Cut(rest, "=")
			quoted, err := strconv.QuotedPrefix(behind)
			if !found || err != nil {
				return one, fmt.Errorf("labels of %q: %w", line, err)
			}
			value, err := strconv.Unquote(quoted)
			if err != nil {
				return one, fmt.Errorf("label %s of %q: %w", label, line, err)
			}
			one.Labels[label] = value
			rest = strings.TrimPrefix(behind[len(quoted):], ",")
		}
		rest = rest[1:]
	}
	var err error
	one.Value, err = strconv.ParseFloat(strings.TrimSpace(rest), 64)
	return one, err
}

// Names are those of all samples, and how many samples each has.
func (e *Exposition) Names() map[string]int {
	names := map[string]int{}
	for _, one := range e.Series {
		names[one.Name]++
	}
	return names
}

// Without is the page without the samples of these names.
func (e *Exposition) Without(names map[string]string) *Exposition {
	left := &Exposition{Types: e.Types}
	for _, one := range e.Series {
		if _, named := names[one.Name]; !named {
			left.Series = append(left.Series, one)
		}
	}
	return left
}

// typeOf is the type of the family of a sample: samples of histograms have a suffix behind the family's name.
func (e *Exposition) typeOf(name string) string {
	if of, known := e.Types[name]; known {
		return of
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if family, cut := strings.CutSuffix(name, suffix); cut && e.Types[family] == "histogram" {
			return "histogram"
		}
	}
	return ""
}

// LostSeries are the differences by which series of `before` do not continue in `after`, one line each: a series that
// is not exported, another type, a counter that is lower. The exceptions of this package do not count.
func LostSeries(before, after *Exposition) []string {
	index := map[string]Series{}
	for _, one := range after.Series {
		index[one.identity()] = one
	}
	var lost []string
	for _, was := range before.Series {
		text := was.identity()
		is, there := index[text]
		if !there {
			lost = append(lost, text+" is not exported")
			continue
		}
		of := before.typeOf(was.Name)
		if now := after.typeOf(was.Name); now != of {
			lost = append(lost, fmt.Sprintf("%s is a %s, and was a %s", was.Name, now, of))
		}
		if (of == "counter" || of == "histogram") && is.Value < was.Value && !startsAnew(was.Name) {
			lost = append(lost, fmt.Sprintf("%s is %v, and was %v", text, is.Value, was.Value))
		}
	}
	slices.Sort(lost)
	return slices.Compact(lost)
}

// ContinuedCounters is how many counters of `before` are above 0 and may not be lower after an upgrade: with none of
// them nothing is shown about counters.
func ContinuedCounters(before *Exposition) int {
	count := 0
	for _, one := range before.Series {
		if before.typeOf(one.Name) == "counter" && one.Value > 0 && !startsAnew(one.Name) {
			count++
		}
	}
	return count
}
