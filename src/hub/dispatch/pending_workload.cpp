#include "dispatch/pending_workload.h"

#include <algorithm>
#include <tuple>

#include <boost/json.hpp>

#include "json/path.h"

namespace divvy::hub {
namespace {

namespace json = boost::json;

// Bounds of POST /fit of a worker's scheduler (docs/reference/capacity.md).
constexpr std::size_t kMaxWorkloads = 128, kMaxBytes = 900'000;

void copyMember(const json::object& from, std::string_view name, json::object* to) {
  if (const json::value* found = from.if_contains(name)) (*to)[name] = *found;
}

json::object memberOf(const json::object& from, std::string_view name) {
  const json::value* found = from.if_contains(name);
  return found != nullptr && found->is_object() ? found->get_object() : json::object();
}

// Pods, how many of them have quota, their owner and their queue.
std::string questionOf(const json::object& object) {
  json::object meta, spec, status;
  for (const char* name : {"name", "namespace", "uid", "ownerReferences"})
    copyMember(memberOf(object, "metadata"), name, &meta);
  for (const char* name : {"podSets", "priority", "priorityClassRef", "queueName"})
    copyMember(memberOf(object, "spec"), name, &spec);
  copyMember(memberOf(object, "status"), "admission", &status);
  return json::serialize(json::object{{"apiVersion", kube::kKueueVersion},
                                      {"kind", "Workload"},
                                      {"metadata", std::move(meta)},
                                      {"spec", std::move(spec)},
                                      {"status", std::move(status)}});
}

}  // namespace

PendingWorkload pendingOf(const json::value& object, const kube::KueueWorkload& workload) {
  const json::object& whole = object.get_object();
  PendingWorkload one;
  one.meta = workload.meta;
  one.priority = integerAt(whole, {"spec", "priority"});
  one.created = textAt(whole, {"metadata", "creationTimestamp"});
  one.nominated = workload.nominated;
  one.applied = workload.applied;
  if (std::string text = questionOf(whole); text.size() < kMaxBytes / 2)
    one.question = std::make_shared<const std::string>(std::move(text));
  for (const kube::KueuePodSet& set : workload.pod_sets)
    if (const auto named = set.pod.meta.annotations.find(kClusterKey);
        named != set.pod.meta.annotations.end())
      one.named = named->second;
  return one;
}

void sortByTurn(std::vector<const PendingWorkload*>& all) {
  std::sort(all.begin(), all.end(), [](const PendingWorkload* one, const PendingWorkload* two) {
    return std::tie(two->priority, one->created, one->meta.uid) <
           std::tie(one->priority, two->created, two->meta.uid);
  });
}

FitQuestion questionAbout(const std::vector<const PendingWorkload*>& placed,
                          const std::vector<const PendingWorkload*>& others, std::size_t first) {
  FitQuestion question;
  question.list = R"({"kind":"List","items":[)";
  // `part`: of the question, that may be used.
  const auto add = [&question](const PendingWorkload& one, std::size_t part) {
    const bool has_place = question.uids.size() < kMaxWorkloads / part &&
                           question.list.size() + one.question->size() < kMaxBytes / part;
    if (!has_place) {
      question.whole = false;
      return;
    }
    question.list += (question.uids.empty() ? "" : ",") + *one.question;
    question.uids.push_back(one.meta.uid);
  };
  for (const PendingWorkload* one : placed) add(*one, 2);
  question.placed = question.uids.size();
  for (std::size_t i = 0; i < others.size(); ++i) add(*others[(first + i) % others.size()], 1);
  question.list += "]}";
  return question;
}

}  // namespace divvy::hub
