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
  out->histogram("divvy_scheduler_filter_seconds", "How long /filter took", counts.filter_seconds);
  out->family("divvy_scheduler_filters_total", "counter", "Answers of /filter");
  out->sample({{"answer", "placed"}}, counts.placed);
  out->sample({{"answer", "refused"}}, counts.refused);
  out->sample({{"answer", "passed"}}, counts.passed);
  out->sample({{"answer", "error"}}, counts.filter_errors);
  out->histogram("divvy_scheduler_bind_seconds", "How long /bind took", counts.bind_seconds);
  out->family("divvy_scheduler_binds_total", "counter", "Answers of /bind");
  out->sample({{"answer", "bound"}}, counts.bound);
  out->sample({{"answer", "refused"}}, counts.bind_refused);
  out->sample({{"answer", "uncertain"}}, counts.bind_uncertain);
  out->sample({{"answer", "not_reserved"}}, counts.not_reserved);
  out->histogram("divvy_scheduler_review_seconds", "How long /webhook took", counts.review_seconds);
  out->family("divvy_scheduler_reviews_total", "counter", "Answers of /webhook");
  out->sample({{"answer", "allowed"}}, counts.allowed);
  out->sample({{"answer", "denied"}}, counts.denied);
  out->sample({{"answer", "not_a_review"}}, counts.not_reviews);
}

void state(Exposition* out, const Counters& counts, const ClusterSample& seen) {
  const auto one = [&](const char* name, const char* type, const char* help, std::uint64_t value) {
    out->family(name, type, help);
    out->sample({}, value);
  };
  one("divvy_scheduler_ready", "gauge", "Whether it knows the cluster and places pods",
      seen.ready ? 1 : 0);
  one("divvy_scheduler_unschedulable_pods", "gauge",
      "Pods that were refused and are looked at again", seen.waiting);
  out->histogram("divvy_scheduler_loop_lateness_seconds",
                 "How late the scheduler's event loop ran what was due", seen.late);
  out->family("divvy_scheduler_loop_lateness_max_seconds", "gauge",
              "The largest of these in the last minute");
  out->sample({}, seen.latest);
  one("divvy_scheduler_search_tries_total", "counter",
      "Devices tried for containers of pods with several shares: about a microsecond each",
      seen.tries);
  one("divvy_scheduler_unreadable_assignment_nodes", "gauge",
      "Nodes that get no new shares, since a pod's assignment there cannot be read",
      seen.closed_nodes);
  one("divvy_scheduler_inventory_exceeded_nodes", "gauge",
      "Nodes that register devices beyond their inventories, which do not count",
      seen.surplus_nodes);
  one("divvy_scheduler_reservations_expired_total", "counter",
      "Reservations whose pods never came to bind", counts.expired);
  one("divvy_scheduler_requeues_total", "counter", "Waiting pods that had room, and were told so",
      counts.kicked);
  one("divvy_scheduler_labels_total", "counter", "Pods that were labelled for HAMi's monitor",
      counts.labelled);
  one("divvy_scheduler_locks_total", "counter", "Nodes that were locked for a vendor's agent",
      counts.locked);
  one("divvy_scheduler_locks_refused_total", "counter",
      "Bindings that were put off, for the node is locked for another pod", counts.lock_refused);
  out->family("divvy_scheduler_resizes_total", "counter",
              "Changes of what running pods have, by what became of them");
  out->sample({{"result", "admitted"}}, counts.changes.admitted);
  out->sample({{"result", "done"}}, counts.changes.done);
  out->sample({{"result", "refused"}}, counts.changes.refused);
  const auto complaints = [&](const char* name, const char* help, const NoticeCounts& of) {
    out->family(name, "counter", help);
    out->sample({{"result", "noticed"}}, of.noticed);
    out->sample({{"result", "called-off"}}, of.called_off);
    out->sample({{"result", "evicted"}}, of.evicted);
  };
  complaints("divvy_scheduler_idle_pods_total",
             "Pods whose devices nobody used, by what became of them", counts.idle);
  complaints("divvy_scheduler_bypass_pods_total",
             "Pods that went around what limits them, by what became of them", counts.bypass);
  one("divvy_scheduler_idle_url_failures_total", "counter",
      "Times that a platform could not be told of an idle pod: it is not evicted then",
      counts.idle.unheard);
  one("divvy_scheduler_api_calls_total", "counter", "Calls to the API server", seen.api_calls);
  out->family("divvy_scheduler_unreadable_total", "counter",
              "Objects that were told of and not understood");
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
  out->family("divvy_device_info", "gauge", "1 for every device that is known");
  for (const DeviceUsage& one : all) {
    out->sample({{"node", one.node},
                 {"device", one.uuid},
                 {"index", std::to_string(one.index)},
                 {"model", one.model},
                 {"kind", one.kind},
                 {"pool", one.pool}},
                std::uint64_t{1});
  }
  each("divvy_device_schedulable", "Whether it may be given to anybody",
       [](const DeviceUsage& one) { return std::uint64_t{one.healthy ? 1u : 0u}; });
  each("divvy_device_allocatable_memory_bytes", "Memory that may be promised",
       [](const DeviceUsage& one) { return one.memory.count; });
  each("divvy_device_allocated_memory_bytes", "Of it, what is promised, reservations included",
       [](const DeviceUsage& one) { return one.promised.count; });
  each("divvy_device_allocatable_compute_ratio",
       "Compute that may be promised; 1 is a whole device",
       [](const DeviceUsage& one) { return ratio(one.compute); });
  each("divvy_device_allocated_compute_ratio", "Of it, what is promised",
       [](const DeviceUsage& one) { return ratio(one.promised_compute); });
  each("divvy_device_allocatable_tenants", "Tenants at most",
       [](const DeviceUsage& one) { return std::uint64_t{one.slots}; });
  each("divvy_device_allocated_tenants", "Tenants",
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
  each("divvy_pod_device_memory_bytes", "Memory that a container was given",
       [](const AllocatedShare& one) { return one.memory.count; });
  each("divvy_pod_device_compute_ratio", "Compute that it was given; 0: what others leave",
       [](const AllocatedShare& one) { return ratio(one.compute); });
}

void quotas(Exposition* out, const std::vector<QuotaUsage>& all) {
  for (const bool used : {false, true}) {
    out->family(used ? "divvy_quota_used" : "divvy_quota_limit", "gauge",
                used ? "Of it, what pods hold, reservations included"
                     : "What a namespace may hold, in the resource's own units");
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
