// Any bytes as a value of what pods, and who runs the scheduler, can say: refused with what is
// accepted, or understood.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "annotations/disruption_annotations.h"
#include "annotations/placement_annotations.h"
#include "preemption/running_pods.h"
#include "scheduler/device_priority.h"
#include "share_options/share_options.h"

using namespace divvy;

namespace {

void checked(const Result<void>& read) {
  if (!read && (read.error().code() != ErrorCode::kUsage || read.error().message().empty()))
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const share_options::ShareOption& term : share_options::all())
    checked(share_options::check(term, text));
  scheduler::PriorityRules rules;
  checked(scheduler::readPriorityClasses(text, &rules));
  checked(scheduler::readPriorityValues(text, &rules));
  const Result<std::int64_t> seconds = scheduler::secondsOf(text);
  if (seconds ? *seconds < 0 : seconds.error().message().empty()) std::abort();
  checked(scheduler::checkProtection({{scheduler::kMinRuntime, text}}));
  checked(scheduler::checkProtection({{scheduler::kEvictable, text}}));
  for (const char* key :
       {"use.divvy.dev/expected-use", "use.divvy.dev/device-policy", "hami.io/gpu-scheduler-policy",
        "hami.io/device-scoring-weights", "use.divvy.dev/node-policy", "nvidia.com/numa-bind"}) {
    engine::Shape shape;
    checked(scheduler::readPreferences({{key, text}}, {}, &shape));
  }
  return 0;
}
