#include "telemetry/metrics.h"

#include <string>

#include "telemetry/compat_metrics.h"

namespace divvy::scheduler {
namespace {

using metrics::Exposition;

double ratio(engine::Compute compute) {
  return static_cast<double>(compute.milli) / engine::kWholeDevice.milli;
}

void answers(Exposition* out, const Counters& counts) {
  out->histogram("divvy_scheduler_filter_seconds", "Duration of answers of /filter in seconds",
                 counts.filter_seconds);
  out->family("divvy_scheduler_filters_total", "counter", "Answers of /filter, by answer");
  out->sample({{"answer", "placed"}}, counts.placed);
  out->sample({{"answer", "refused"}}, counts.refused);
  out->sample({{"answer", "passed"}}, counts.passed);
  out->sample({{"answer", "error"}}, counts.filter_errors);
  out->histogram("divvy_scheduler_bind_seconds", "Duration of answers of /bind in seconds",
                 counts.bind_seconds);
  out->family("divvy_scheduler_binds_total", "counter", "Answers of /bind, by answer");
  out->sample({{"answer", "bound"}}, counts.bound);
  out->sample({{"answer", "refused"}}, counts.bind_refused);
  out->sample({{"answer", "uncertain"}}, counts.bind_uncertain);
  out->sample({{"answer", "not_reserved"}}, counts.not_reserved);
  out->histogram("divvy_scheduler_review_seconds", "Duration of answers of /webhook in seconds",
                 counts.review_seconds);
  out->family("divvy_scheduler_reviews_total", "counter", "Answers of /webhook, by answer");
  out->sample({{"answer", "allowed"}}, counts.allowed);
  out->sample({{"answer", "denied"}}, counts.denied);
  out->sample({{"answer", "not_a_review"}}, counts.not_reviews);
}

void state(Exposition* out, const Counters& counts, const ClusterSample& seen) {
  const auto one = [&](const char* name, const char* type, const char* help, std::uint64_t value) {
    out->family(name, type, help);
    out->sample({}, value);
  };
  one("divvy_scheduler_ready", "gauge", "1: this replica knows the cluster and places pods",
      seen.ready ? 1 : 0);
  one("divvy_scheduler_unschedulable_pods", "gauge", "Pods that were refused and wait for capacity",
      seen.waiting);
  out->histogram("divvy_scheduler_loop_lateness_seconds",
                 "Delay of due work on the scheduler's event loop in seconds", seen.late);
  out->family("divvy_scheduler_loop_lateness_max_seconds", "gauge",
              "Largest such delay in the last minute, in seconds");
  out->sample({}, seen.latest);
  one("divvy_scheduler_search_tries_total", "counter",
      "Devices tried for pods with several different shares; a try takes about a microsecond",
      seen.tries);
  one("divvy_scheduler_unreadable_assignment_nodes", "gauge",
      "Nodes that get no new shares, because a pod's assignment cannot be read", seen.closed_nodes);
  one("divvy_scheduler_inventory_exceeded_nodes", "gauge",
      "Nodes that register more than their inventories; the surplus gets no pods",
      seen.surplus_nodes);
  one("divvy_scheduler_reservations_expired_total", "counter",
      "Reservations that expired before their pods were bound", counts.expired);
  one("divvy_scheduler_requeues_total", "counter",
      "Unschedulable pods that were requeued, because capacity became free", counts.kicked);
  one("divvy_scheduler_labels_total", "counter", "Pods that got labels for HAMi's monitor",
      counts.labelled);
  one("divvy_scheduler_locks_total", "counter", "Locks of nodes, taken for a vendor's agent",
      counts.locked);
  one("divvy_scheduler_locks_refused_total", "counter",
      "Bindings that were delayed, because the node is locked for another pod",
      counts.lock_refused);
  out->family("divvy_scheduler_resizes_total", "counter", "Resizes of running pods, by result");
  out->sample({{"result", "admitted"}}, counts.changes.admitted);
  out->sample({{"result", "done"}}, counts.changes.done);
  out->sample({{"result", "refused"}}, counts.changes.refused);
  out->family("divvy_scheduler_kueue_decisions_total", "counter",
              "Decisions on workloads of Kueue, by the written state of the admission check");
  out->sample({{"state", "Ready"}}, counts.kueue.ready);
  out->sample({{"state", "Retry"}}, counts.kueue.retried);
  out->sample({{"state", "Rejected"}}, counts.kueue.rejected);
  out->family("divvy_scheduler_kueue_unreadable_total", "counter",
              "AdmissionChecks and Workloads of Kueue that cannot be read");
  out->sample({}, counts.kueue.unreadable);
  const auto complaints = [&](const char* name, const char* help, const NoticeCounts& of) {
    out->family(name, "counter", help);
    out->sample({{"result", "noticed"}}, of.noticed);
    out->sample({{"result", "called-off"}}, of.called_off);
    out->sample({{"result", "evicted"}}, of.evicted);
  };
  complaints("divvy_scheduler_idle_pods_total", "Pods with idle devices, by result", counts.idle);
  complaints("divvy_scheduler_bypass_pods_total", "Pods that bypass their limits, by result",
             counts.bypass);
  one("divvy_scheduler_idle_url_failures_total", "counter",
      "Failed calls of the idle URL; the idle pod is not evicted", counts.idle.unheard);
  one("divvy_scheduler_api_calls_total", "counter",
      "Calls that the scheduler sent to the API server", seen.api_calls);
  out->family("divvy_scheduler_unreadable_total", "counter",
              "Objects that the scheduler cannot read, by kind");
  out->sample({{"kind", "node"}}, counts.unreadable_nodes);
  out->sample({{"kind", "pod"}}, counts.unreadable_pods);
  out->sample({{"kind", "resourcequota"}}, counts.unreadable_quotas);
}

void devices(Exposition* out, const std::vector<DeviceUsage>& all) {
  const auto each = [&](const char* name, const char* help, const auto& of) {
    out->family(name, "gauge", help);
    for (const DeviceUsage& one : all)
      out->sample({{"node", one.node}, {"device", one.uuid}}, of(one));
  };
  out->family("divvy_device_info", "gauge",
              "Always 1; labels: index, model, kind and pool of the device");
  for (const DeviceUsage& one : all) {
    out->sample({{"node", one.node},
                 {"device", one.uuid},
                 {"index", std::to_string(one.index)},
                 {"model", one.model},
                 {"kind", one.kind},
                 {"pool", one.pool}},
                std::uint64_t{1});
  }
  each("divvy_device_schedulable", "1: the device accepts pods",
       [](const DeviceUsage& one) { return std::uint64_t{one.healthy ? 1u : 0u}; });
  each("divvy_device_allocatable_memory_bytes",
       "Memory that may be allocated on the device, in bytes",
       [](const DeviceUsage& one) { return one.memory.count; });
  each("divvy_device_allocated_memory_bytes",
       "Allocated and reserved memory of the device in bytes",
       [](const DeviceUsage& one) { return one.promised.count; });
  each("divvy_device_allocatable_compute_ratio",
       "Compute that may be allocated on the device; 1: a whole device",
       [](const DeviceUsage& one) { return ratio(one.compute); });
  each("divvy_device_allocated_compute_ratio", "Allocated and reserved compute; 1: a whole device",
       [](const DeviceUsage& one) { return ratio(one.promised_compute); });
  each("divvy_device_allocatable_tenants", "Largest number of tenants of the device",
       [](const DeviceUsage& one) { return std::uint64_t{one.slots}; });
  each("divvy_device_allocated_tenants", "Tenants that the device has or is reserved for",
       [](const DeviceUsage& one) { return std::uint64_t{one.tenants}; });
}

void shares(Exposition* out, const std::vector<AllocatedShare>& all) {
  const auto each = [&](const char* name, const char* help, const auto& of) {
    out->family(name, "gauge", help);
    for (const AllocatedShare& one : all) {
      out->sample({{"namespace", one.namespace_name},
                   {"pod", one.pod},
                   {"container_index", std::to_string(one.container)},
                   {"node", one.node},
                   {"device", one.uuid}},
                  of(one));
    }
  };
  each("divvy_pod_device_memory_bytes", "Memory allocated to a container on the device, in bytes",
       [](const AllocatedShare& one) { return one.memory.count; });
  each("divvy_pod_device_compute_ratio",
       "Compute allocated to a container; 0: it gets the compute that others leave",
       [](const AllocatedShare& one) { return ratio(one.compute); });
}

void quotas(Exposition* out, const std::vector<QuotaUsage>& all) {
  for (const bool used : {false, true}) {
    out->family(used ? "divvy_quota_used" : "divvy_quota_limit", "gauge",
                used ? "Allocated and reserved amount, in the unit of the resource"
                     : "Quota of the namespace, in the unit of the resource");
    for (const QuotaUsage& one : all) {
      out->sample(
          {{"namespace", one.namespace_name}, {"resource", one.resource}, {"quota", one.quota}},
          static_cast<double>(used ? one.used : one.limit));
    }
  }
}

}  // namespace

std::string exposition(const Counters& counts, const ClusterSample& seen,
                       const metrics::FurtherNames& further) {
  Exposition out(further.deprecated);
  state(&out, counts, seen);
  answers(&out, counts);
  expose(&out, counts.preemption);
  devices(&out, seen.devices);
  shares(&out, seen.shares);
  quotas(&out, seen.quotas);
  if (further.compat) addCompatFamilies(&out, seen);
  return out.text();
}

}  // namespace divvy::scheduler
