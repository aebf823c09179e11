#include "events/requeue_patch.h"

#include <string>

#include <boost/json.hpp>

#include "runtime/clock.h"

namespace divvy::scheduler {
namespace {

namespace json = boost::json;

constexpr const char* kRequeuedAt = "divvy.dev/requeued-at";

}  // namespace

kube::Call requeuePatch(const PodRef& pod) {
  kube::Call call{kube::Verb::kPatch,
                  "/api/v1/namespaces/" + pod.namespace_name + "/pods/" + pod.name};
  call.type = kube::kMergePatch;
  call.body = json::serialize(json::object{
      {"metadata",
       json::object{{"annotations", json::object{{kRequeuedAt, std::to_string(now().ms)}}}}}});
  return call;
}

}  // namespace divvy::scheduler
