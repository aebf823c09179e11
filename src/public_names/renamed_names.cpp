#include "public_names/public_names.h"

#include <array>

namespace divvy::public_names {
namespace {

using enum NameKind;

constexpr std::array kRenamed{
    RenamedName{kAgentMetric, "divvy_card_info", "divvy_device_hardware_info", "node"},
    RenamedName{kAgentMetric, "divvy_card_xid_errors_total", "divvy_device_xid_errors_total",
                "node"},
    RenamedName{kAgentMetric, "divvy_card_memory_bytes", "divvy_device_memory_total_bytes", "node"},
    RenamedName{kAgentMetric, "divvy_card_memory_used_bytes", "divvy_device_memory_used_bytes",
                "node"},
    RenamedName{kAgentMetric, "divvy_card_memory_promised_bytes",
                "divvy_device_memory_limits_bytes", "node"},
    RenamedName{kAgentMetric, "divvy_card_memory_guaranteed_bytes",
                "divvy_device_memory_guaranteed_bytes", "node"},
    RenamedName{kAgentMetric, "divvy_card_memory_budget_bytes", "divvy_device_memory_budget_bytes",
                "node"},
    RenamedName{kAgentMetric, "divvy_card_overcommit_ratio", "divvy_device_overcommit_ratio",
                "node"},
    RenamedName{kAgentMetric, "divvy_card_pressure_ratio", "divvy_device_memory_pressure_ratio",
                "node"},
    RenamedName{kAgentMetric, "divvy_card_thrash_risk", "divvy_device_thrash_risk", "node"},
    RenamedName{kAgentMetric, "divvy_card_context_bytes", "divvy_device_context_bytes", "node"},
    RenamedName{kAgentMetric, "divvy_card_compute_asked_ratio",
                "divvy_device_compute_requested_ratio", "node"},
    RenamedName{kAgentMetric, "divvy_card_utilisation_ratio", "divvy_device_utilisation_ratio",
                "node"},
    RenamedName{kAgentMetric, "divvy_card_foreign_utilisation_ratio",
                "divvy_device_unmanaged_utilisation_ratio", "node"},
    RenamedName{kAgentMetric, "divvy_card_foreign_processes", "divvy_device_unmanaged_processes",
                "node"},
    RenamedName{kAgentMetric, "divvy_card_foreign_memory_bytes",
                "divvy_device_unmanaged_memory_bytes", "node"},
    RenamedName{kAgentMetric, "divvy_card_graphics_memory_bytes",
                "divvy_device_graphics_memory_bytes", "node"},
    RenamedName{kAgentMetric, "divvy_card_healthy", "divvy_device_hardware_healthy", "node"},
    RenamedName{kAgentMetric, "divvy_card_occupied", "divvy_device_unmanaged_use", "node"},
    RenamedName{kAgentMetric, "divvy_card_excluded", "divvy_device_excluded", "node"},
    RenamedName{kAgentMetric, "divvy_card_tenants", "divvy_device_running_tenants", "node"},
    RenamedName{kAgentMetric, "divvy_card_checkpointed_tenants",
                "divvy_device_checkpointed_tenants", "node"},
    RenamedName{kAgentMetric, "divvy_host_swap_promised_bytes", "divvy_host_swap_committed_bytes"},
    RenamedName{kAgentMetric, "divvy_tenant_allocations_short_total",
                "divvy_tenant_allocations_device_full_total"},
    RenamedName{kAgentMetric, "divvy_tenant_launch_escapes_total",
                "divvy_tenant_launch_waits_abandoned_total"},
    RenamedName{kAgentMetric, "divvy_tenant_distrusted", "divvy_tenant_usage_mismatch"},
    RenamedName{kAgentMetric, "divvy_tenant_own_cpu_ratio", "divvy_tenant_overhead_cpu_ratio"},
    RenamedName{kAgentMetric, "divvy_tenant_compute_asked_ratio",
                "divvy_tenant_compute_requested_ratio"},
    RenamedName{kAgentMetric, "divvy_tenant_compute_got_ratio", "divvy_tenant_compute_usage_ratio"},
    RenamedName{kSchedulerMetric, "divvy_device_healthy", "divvy_device_schedulable"},
    RenamedName{kSchedulerMetric, "divvy_device_memory_bytes",
                "divvy_device_allocatable_memory_bytes"},
    RenamedName{kSchedulerMetric, "divvy_device_memory_promised_bytes",
                "divvy_device_allocated_memory_bytes"},
    RenamedName{kSchedulerMetric, "divvy_device_compute_ratio",
                "divvy_device_allocatable_compute_ratio"},
    RenamedName{kSchedulerMetric, "divvy_device_compute_promised_ratio",
                "divvy_device_allocated_compute_ratio"},
    RenamedName{kSchedulerMetric, "divvy_device_slots", "divvy_device_allocatable_tenants"},
    RenamedName{kSchedulerMetric, "divvy_device_tenants", "divvy_device_allocated_tenants"},
    RenamedName{kSchedulerMetric, "divvy_scheduler_kicks_total", "divvy_scheduler_requeues_total"},
    RenamedName{kSchedulerMetric, "divvy_scheduler_waiting_pods",
                "divvy_scheduler_unschedulable_pods"},
    RenamedName{kSchedulerMetric, "divvy_scheduler_closed_nodes",
                "divvy_scheduler_unreadable_assignment_nodes"},
    RenamedName{kSchedulerMetric, "divvy_scheduler_share_changes_total",
                "divvy_scheduler_resizes_total"},
    RenamedName{kSchedulerMetric, "divvy_scheduler_platform_failures_total",
                "divvy_scheduler_idle_url_failures_total"},
    RenamedName{kSchedulerMetric, "divvy_scheduler_preemptions_under_way",
                "divvy_scheduler_preemptions_in_progress"},
    RenamedName{kAlert, "DivvyForeignUse", "DivvyUnmanagedUse"},
    RenamedName{kAlert, "DivvyCardOutOfService", "DivvyDeviceUnhealthy"},
    RenamedName{kAlert, "DivvyCardOccupied", "DivvyDeviceNotAllocatable"},
    RenamedName{kAlert, "DivvyTenantDistrusted", "DivvyTenantUsageMismatch"},
    RenamedName{kAlert, "DivvyThrashing", "DivvyDeviceThrashing"},
    RenamedName{kAlert, "DivvyMemoryShort", "DivvyDeviceMemoryFull"},
    RenamedName{kAlert, "DivvyHostSwapShort", "DivvyHostSwapNearlyFull"},
    RenamedName{kAlert, "DivvySchedulerGone", "DivvySchedulerDown"},
    RenamedName{kAlert, "DivvyPodsWait", "DivvyPodsUnschedulable"},
    RenamedName{kAlert, "DivvyNodesClosed", "DivvyAssignmentsUnreadable"},
    RenamedName{kAnnotation, "divvy.dev/room-since", "divvy.dev/requeued-at"},
    RenamedName{kAnnotation, "divvy.dev/plan", "divvy.dev/reservation"},
    RenamedName{kAnnotation, "divvy.dev/lease", "divvy.dev/scheduler-term"},
    RenamedName{kAnnotation, "divvy.dev/full", "divvy.dev/full-devices"},
    RenamedName{kAnnotation, "divvy.dev/served", "divvy.dev/served-resources"},
    RenamedName{kAnnotation, "divvy.dev/announced", "divvy.dev/announced-resources"},
    RenamedName{kNextAnnotation, "use.divvy.dev/change", "use.divvy.dev/resize"},
    RenamedName{kNextAnnotation, "divvy.dev/change-state", "divvy.dev/resize-state"},
    RenamedName{kNextAnnotation, "divvy.dev/changes", "divvy.dev/resize-results"},
    RenamedName{kReason, "external", "held-by-other-plugin"},
    RenamedName{kReason, "strangers", "previous-pool-tenants"},
    RenamedName{kReason, "whole-only", "exclusive-only"},
    RenamedName{kReason, "company", "colocation"},
    RenamedName{kReason, "promise", "over-promise-limit"},
    RenamedName{kReason, "beside", "guarantee-conflict"},
    RenamedName{kCondition, "Works", "Active"},
    RenamedName{kCondition, "NoBypass", "LimitsRespected"},
    RenamedName{kCommand, "divvy set", "divvy resize"},
};

bool isLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// A name ends where no longer name could go on: "divvy.dev/full-devices" has no "divvy.dev/full".
bool isWholeWord(std::string_view text, std::size_t at, std::size_t size, NameKind kind) {
  const bool key = kind == kAnnotation;
  const char before = at == 0 ? ' ' : text[at - 1];
  const char after = at + size < text.size() ? text[at + size] : ' ';
  return !isLetterOrDigit(before) && !isLetterOrDigit(after) &&
         !(key && (before == '.' || before == '-' || after == '-'));
}

// A label's value that starts at `at` of `text`: `old_name: NAME`, `old_name="NAME"` or
// `old_name=~"NAME`, also with the quotes escaped as in JSON.
bool isOldNameLabel(std::string_view text, std::size_t at) {
  constexpr std::string_view kLabel = "old_name";
  const std::size_t end = text.substr(0, at).find_last_not_of(":=~\"' \\");
  return end != std::string_view::npos && text.substr(0, end + 1).ends_with(kLabel);
}

// Words of conditions and reasons are common ones. Next annotations are not written yet.
bool isInTexts(NameKind kind) {
  return kind != kReason && kind != kCondition && kind != kNextAnnotation;
}

}  // namespace

std::span<const RenamedName> renamedNames() {
  return kRenamed;
}

std::string_view presentName(NameKind kind, std::string_view old_name) {
  for (const RenamedName& one : kRenamed)
    if (one.kind == kind && one.old_name == old_name) return one.name;
  return {};
}

std::string_view oldMetricName(std::string_view name) {
  for (const RenamedName& one : kRenamed)
    if ((one.kind == kAgentMetric || one.kind == kSchedulerMetric) && one.name == name)
      return one.old_name;
  return {};
}

std::string_view addedLabel(std::string_view name) {
  for (const RenamedName& one : kRenamed)
    if ((one.kind == kAgentMetric || one.kind == kSchedulerMetric) && one.name == name)
      return one.added_label;
  return {};
}

std::string_view oldAnnotationKey(std::string_view key) {
  for (const RenamedName& one : kRenamed)
    if ((one.kind == kAnnotation || one.kind == kNextAnnotation) && one.name == key)
      return one.old_name;
  return {};
}

std::string withPresentNames(std::string text) {
  for (const RenamedName& one : kRenamed) {
    if (!isInTexts(one.kind)) continue;
    std::size_t at = text.find(one.old_name);
    while (at != std::string::npos) {
      const bool whole = isWholeWord(text, at, one.old_name.size(), one.kind) &&
                         !(one.kind == kAlert && isOldNameLabel(text, at));
      if (whole) text.replace(at, one.old_name.size(), one.name);
      at = text.find(one.old_name, at + (whole ? one.name : one.old_name).size());
    }
  }
  return text;
}

std::string table(NameKind kind) {
  std::string text = "| Old | Now |\n|---|---|\n";
  for (const RenamedName& one : kRenamed) {
    if (one.kind != kind) continue;
    text += "| `" + std::string(one.old_name) + "` | `" + std::string(one.name) + "` |\n";
  }
  return text;
}

}  // namespace divvy::public_names
