package upgrade

import (
	"strings"
	"testing"
)

const page = `# HELP divvy_card_healthy Deprecated, use divvy_device_hardware_healthy
# TYPE divvy_card_healthy gauge
divvy_card_healthy{device="GPU-0"} 1
divvy_card_healthy{device="GPU-1"} 0
# TYPE divvy_tenant_allocations_refused_total counter
divvy_tenant_allocations_refused_total{tenant="a",pod="p"} 3
# TYPE divvy_tenant_info gauge
divvy_tenant_info{tenant="a",name="odd \"}, =\\ name",state="running"} 1
# TYPE divvy_agent_loop_lateness_seconds histogram
divvy_agent_loop_lateness_seconds_bucket{le="0.1"} 7
divvy_agent_loop_lateness_seconds_bucket{le="+Inf"} 9
divvy_agent_loop_lateness_seconds_count 9
# TYPE divvy_host_swap_bytes gauge
divvy_host_swap_bytes 1.5e+09
# TYPE nodeGPUOverview gauge
nodeGPUOverview{deviceuuid="GPU-0",devicecores="20"} 1
`

func parsed(t *testing.T, text string) *Exposition {
	t.Helper()
	read, err := ParseExposition(text)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// found: the lines are exactly these parts, in this order.
func found(t *testing.T, lines []string, parts ...string) {
	t.Helper()
	if len(lines) != len(parts) {
		t.Fatalf("%d lines, not %d: %q", len(lines), len(parts), lines)
	}
	for at, part := range parts {
		if !strings.Contains(lines[at], part) {
			t.Errorf("%q does not hold %q", lines[at], part)
		}
	}
}

func TestParseExposition(t *testing.T) {
	read := parsed(t, page)
	if len(read.Series) != 9 || read.Types["divvy_card_healthy"] != "gauge" {
		t.Fatalf("%d series, types %v", len(read.Series), read.Types)
	}
	info := read.Series[3]
	if info.Labels["name"] != `odd "}, =\ name` || info.Labels["state"] != "running" || info.Value != 1 {
		t.Errorf("%+v", info)
	}
	if last := read.Series[7]; last.Value != 1.5e9 || len(last.Labels) != 0 {
		t.Errorf("%+v", last)
	}
	for _, bad := range []string{"name", `name{label="x} 1`, `name{label} 1`, "name{} word", "{} 1"} {
		if _, err := ParseExposition(bad + "\n"); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

func TestLostSeries(t *testing.T) {
	before := parsed(t, page)
	for _, one := range []struct{ name, old, now string }{
		{"the same", "divvy", "divvy"},
		{"labels in another order", `{tenant="a",pod="p"} 3`, `{pod="p",tenant="a"} 3`},
		{"a higher counter", `pod="p"} 3`, `pod="p"} 4`},
		{"another gauge", "bytes 1.5e+09", "bytes 0"},
		{"another state", `state="running"`, `state="paused"`},
		{"another compute of a device's pods", `devicecores="20"`, `devicecores="70"`},
		{"a histogram of the process", `le="+Inf"} 9`, `le="+Inf"} 0`},
		{"a new family", "# TYPE divvy_host_swap_bytes", "divvy_new 1\n# TYPE divvy_host_swap_bytes"},
	} {
		if lost := LostSeries(before, parsed(t, strings.ReplaceAll(page, one.old, one.now))); len(lost) > 0 {
			t.Errorf("%s: %q", one.name, lost)
		}
	}
	for _, one := range []struct{ name, old, now, part string }{
		{"a lost series", `divvy_card_healthy{device="GPU-1"} 0` + "\n", "", `divvy_card_healthy{device="GPU-1"} is not exported`},
		{"a lost family", "divvy_host_swap_bytes 1.5e+09\n", "", "divvy_host_swap_bytes{} is not exported"},
		{"a renamed family", "divvy_host_swap_bytes", "divvy_host_swapped_bytes", "divvy_host_swap_bytes{} is not exported"},
		{"a lost label", `tenant="a",pod="p"`, `tenant="a"`, `total{pod="p",tenant="a"} is not exported`},
		{"another value of a label", `pod="p"`, `pod="q"`, `total{pod="p",tenant="a"} is not exported`},
		{"a further label", `device="GPU-0"`, `node="n",device="GPU-0"`, `healthy{device="GPU-0"} is not exported`},
		{"a lower counter", `pod="p"} 3`, `pod="p"} 2`, "is 2, and was 3"},
		{"another type", "refused_total counter", "refused_total gauge", "is a gauge, and was a counter"},
		{"a lost bucket", `lateness_seconds_bucket{le="0.1"} 7` + "\n", "divvy_other 1\n", "is not exported"},
	} {
		t.Run(one.name, func(t *testing.T) {
			after := strings.Replace(page, one.old, one.now, 1)
			if one.name == "a renamed family" {
				after = strings.ReplaceAll(page, one.old, one.now)
			}
			found(t, LostSeries(before, parsed(t, after)), one.part)
		})
	}
}

func TestContinuedCounters(t *testing.T) {
	if count := ContinuedCounters(parsed(t, page)); count != 1 {
		t.Errorf("%d", count)
	}
	none := strings.Replace(page, `pod="p"} 3`, `pod="p"} 0`, 1)
	none += "# TYPE divvy_scheduler_binds_total counter\ndivvy_scheduler_binds_total 5\n"
	if count := ContinuedCounters(parsed(t, none)); count != 0 {
		t.Errorf("%d of those that begin at 0 in each process", count)
	}
}

func TestWithout(t *testing.T) {
	left := parsed(t, page).Without(map[string]string{"divvy_card_healthy": "divvy_device_hardware_healthy"})
	if names := left.Names(); len(left.Series) != 7 || names["divvy_card_healthy"] != 0 || names["divvy_host_swap_bytes"] != 1 {
		t.Errorf("%v", names)
	}
}
