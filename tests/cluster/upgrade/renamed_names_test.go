package upgrade

import (
	"os"
	"path/filepath"
	"testing"
)

const names = "# Renamed\n| | Old |\n\n## Metrics of the agent\n| Old | Now |\n|---|---|\n| `divvy_a` | `divvy_b` |\n" +
	"## Annotations\n| `divvy.dev/full` | `divvy.dev/full-devices` |\n## Commands\n| `divvy set` | `divvy resize` |\n"

func TestRenamedNames(t *testing.T) {
	renamed, err := RenamedNames(names, "Metrics of the agent", "Annotations")
	if err != nil || len(renamed) != 2 || renamed["divvy_a"] != "divvy_b" ||
		renamed["divvy.dev/full"] != "divvy.dev/full-devices" {
		t.Errorf("%v %v", renamed, err)
	}
	if renamed, err := RenamedNames(names, "Alerts"); err == nil {
		t.Errorf("%v", renamed)
	}
}

func TestRenamedNames_Page(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "public-names.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, heading := range []string{"Metrics of the agent", "Metrics of the scheduler", "Annotations"} {
		if renamed, err := RenamedNames(string(page), heading); err != nil || len(renamed) < 5 {
			t.Errorf("%s: %v %v", heading, renamed, err)
		}
	}
}

func TestLeftovers(t *testing.T) {
	renamed := map[string]string{"divvy_a": "divvy_b", "divvy_c": "divvy_d", "divvy_e": "divvy_f"}
	before := map[string]int{"divvy_a": 1, "divvy_c": 1}
	found(t, Leftovers(renamed, before, map[string]int{"divvy_b": 1, "divvy_d": 1}))
	found(t, Leftovers(renamed, before, map[string]int{"divvy_a": 1, "divvy_b": 1}), "divvy_a is still exported",
		"divvy_d is not exported, and divvy_c was")
}
