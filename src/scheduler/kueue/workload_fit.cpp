#include "kueue/workload_fit.h"

#include <algorithm>
#include <utility>

#include "codec/pod_request.h"
#include "scheduler/explain.h"
#include "scheduler/pod_group.h"

namespace divvy::scheduler {
namespace {

constexpr const char* kJobLabel = "batch.kubernetes.io/job-name";
// Kueue queues the workload again after that; it doubles with each retry. Each retry gives the
// quota back, and quick ones would starve the queue.
constexpr std::int64_t kFirstRetryS = 10, kLongestRetryS = 30;
constexpr std::int64_t kMaxDoublings = 2;
// Between two decisions on a workload that MultiKueue has copied here.
constexpr std::int64_t kRemoteS = 5;
// podSetUpdates of a check. Source: kueue.x-k8s.io/v1beta2.
constexpr std::size_t kMaxUpdates = 8;
// Each expected pod is a copy of its template.
constexpr std::size_t kMaxTemplateBytes = 64u << 20;

FitDecision rejected(std::string why) {
  return {FitState::kRejected, std::move(why), 0, {}};
}

// The key of preemption; no gang has a blank in its key.
std::string keyOf(const kube::KueueWorkload& workload) {
  return "workload " + workload.meta.uid;
}

std::string uidOf(const kube::KueueWorkload& workload, std::size_t set, std::int64_t pod) {
  return "workload/" + workload.meta.uid + '/' + std::to_string(set) + '/' + std::to_string(pod);
}

std::string countOf(std::size_t pods) {
  return std::to_string(pods) + (pods == 1 ? " pod" : " pods");
}

// Of a container with its requests, about.
constexpr std::size_t kContainerBytes = 1024;

std::size_t bytesOf(const kube::Labels& labels) {
  std::size_t bytes = 0;
  for (const auto& [key, value] : labels) bytes += key.size() + value.size();
  return bytes;
}

// The gang of a pod set's pods.
struct NamedGang {
  std::string name;      // with the dialect's prefix
  bool named = false;    // by the template
  bool counted = false;  // the template states how many start together
};

// `name`: of the gang if the template names none.
Result<NamedGang> gangFor(kube::Pod pod, const std::string& name) {
  const auto states = [&pod](const char* key) {
    return pod.meta.annotations.contains(key) || pod.meta.labels.contains(key);
  };
  // A number alone is accepted for Jobs only, which are a gang then.
  const bool names_it =
      states(kGangLeastKey) && !states(kGangKey) && !pod.meta.labels.contains(kJobLabel);
  if (names_it) pod.meta.annotations[kGangKey] = name;
  const Result<std::optional<PodGroupRef>> group = gangOf(pod);
  if (!group) return group.error();
  if (*group) return NamedGang{(*group)->name, !names_it, true};
  return NamedGang{"gang/" + name, false, false};
}

}  // namespace

const char* nameOf(FitState state) {
  switch (state) {
    case FitState::kReady:
      return "Ready";
    case FitState::kRetry:
      return "Retry";
    case FitState::kRejected:
      return "Rejected";
    case FitState::kPending:
      break;
  }
  return "Pending";
}

// Pods of one pod set are one gang, unless their template names another one. Pod sets are no common
// gang: a JobSet may start one of them after the other.
Result<WorkloadFit::Expectation> WorkloadFit::expectationOf(
    const kube::KueueWorkload& workload) const {
  Expectation all;
  for (std::size_t at = 0; at < workload.pod_sets.size(); ++at) {
    const kube::KueuePodSet& set = workload.pod_sets[at];
    if (set.count < 1 || !asksForDevices(set.pod, parts_.catalog)) continue;
    const Result<std::optional<engine::Request>> request = parts_.cache.pods().requestFor(set.pod);
    if (!request) return Error(request.error()).context("pod set " + set.name);
    if (!*request) continue;
    all.pods += static_cast<std::size_t>(set.count);
    if (set.count > kMaxOfGang || all.pods > kMaxOfGang)
      return Error{ErrorCode::kUsage, "more than " + std::to_string(kMaxOfGang) +
                                          " pods request devices; accepted: at most so many"};
    kube::Pod pod = set.pod;
    pod.priority = workload.priority;
    if (!workload.job.empty()) pod.meta.labels.try_emplace(kJobLabel, workload.job);
    const std::size_t containers = pod.init.size() + pod.containers.size();
    all.bytes +=
        (bytesOf(pod.meta.annotations) + bytesOf(pod.meta.labels) + containers * kContainerBytes) *
        static_cast<std::size_t>(set.count);
    if (all.bytes > kMaxTemplateBytes)
      return Error{ErrorCode::kUsage,
                   "containers, annotations and labels of all its pods have more than " +
                       std::to_string(kMaxTemplateBytes >> 20) + " MiB"};
    const std::string name = workload.meta.name + '.' + set.name;
    const Result<NamedGang> named = gangFor(pod, name);
    if (!named) return Error(named.error()).context("pod set " + set.name);
    if (!named->named && all.annotations.size() < kMaxUpdates)
      all.annotations.push_back({set.name, name, named->counted ? 0 : set.count});
    const std::string gang = workload.meta.namespace_name + '/' + named->name;
    auto known = std::find_if(all.gangs.begin(), all.gangs.end(),
                              [&](const ExpectedGang& one) { return one.gang == gang; });
    if (known == all.gangs.end()) known = all.gangs.insert(known, ExpectedGang{gang, {}});
    for (std::int64_t i = 0; i < set.count; ++i) {
      pod.meta.uid = uidOf(workload, at, i);
      pod.meta.name = workload.meta.name + '.' + set.name + '.' + std::to_string(i);
      known->pods.push_back(pod);
    }
  }
  return all;
}

FitDecision WorkloadFit::decide(const kube::KueueWorkload& workload, std::int64_t retries,
                                engine::Instant expires) {
  const Result<Expectation> expected = expectationOf(workload);
  if (!expected) return rejected(expected.error().message());
  if (expected->pods == 0) return {FitState::kReady, "no pod requests devices", 0, {}};
  const Result<void> reserved =
      parts_.reservations.reserve(workload.meta.uid, expected->gangs, expires);
  if (!reserved) return refusal(workload, *expected, reserved.error(), retries);
  if (workload.of_pods) {
    parts_.reservations.release(workload.meta.uid);
    return {FitState::kReady, "devices are free for " + countOf(expected->pods), 0, {}};
  }
  if (parts_.preemption != nullptr) parts_.preemption->started(keyOf(workload));
  return {FitState::kReady, "devices are reserved for " + countOf(expected->pods), 0,
          expected->annotations};
}

std::vector<FitAnswer> WorkloadFit::wouldFit(const std::vector<kube::KueueWorkload>& workloads,
                                             const std::function<bool()>& over,
                                             const WhyNoQuota& refusal) const {
  std::vector<FitAnswer> answers(workloads.size(), {std::nullopt, "not tried: too many at once"});
  std::vector<std::vector<ExpectedGang>> gangs;
  std::vector<std::size_t> places;  // in `answers`, of `gangs`
  std::size_t pods = 0, bytes = 0;
  for (std::size_t at = 0; at < workloads.size() && !over(); ++at) {
    if (std::string why = refusal ? refusal(workloads[at]) : ""; !why.empty()) {
      answers[at] = {false, std::move(why), true};
      continue;
    }
    kube::KueueWorkload workload = workloads[at];
    workload.meta.uid = "question/" + std::to_string(at);
    Result<Expectation> expected = expectationOf(workload);
    if (!expected) {
      answers[at] = {false, expected.error().message(),
                     expected.error().code() == ErrorCode::kUsage};
      continue;
    }
    const bool is_here = std::all_of(
        expected->gangs.begin(), expected->gangs.end(), [this](const ExpectedGang& one) {
          return parts_.reservations.expects(one.gang) || parts_.has_gang(one.gang);
        });
    if (is_here) {
      answers[at] = {true, ""};
      continue;
    }
    // A large one keeps no smaller one behind it from being tried.
    if (pods + expected->pods > kMaxOfGang || bytes + expected->bytes > kMaxTemplateBytes) continue;
    pods += expected->pods;
    bytes += expected->bytes;
    gangs.push_back(std::move(expected->gangs));
    places.push_back(at);
  }
  const std::vector<Result<void>> results = parts_.reservations.tryInTurn(gangs, over);
  for (std::size_t i = 0; i < results.size(); ++i)
    answers[places[i]] =
        results[i] ? FitAnswer{true, ""} : FitAnswer{false, results[i].error().message()};
  return answers;
}

FitDecision WorkloadFit::refusal(const kube::KueueWorkload& workload, const Expectation& expected,
                                 const Error& error, std::int64_t retries) {
  if (error.code() == ErrorCode::kUsage) return rejected(error.message());
  std::string why = error.message();
  if (error.code() == ErrorCode::kNoRoom && parts_.preemption != nullptr) {
    PodSet pods{keyOf(workload), {}, ""};
    for (const ExpectedGang& gang : expected.gangs)
      pods.pods.insert(pods.pods.end(), gang.pods.begin(), gang.pods.end());
    if (const std::optional<std::string> evicting = parts_.preemption->want(pods))
      return {FitState::kPending, *evicting, 1, {}};
  }
  const kube::Pod& first = expected.gangs.front().pods.front();
  if (const auto request = parts_.cache.pods().requestFor(first);
      expected.pods == 1 && request && *request)
    if (const Result<std::string> text = summary(parts_.cache, **request, {})) why = *text;
  if (expected.pods > 1) why = countOf(expected.pods) + " do not fit together: " + why;
  // There is no job here that gives the quota back, and other workers may be quicker.
  if (workload.of_manager) return {FitState::kPending, why, kRemoteS, {}};
  const std::int64_t pause = kFirstRetryS << std::clamp<std::int64_t>(retries, 0, kMaxDoublings);
  return {FitState::kRetry, why, std::min(pause, kLongestRetryS), {}};
}

void WorkloadFit::restore(const kube::KueueWorkload& workload, engine::Instant expires) {
  Result<Expectation> expected = expectationOf(workload);
  if (!expected || workload.of_pods) return;
  const std::size_t arrived = std::erase_if(
      expected->gangs, [this](const ExpectedGang& one) { return parts_.has_gang(one.gang); });
  // Those of gangs that arrive now are handed over.
  if (arrived > 0 && parts_.reservations.holds(workload.meta.uid)) return;
  if (expected->gangs.empty()) return;
  // If they do not fit any more, their pods wait as any others do.
  const Result<void> reserved =
      parts_.reservations.reserve(workload.meta.uid, std::move(expected->gangs), expires);
  (void)reserved;
}

void WorkloadFit::release(const kube::KueueWorkload& workload) {
  parts_.reservations.release(workload.meta.uid);
  if (parts_.preemption == nullptr) return;
  for (std::size_t at = 0; at < workload.pod_sets.size(); ++at)
    if (workload.pod_sets[at].count > 0) parts_.preemption->drop(uidOf(workload, at, 0));
}

}  // namespace divvy::scheduler
