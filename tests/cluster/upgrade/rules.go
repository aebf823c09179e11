package upgrade

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// A Rule is an alert of deploy/prometheus.
type Rule struct{ Alert, Expr string }

// ParseRules reads the alerts of a rule file of Prometheus.
func ParseRules(text []byte) ([]Rule, error) {
	var file struct {
		Groups []struct{ Rules []Rule }
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	var all []Rule
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	for _, one := range all {
		if one.Alert == "" || len(one.metrics()) == 0 {
			return nil, fmt.Errorf("a rule without a name or without a metric of ours: %+v", one)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no alert")
	}
	return all, nil
}

var metricName = regexp.MustCompile(`\bdivvy_\w+`)

// metrics are the names that the expression uses.
func (r Rule) metrics() []string {
	found := metricName.FindAllString(r.Expr, -1)
	slices.Sort(found)
	return slices.Compact(found)
}

// hasSeries: one of the expressions that "or" joins has samples of all of its names.
func (r Rule) hasSeries(names map[string]int) bool {
	for _, part := range strings.Split(r.Expr, " or ") {
		if !slices.ContainsFunc(Rule{Expr: part}.metrics(), func(name string) bool { return names[name] == 0 }) {
			return true
		}
	}
	return false
}

// WithSeries are the alerts that have series to judge by, by their names.
func WithSeries(rules []Rule, names map[string]int) []string {
	var found []string
	for _, one := range rules {
		if one.hasSeries(names) {
			found = append(found, one.Alert)
		}
	}
	return found
}

// LostMetrics are the names that rules use, that had samples `before` and have none `after`: one line for each alert
// and name.
func LostMetrics(rules []Rule, before, after map[string]int) []string {
	var lost []string
	for _, one := range rules {
		for _, name := range one.metrics() {
			if before[name] > 0 && after[name] == 0 {
				lost = append(lost, fmt.Sprintf("%s has no series of %s", one.Alert, name))
			}
		}
	}
	return lost
}

// LostAlerts are the alerts of `before` that `after` has neither under their name nor under the present one.
func LostAlerts(before, after []Rule, renamed map[string]string) []string {
	var lost []string
	for _, was := range before {
		named := func(is Rule) bool { return is.Alert == was.Alert || is.Alert == renamed[was.Alert] }
		if !slices.ContainsFunc(after, named) {
			lost = append(lost, was.Alert+" is in no rule")
		}
	}
	return lost
}
