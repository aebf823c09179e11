#include "scheduler/pod_group.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>

#include "json/path.h"
#include "kube/labels.h"

namespace divvy::scheduler {
namespace {

// Of others' contracts.
constexpr const char* kSchedulerPluginsLabel = "scheduling.x-k8s.io/pod-group";
constexpr const char* kVolcanoAnnotation = "scheduling.k8s.io/group-name";
constexpr const char* kKueueLabel = "kueue.x-k8s.io/pod-group-name";
constexpr const char* kKueueCount = "kueue.x-k8s.io/pod-group-total-count";
constexpr const char* kJobLabel = "batch.kubernetes.io/job-name";
constexpr const char* kOldJobLabel = "job-name";
constexpr const char* kParallelism = "parallelism";

std::string at(const kube::Labels& from, const char* key) {
  const std::string* found = kube::valueOf(from, key);
  return found == nullptr ? std::string() : *found;
}

// A label, or else an annotation.
std::string either(const kube::Pod& pod, const char* key) {
  const std::string label = at(pod.meta.labels, key);
  return label.empty() ? at(pod.meta.annotations, key) : label;
}

Result<std::uint32_t> countOf(const char* key, const std::string& text) {
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, failed] = std::from_chars(text.data(), end, value);
  if (failed != std::errc{} || stopped != end || value < 1 || value > kMaxOfGang)
    return Error{ErrorCode::kUsage, std::string(key) + ": \"" + text + "\" is not accepted; 1 to " +
                                        std::to_string(kMaxOfGang) + " is"};
  return value;
}

// Such a name can be a part of a path.
Result<void> checkName(const char* key, const std::string& name) {
  const bool good = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
  if (good && name.find("..") == std::string::npos) return {};
  return Error{ErrorCode::kUsage,
               std::string(key) + ": \"" + name + "\" is not accepted; the name of a group is"};
}

std::string groupPath(const char* api, const kube::Pod& pod, const std::string& name) {
  return std::string("/apis/") + api + "/namespaces/" + pod.meta.namespace_name + "/podgroups/" +
         name;
}

// The number of members in the pod goes before the one in its group.
Result<std::optional<PodGroupRef>> with(PodGroupRef words, const char* key,
                                        const std::string& count) {
  if (count.empty()) return std::optional(std::move(words));
  const Result<std::uint32_t> least = countOf(key, count);
  if (!least) return least.error();
  words.least = *least;
  words.in.reset();
  return std::optional(std::move(words));
}

Result<std::optional<PodGroupRef>> jobOf(const kube::Pod& pod, const std::string& count) {
  std::string job = at(pod.meta.labels, kJobLabel);
  if (job.empty()) job = at(pod.meta.labels, kOldJobLabel);
  if (job.empty())
    return Error{ErrorCode::kUsage, std::string(kGangLeastKey) + " without " + kGangKey +
                                        " is accepted for pods of a Job only: name the gang"};
  if (const auto good = checkName(kJobLabel, job); !good) return good.error();
  PodGroupRef words{
      "job/" + job,
      {},
      MinMemberRef{"/apis/batch/v1/namespaces/" + pod.meta.namespace_name + "/jobs/" + job,
                   kParallelism}};
  return with(std::move(words), kGangLeastKey, count == kParallelism ? "" : count);
}

}  // namespace

Result<std::optional<PodGroupRef>> gangOf(const kube::Pod& pod) {
  const std::string count = either(pod, kGangLeastKey);
  if (const std::string name = either(pod, kGangKey); !name.empty()) {
    if (count.empty())
      return Error{ErrorCode::kUsage, std::string(kGangKey) + " needs " + kGangLeastKey +
                                          ": number of pods that start together, 1 to " +
                                          std::to_string(kMaxOfGang)};
    return with({"gang/" + name, {}, {}}, kGangLeastKey, count);
  }
  if (const std::string name = at(pod.meta.labels, kSchedulerPluginsLabel); !name.empty()) {
    if (const auto good = checkName(kSchedulerPluginsLabel, name); !good) return good.error();
    const MinMemberRef in{groupPath("scheduling.x-k8s.io/v1alpha1", pod, name), "minMember"};
    return with({"podgroup/" + name, {}, in}, kGangLeastKey, count);
  }
  if (const std::string name = at(pod.meta.annotations, kVolcanoAnnotation); !name.empty()) {
    if (const auto good = checkName(kVolcanoAnnotation, name); !good) return good.error();
    const MinMemberRef in{groupPath("scheduling.volcano.sh/v1beta1", pod, name), "minMember"};
    return with({"volcano/" + name, {}, in}, kGangLeastKey, count);
  }
  if (const std::string name = at(pod.meta.labels, kKueueLabel); !name.empty()) {
    const std::string total = at(pod.meta.annotations, kKueueCount);
    if (total.empty())
      return Error{ErrorCode::kUsage, std::string(kKueueLabel) + " needs the annotation " +
                                          kKueueCount + ": number of pods that start together"};
    return with({"kueue/" + name, {}, {}}, kKueueCount, total);
  }
  if (!count.empty()) return jobOf(pod, count);
  return std::optional<PodGroupRef>();
}

Result<std::uint32_t> minMemberOf(const boost::json::value& object, const MinMemberRef& in) {
  const boost::json::value* least = memberAt(object, {"spec", in.member});
  boost::system::error_code fault;
  const auto count = least == nullptr ? 0 : least->to_number<std::int64_t>(fault);
  if (!fault && count >= 1 && count <= kMaxOfGang) return static_cast<std::uint32_t>(count);
  return Error{ErrorCode::kCorrupt,
               in.path + ": spec." + in.member + " is not 1 to " + std::to_string(kMaxOfGang)};
}

std::string queueOfNamespace(const kube::Meta& meta) {
  for (const kube::Labels* words : {&meta.labels, &meta.annotations}) {
    const auto said = words->find(kNamespaceQueueKey);
    if (said != words->end() && !said->second.empty()) return said->second;
  }
  return "";
}

std::string queueNamedBy(const kube::Pod& pod) {
  return either(pod, kQueueKey);
}

bool isGated(const kube::Pod& pod) {
  return std::find(pod.gates.begin(), pod.gates.end(), kQueueGate) != pod.gates.end();
}

bool isGatedByOthers(const kube::Pod& pod) {
  return !othersGate(pod).empty();
}

std::string othersGate(const kube::Pod& pod) {
  const auto found = std::find_if(pod.gates.begin(), pod.gates.end(),
                                  [](const std::string& gate) { return gate != kQueueGate; });
  return found == pod.gates.end() ? "" : *found;
}

}  // namespace divvy::scheduler
