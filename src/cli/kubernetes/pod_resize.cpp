#include "kubernetes/pod_resize.h"

#include <poll.h>

#include <cstdio>
#include <random>
#include <utility>

#include <boost/json/serialize.hpp>

#include "kube/renamed_annotation.h"

namespace divvy::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMs = 200;
constexpr const char* kAllocated = "hami.io/vgpu-devices-allocated";

}  // namespace

std::string PodName::path() const {
  return "/api/v1/namespaces/" + namespace_name + "/pods/" + name;
}

std::string PodName::text() const {
  return "pod " + namespace_name + '/' + name;
}

Result<kube::Pod> readPod(KubeApi& api, const PodName& name) {
  const Result<boost::json::value> object = api.call({kube::Verb::kGet, name.path()});
  if (!object) return Error(object.error()).context(name.text());
  return kube::podOf(*object);
}

Result<std::string> containerWithDevices(const kube::Pod& pod, const PodName& name) {
  const auto said = pod.meta.annotations.find(kAllocated);
  const Result<kube::Assignment> given =
      kube::decodeAssignment(said == pod.meta.annotations.end() ? std::string() : said->second);
  std::string only, accepted;
  std::size_t at = pod.init.size();
  for (const kube::PodContainer& one : pod.containers) {
    const bool has = given && at < given->size() && !(*given)[at].empty();
    ++at;
    if (!has) continue;
    accepted += (accepted.empty() ? "" : ", ") + one.name;
    only = only.empty() ? one.name : "";
  }
  if (accepted.empty())
    return Error{ErrorCode::kNotFound, name.text() + " has no share of a device"};
  if (accepted == only) return only;
  return Error{
      ErrorCode::kUsage,
      name.text() + ": several containers have devices; accepted: -c with one of " + accepted};
}

std::vector<kube::AssignedDevice> devicesOf(const kube::Pod& pod, const std::string& container) {
  const auto said = pod.meta.annotations.find(kAllocated);
  if (said == pod.meta.annotations.end()) return {};
  Result<kube::Assignment> given = kube::decodeAssignment(said->second);
  std::size_t at = 0;
  for (const auto* list : {&pod.init, &pod.containers})
    for (const kube::PodContainer& one : *list) {
      if (one.name == container && given && at < given->size()) return std::move((*given)[at]);
      ++at;
    }
  return {};
}

std::string newResizeId() {
  std::random_device source;
  char text[24];
  std::snprintf(text, sizeof text, "%08x%08x", source(), source());
  return text;
}

Result<void> requestResize(KubeApi& api, const PodName& name, const kube::Pod& pod,
                           const kube::ResizeRequest& change, bool dry_run) {
  kube::Call call{kube::Verb::kPatch, name.path() + (dry_run ? "?dryRun=All" : "")};
  call.type = kube::kMergePatch;
  call.body = boost::json::serialize(boost::json::object{
      {"metadata",
       boost::json::object{
           {"uid", pod.meta.uid},
           {"annotations", boost::json::object{{kube::kChangeKey, kube::encode(change)}}}}}});
  const Result<boost::json::value> written = api.call(std::move(call));
  return written ? Result<void>() : Error(written.error()).context(name.text());
}

Result<ResizeOutcome> awaitResize(KubeApi& api, const PodName& name, const kube::Pod& was,
                                  const std::string& id, std::chrono::milliseconds bound) {
  const auto end = Clock::now() + bound;
  for (;;) {
    Result<kube::Pod> pod = readPod(api, name);
    if (!pod) return pod.error();
    if (pod->meta.uid != was.meta.uid)
      return Error{ErrorCode::kNotFound, name.text() + " was deleted; another pod has its name"};
    if (pod->ended()) return Error{ErrorCode::kUnavailable, name.text() + " has ended"};
    ResizeOutcome outcome{std::move(*pod), std::nullopt};
    const std::string* said =
        kube::findRenamed(outcome.pod.meta.annotations, kube::kResizeStateKey);
    if (said != nullptr) {
      Result<kube::ResizeState> state = kube::decodeChangeState(*said);
      if (state && state->id == id) outcome.state = std::move(*state);
    }
    const bool settled = outcome.state && outcome.state->phase != kube::ResizePhase::kAdmitted;
    if (settled || Clock::now() >= end) return outcome;
    poll(nullptr, 0, kPollMs);
  }
}

}  // namespace divvy::cli
