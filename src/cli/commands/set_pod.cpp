// `divvy resize pod/NAMESPACE/NAME`: resizes a running container of a cluster. An annotation of the
// pod requests it, with the rights of the user. The scheduler admits or refuses it, and the agent
// of the node carries it out (kube/resize_request.h).
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <random>

#include <boost/json/serialize.hpp>

#include "base/bytes.h"
#include "commands/commands.h"
#include "kube/assignment.h"
#include "kube/pod.h"
#include "kube/renamed_annotation.h"
#include "kube/resize_request.h"
#include "kubernetes/kube_api.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr int kPollMs = 200;
constexpr const char* kAllocated = "hami.io/vgpu-devices-allocated";

std::string freshId() {
  std::random_device source;
  char text[24];
  std::snprintf(text, sizeof text, "%08x%08x", source(), source());
  return text;
}

std::string pathOf(const SetPodOptions& options) {
  return "/api/v1/namespaces/" + options.namespace_name + "/pods/" + options.name;
}

std::string nameOf(const SetPodOptions& options) {
  return "pod " + options.namespace_name + '/' + options.name;
}

// The container: without an option the only one that has devices.
Result<std::string> containerOf(const kube::Pod& pod, const SetPodOptions& options) {
  if (!options.container.empty()) return options.container;
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
    return Error{ErrorCode::kNotFound, nameOf(options) + " has no share of a device"};
  if (accepted == only) return only;
  return Error{
      ErrorCode::kUsage,
      nameOf(options) + ": several containers have devices; accepted: -c with one of " + accepted};
}

Result<kube::Pod> readPod(KubeApi& api, const SetPodOptions& options) {
  const Result<json::value> object = api.call({kube::Verb::kGet, pathOf(options)});
  if (!object) return Error(object.error()).context(nameOf(options));
  return kube::podOf(*object);
}

Result<void> requestResize(KubeApi& api, const SetPodOptions& options, const kube::Pod& pod,
                           const kube::ResizeRequest& change) {
  kube::Call call{kube::Verb::kPatch, pathOf(options)};
  call.type = kube::kMergePatch;
  call.body = json::serialize(json::object{
      {"metadata",
       json::object{{"uid", pod.meta.uid},
                    {"annotations", json::object{{kube::kChangeKey, kube::encode(change)}}}}}});
  const Result<json::value> written = api.call(std::move(call));
  return written ? Result<void>() : Error(written.error()).context(nameOf(options));
}

// The result; no state: it did not settle in time.
struct ResizeOutcome {
  kube::Pod pod;
  std::optional<kube::ResizeState> state;
};

Result<ResizeOutcome> await(KubeApi& api, const SetPodOptions& options, const kube::Pod& was,
                            const std::string& id) {
  const auto end = Clock::now() + std::chrono::milliseconds(options.timeout_ms);
  for (;;) {
    Result<kube::Pod> pod = readPod(api, options);
    if (!pod) return pod.error();
    if (pod->meta.uid != was.meta.uid)
      return Error{ErrorCode::kNotFound,
                   nameOf(options) + " was deleted; another pod has its name"};
    if (pod->ended()) return Error{ErrorCode::kUnavailable, nameOf(options) + " has ended"};
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

const char* phaseOf(const ResizeOutcome& outcome) {
  if (!outcome.state) return "asked";
  if (outcome.state->phase == kube::ResizePhase::kDone) return "done";
  return outcome.state->phase == kube::ResizePhase::kRefused ? "refused" : "admitted";
}

// Its present allocation, for each device.
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

void printJson(const SetPodOptions& options, const std::string& container,
               const ResizeOutcome& outcome) {
  json::array devices;
  for (const kube::AssignedDevice& one : devicesOf(outcome.pod, container))
    devices.push_back(
        json::object{{"uuid", one.uuid}, {"memoryMiB", one.mebibytes}, {"cores", one.cores}});
  json::object said{{"namespace", options.namespace_name},
                    {"pod", options.name},
                    {"container", container},
                    {"phase", phaseOf(outcome)},
                    {"devices", std::move(devices)}};
  if (outcome.state && !outcome.state->reason.empty()) said["reason"] = outcome.state->reason;
  if (outcome.state && !outcome.state->message.empty()) said["message"] = outcome.state->message;
  std::printf("%s\n", json::serialize(said).c_str());
}

void printText(const SetPodOptions& options, const std::string& container,
               const ResizeOutcome& outcome) {
  for (const kube::AssignedDevice& one : devicesOf(outcome.pod, container))
    std::printf("%s, container %s: %s, %" PRIu32 "%% of %s\n", nameOf(options).c_str(),
                container.c_str(), formatBytes(mib(one.mebibytes)).c_str(), one.cores,
                one.uuid.c_str());
}

Result<void> verdictOf(const SetPodOptions& options, const ResizeOutcome& outcome) {
  if (outcome.state && outcome.state->phase == kube::ResizePhase::kDone) return {};
  if (outcome.state && outcome.state->phase == kube::ResizePhase::kRefused)
    return Error{ErrorCode::kNoRoom, nameOf(options) + " was not resized: " +
                                         outcome.state->reason + ": " + outcome.state->message};
  return Error{ErrorCode::kUnavailable,
               nameOf(options) +
                   (outcome.state ? ": admitted, but its node did not answer"
                                  : ": the scheduler did not answer") +
                   " within --timeout; it may still be resized"};
}

}  // namespace

int setPod(const SetPodOptions& given) {
  SetPodOptions options = given;
  const Result<std::unique_ptr<KubeApi>> api = KubeApi::open(options.cluster.connection);
  if (!api) return fail(api.error());
  if (options.namespace_name.empty()) options.namespace_name = (*api)->namespaceName();
  const Result<kube::Pod> pod = readPod(**api, options);
  if (!pod) return fail(pod.error());
  const Result<std::string> container = containerOf(*pod, options);
  if (!container) return fail(container.error());
  kube::ResizeRequest change;
  change.id = freshId();
  change.container = *container;
  if (options.memory.count > 0) change.mebibytes = options.memory.count >> 20;
  if (options.cores > 0) change.cores = options.cores;
  change.priority = options.priority;
  const Result<void> asked = requestResize(**api, options, *pod, change);
  if (!asked) return fail(asked.error());
  if (!options.wait) return 0;
  const Result<ResizeOutcome> outcome = await(**api, options, *pod, change.id);
  if (!outcome) return fail(outcome.error());
  if (options.output.json) printJson(options, *container, *outcome);
  const Result<void> verdict = verdictOf(options, *outcome);
  if (!verdict) return fail(verdict.error());
  if (!options.output.json) printText(options, *container, *outcome);
  return 0;
}

}  // namespace divvy::cli
