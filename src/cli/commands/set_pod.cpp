// `divvy resize pod/NAMESPACE/NAME`: resizes a running container of a cluster. An annotation of the
// pod requests it, with the rights of the user. The scheduler admits or refuses it, and the agent
// of the node carries it out (kube/resize_request.h).
#include <chrono>
#include <cinttypes>
#include <cstdio>

#include <boost/json/serialize.hpp>

#include "base/bytes.h"
#include "commands/commands.h"
#include "kubernetes/pod_resize.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;

std::string textOf(const SetPodOptions& options) {
  return PodName{options.namespace_name, options.name}.text();
}

const char* phaseOf(const ResizeOutcome& outcome) {
  if (!outcome.state) return "asked";
  if (outcome.state->phase == kube::ResizePhase::kDone) return "done";
  return outcome.state->phase == kube::ResizePhase::kRefused ? "refused" : "admitted";
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
    std::printf("%s, container %s: %s, %" PRIu32 "%% of %s\n", textOf(options).c_str(),
                container.c_str(), formatBytes(mib(one.mebibytes)).c_str(), one.cores,
                one.uuid.c_str());
}

Result<void> verdictOf(const SetPodOptions& options, const ResizeOutcome& outcome) {
  if (outcome.state && outcome.state->phase == kube::ResizePhase::kDone) return {};
  if (outcome.state && outcome.state->phase == kube::ResizePhase::kRefused)
    return Error{ErrorCode::kNoRoom, textOf(options) + " was not resized: " +
                                         outcome.state->reason + ": " + outcome.state->message};
  return Error{ErrorCode::kUnavailable,
               textOf(options) +
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
  const PodName name{options.namespace_name, options.name};
  const Result<kube::Pod> pod = readPod(**api, name);
  if (!pod) return fail(pod.error());
  const Result<std::string> container = options.container.empty()
                                            ? containerWithDevices(*pod, name)
                                            : Result<std::string>(options.container);
  if (!container) return fail(container.error());
  kube::ResizeRequest change;
  change.id = newResizeId();
  change.container = *container;
  if (options.memory.count > 0) change.mebibytes = options.memory.count >> 20;
  if (options.cores > 0) change.cores = options.cores;
  change.priority = options.priority;
  const Result<void> asked = requestResize(**api, name, *pod, change);
  if (!asked) return fail(asked.error());
  if (!options.wait) return 0;
  const Result<ResizeOutcome> outcome =
      awaitResize(**api, name, *pod, change.id, std::chrono::milliseconds(options.timeout_ms));
  if (!outcome) return fail(outcome.error());
  if (options.output.json) printJson(options, *container, *outcome);
  const Result<void> verdict = verdictOf(options, *outcome);
  if (!verdict) return fail(verdict.error());
  if (!options.output.json) printText(options, *container, *outcome);
  return 0;
}

}  // namespace divvy::cli
