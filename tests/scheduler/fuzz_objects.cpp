// Any JSON as an object that an API server tells of: refused with a reason, or taken into the books
// and what stands beside them, as pod, node, queue, PodGroup, budget, quota and Lease.
#include <cstdint>
#include <cstdlib>
#include <string>

#include <boost/json.hpp>

#include "kube/budget.h"
#include "kube/lease.h"
#include "kube/queue.h"
#include "preemption/running_pods.h"
#include "scheduler/cache.h"
#include "scheduler/dry_run.h"

using namespace divvy;
using namespace divvy::scheduler;
namespace json = boost::json;

namespace {

void need(bool so) {
  if (!so) std::abort();
}

template <typename Value>
bool read(const Result<Value>& value) {
  need(value || !value.error().message().empty());
  return static_cast<bool>(value);
}

void asPod(const json::value& object, const vendors::Catalog& catalog, SchedulerCache* cache) {
  const Result<kube::Pod> pod = kube::podOf(object);
  if (!read(pod)) return;
  (void)read(cache->setPod(*pod));
  (void)read(cache->pods().requestFor(*pod));
  const auto gang = gangOf(*pod);
  if (read(gang) && *gang) need(!(*gang)->name.empty());
  (void)read(podResources(*pod));
  RunningPods running_pods;
  (void)read(running_pods.set(*pod));
  SchedulingDryRun forecast(catalog, *cache, {});
  (void)read(forecast.setPod(*pod, ""));
  const std::vector<kube::Pod> one{*pod};
  forecast.arrive(one, [](const MinMemberRef&) -> Result<std::uint32_t> {
    return Error{ErrorCode::kNotFound, "no such group"};
  });
  (void)forecast.gated(pod->meta.uid);
}

void asQueue(const json::value& object) {
  const Result<kube::Queue> queue = kube::queueOf(object);
  if (!read(queue)) return;
  // What we write of it is read as it was.
  json::object again = object.get_object();
  again["status"] = kube::statusOf(queue->status);
  const Result<kube::Queue> second = kube::queueOf(again);
  need(second && second->status == queue->status && second->sameTerms(*queue));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const vendors::Catalog catalog = *vendors::Catalog::of(vendors::builtIn());
  boost::system::error_code fault;
  const json::value object =
      json::parse(json::string_view(reinterpret_cast<const char*>(data), size), fault);
  if (fault) return 0;
  SchedulerCache cache(catalog, {});
  if (const Result<kube::Node> node = kube::nodeOf(object); read(node))
    (void)read(cache.setNode(*node));
  if (const Result<kube::ResourceQuota> quota = kube::resourceQuotaOf(object); read(quota))
    (void)read(cache.setQuota(*quota));
  asPod(object, catalog, &cache);
  asQueue(object);
  (void)read(kube::budgetOf(object));
  (void)read(kube::leaseOf(object));
  const auto least = minMemberOf(object, MinMemberRef{"group", "minMember"});
  if (read(least)) need(*least >= 1 && *least <= kMaxOfGang);
  return 0;
}
