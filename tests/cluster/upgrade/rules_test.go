package upgrade

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const rules = `groups:
  - name: node
    rules:
      - alert: CardDown
        expr: divvy_device_hardware_healthy == 0 or divvy_card_healthy == 0
        for: 30s
      - alert: SwapShort
        expr: divvy_host_swap_promised_bytes > 0.9 * divvy_host_swap_bytes
  - name: scheduler
    rules:
      - alert: Slow
        expr: histogram_quantile(0.99, sum by (le) (rate(divvy_scheduler_filter_seconds_bucket[5m]))) > 0.1
`

func readRules(t *testing.T, text string) []Rule {
	t.Helper()
	all, err := ParseRules([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestParseRules(t *testing.T) {
	all := readRules(t, rules)
	if len(all) != 3 || all[2].Alert != "Slow" ||
		!slices.Equal(all[1].metrics(), []string{"divvy_host_swap_bytes", "divvy_host_swap_promised_bytes"}) {
		t.Errorf("%+v", all)
	}
	for _, bad := range []string{"groups: []", "groups: {", "groups: [{rules: [{alert: A, expr: up == 0}]}]"} {
		if _, err := ParseRules([]byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

func TestParseRules_Deployed(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "prometheus", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if all := readRules(t, string(text)); len(all) < 10 {
		t.Errorf("%d alerts", len(all))
	}
}

func TestWithSeries(t *testing.T) {
	names := map[string]int{"divvy_card_healthy": 4, "divvy_host_swap_bytes": 1}
	if found := WithSeries(readRules(t, rules), names); !slices.Equal(found, []string{"CardDown"}) {
		t.Errorf("%v", found)
	}
	names["divvy_host_swap_promised_bytes"], names["divvy_card_healthy"] = 1, 0
	if found := WithSeries(readRules(t, rules), names); !slices.Equal(found, []string{"SwapShort"}) {
		t.Errorf("%v", found)
	}
}

func TestLostMetrics(t *testing.T) {
	all := readRules(t, rules)
	before := map[string]int{"divvy_card_healthy": 4, "divvy_scheduler_filter_seconds_bucket": 12}
	found(t, LostMetrics(all, before, before))
	found(t, LostMetrics(all, before, map[string]int{"divvy_scheduler_filter_seconds_bucket": 12,
		"divvy_device_hardware_healthy": 4}), "CardDown has no series of divvy_card_healthy")
}

func TestLostAlerts(t *testing.T) {
	before := readRules(t, rules)
	now := []Rule{{Alert: "DeviceDown"}, {Alert: "Slow"}}
	found(t, LostAlerts(before, before, nil))
	found(t, LostAlerts(before, now, map[string]string{"CardDown": "DeviceDown"}), "SwapShort is in no rule")
	found(t, LostAlerts(before, now, nil), "CardDown", "SwapShort")
}
