package upgrade

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var tableRow = regexp.MustCompile("^\\| `([^`]+)` \\| `([^`]+)` \\|$")

// RenamedNames are the present names by the old ones, of the tables of docs/reference/public-names.md below these
// headings. They are read from the page, and not from our source: the page is the promise.
func RenamedNames(page string, headings ...string) (map[string]string, error) {
	renamed, inside := map[string]string{}, false
	for _, line := range strings.Split(page, "\n") {
		if heading, is := strings.CutPrefix(line, "## "); is {
			inside = false
			for _, one := range headings {
				inside = inside || heading == one
			}
		}
		if row := tableRow.FindStringSubmatch(line); inside && row != nil {
			renamed[row[1]] = row[2]
		}
	}
	if len(renamed) == 0 {
		return nil, fmt.Errorf("no table of names below %q", headings)
	}
	return renamed, nil
}

// Leftovers are old names that still have samples, and present names of old ones that had samples `before` but have
// none now: both are lines of what is wrong where deprecated names are off.
func Leftovers(renamed map[string]string, before, now map[string]int) []string {
	var wrong []string
	for _, old := range slices.Sorted(maps.Keys(renamed)) {
		present := renamed[old]
		if now[old] > 0 {
			wrong = append(wrong, old+" is still exported")
		}
		if before[old] > 0 && now[present] == 0 {
			wrong = append(wrong, present+" is not exported, and "+old+" was")
		}
	}
	return wrong
}
