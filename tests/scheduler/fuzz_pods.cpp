// Any bytes as a page of pods in protobuf: refused with a reason, or pods that the books can take.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "../../src/kube/objects/pod_list_protobuf.h"
#include "preemption/running_pods.h"
#include "scheduler/cache.h"

using namespace divvy;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const vendors::Catalog catalog = *vendors::Catalog::of(vendors::builtIn());
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string next = kube::podsGoOnAt(bytes);
  const Result<kube::PodListPage> page = kube::podPageOf(bytes);
  if (!page) {
    if (page.error().message().empty()) std::abort();
    return 0;
  }
  scheduler::SchedulerCache cache(catalog, {});
  scheduler::RunningPods running_pods;
  for (const kube::Pod& pod : page->pods) {
    (void)cache.setPod(pod);
    (void)running_pods.set(pod);
  }
  return 0;
}
