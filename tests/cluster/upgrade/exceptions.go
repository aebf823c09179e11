package upgrade

import "strings"

// Each exception names what it allows, and why. A change that needs a further one is a change that users see.

// counters that begin at 0 in each process of a daemon, as functions like rate() expect it; by prefix of the name.
var startingAnew = map[string]string{
	"divvy_scheduler_":                       "the scheduler keeps its counters in memory",
	"divvy_agent_loop_lateness_seconds":      "it describes the event loop of this process",
	"divvy_tenant_paused_seconds_total":      "documented: since this agent started",
	"divvy_tenant_throttled_seconds_total":   "documented: since this agent started",
	"divvy_tenant_device_seconds_total":      "documented: since this agent started",
	"divvy_tenant_memory_byte_seconds_total": "documented: since this agent started",
	"divvy_device_xid_errors_total":          "documented: since this agent started",
	"divvy_card_xid_errors_total":            "the old name of divvy_device_xid_errors_total",
}

func startsAnew(name string) bool {
	for prefix := range startingAnew {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// labels whose values say what the object does now: series with another value are the same object's.
var stateLabels = map[string]map[string]string{
	"divvy_tenant_info": {"state": "a tenant computes or waits", "memory": "its memory is on the device or the host"},
	// HAMi's form of a device: a label has the compute that its pods have at this instant.
	"GPUDeviceMemoryAllocated":        {"devicecores": "the compute of all its pods"},
	"nodeGPUOverview":                 {"devicecores": "the compute of all its pods"},
	"hami_gpu_memory_allocated_bytes": {"device_cores": "the compute of all its pods"},
	"hami_node_gpu_overview":          {"device_cores": "the compute of all its pods"},
}

func isState(name, label string) bool { return stateLabels[name][label] != "" }

// annotations whose values may differ after an upgrade, or that may be gone.
var changingAnnotations = map[string]string{}
