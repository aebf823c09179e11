#include "kubernetes/device_cordon.h"

#include <optional>
#include <utility>

#include <boost/json/serialize.hpp>

#include "json/path.h"

namespace divvy::cli {
namespace {

constexpr const char* kConflict = "409 Conflict";

// The annotations that differ from the present ones; null removes one.
boost::json::object differing(const boost::json::value& node, const Cordons& cordons,
                              CordonChange change) {
  boost::json::object annotations;
  for (const auto& [key, items] : cordons) {
    const std::string was = textAt(node, {"metadata", "annotations", key.c_str()});
    std::string list;
    if (change == CordonChange::kClose) list = listWith(was, items);
    if (change == CordonChange::kOpen) list = listWithout(was, items);
    if (list == was) continue;
    if (list.empty()) {
      annotations[key] = nullptr;
    } else {
      annotations[key] = list;
    }
  }
  return annotations;
}

// Tries once. Nothing: the node was changed meanwhile.
Result<std::optional<CordonOutcome>> tryOnce(KubeApi& api, const std::string& node,
                                             const Cordons& cordons, CordonChange change,
                                             const CordonWrite& how) {
  const std::string path = "/api/v1/nodes/" + node;
  const Result<boost::json::value> now = api.call({kube::Verb::kGet, path});
  if (!now) return now.error();
  boost::json::object annotations = differing(*now, cordons, change);
  CordonOutcome outcome{!annotations.empty(), textAt(*now, {"metadata", "uid"})};
  const boost::json::value* closed = presentAt(*now, {"spec", "unschedulable"});
  outcome.unschedulable = closed != nullptr && closed->is_bool() && closed->get_bool();
  if (!outcome.changed) return std::optional(outcome);
  kube::Call call{kube::Verb::kPatch, path + (how.dry_run ? "?dryRun=All" : "")};
  call.type = kube::kMergePatch;
  call.body = boost::json::serialize(boost::json::object{
      {"metadata",
       boost::json::object{{"resourceVersion", textAt(*now, {"metadata", "resourceVersion"})},
                           {"annotations", std::move(annotations)}}}});
  bool ignored = false;
  bool& sent = how.sent == nullptr ? ignored : *how.sent;
  const Result<boost::json::value> written = api.call(std::move(call));
  sent = !written && written.error().code() == ErrorCode::kUnavailable;
  if (written) return std::optional(outcome);
  if (written.error().message().find(kConflict) != std::string::npos)
    return std::optional<CordonOutcome>();
  return written.error();
}

}  // namespace

Result<CordonOutcome> writeCordons(KubeApi& api, const std::string& node, const Cordons& cordons,
                                   CordonChange change, CordonWrite how) {
  for (int tries = 0; tries < how.tries; ++tries) {
    Result<std::optional<CordonOutcome>> done = tryOnce(api, node, cordons, change, how);
    if (!done) return done.error();
    if (*done) return std::move(**done);
  }
  return Error{ErrorCode::kUnavailable,
               "node " + node + " could not be updated: other clients keep changing it; try again"};
}

}  // namespace divvy::cli
