#include "manifests.h"

#include <algorithm>
#include <charconv>
#include <iostream>
#include <iterator>
#include <utility>

#include <yaml-cpp/yaml.h>
#include <boost/json/array.hpp>

#include "object.h"
#include "simulate_work.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;

constexpr int kMostDeep = 100;
constexpr std::int64_t kMostReplicas = 10'000;

// As YAML 1.1 has it, which is what kubectl reads by; what is in quotes stays text.
json::value scalarOf(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str") return json::string(text);
  for (const char* none : {"", "~", "null", "Null", "NULL"})
    if (text == none) return nullptr;
  for (const char* yes : {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})
    if (text == yes) return true;
  for (const char* no : {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})
    if (text == no) return false;
  const char* end = text.data() + text.size();
  std::int64_t whole = 0;
  if (const auto [at, fault] = std::from_chars(text.data(), end, whole);
      fault == std::errc{} && at == end)
    return whole;
  double number = 0;
  if (const auto [at, fault] = std::from_chars(text.data(), end, number);
      fault == std::errc{} && at == end)
    return number;
  return json::string(text);
}

Result<json::value> valueOf(const YAML::Node& node, int deep) {
  if (deep > kMostDeep) return Error{ErrorCode::kUsage, "too deep"};
  if (node.IsMap()) {
    json::object object;
    for (const auto& one : node) {
      Result<json::value> value = valueOf(one.second, deep + 1);
      if (!value) return value;
      object[one.first.Scalar()] = std::move(*value);
    }
    return json::value(std::move(object));
  }
  if (node.IsSequence()) {
    json::array list;
    for (const YAML::Node& one : node) {
      Result<json::value> value = valueOf(one, deep + 1);
      if (!value) return value;
      list.push_back(std::move(*value));
    }
    return json::value(std::move(list));
  }
  if (node.IsScalar()) return scalarOf(node);
  return json::value(nullptr);
}

// How many pods a workload makes at once.
std::int64_t countOf(const json::value& spec) {
  for (const char* name : {"replicas", "parallelism"}) {
    const json::value* count = memberOf(spec, {name});
    if (count != nullptr && count->is_int64())
      return std::clamp<std::int64_t>(count->get_int64(), 0, kMostReplicas);
  }
  return 1;
}

class Collector {
 public:
  void add(const json::value& object) {
    const json::array& items = listOf(object, {"items"});
    for (const json::value& item : items) add(item);
    if (!items.empty()) return;
    if (textOf(object, {"kind"}) == "Pod")
      return keep(object, object, textOf(object, {"metadata", "name"}));
    const std::string kind = textOf(object, {"kind"});
    if (kind == "Job" || kind == "PodGroup") found.groups.push_back(object);
    const json::value* spec = memberOf(object, {"spec"});
    if (const json::value* job = memberOf(object, {"spec", "jobTemplate", "spec"})) spec = job;
    const json::value* made = spec == nullptr ? nullptr : memberOf(*spec, {"template"});
    if (made == nullptr || listOf(*made, {"spec", "containers"}).empty()) {
      ++found.others;
      return;
    }
    const std::int64_t count = countOf(*spec);
    const std::string name = textOf(object, {"metadata", "name"});
    for (std::int64_t at = 0; at < count; ++at)
      keep(object, *made, count == 1 ? name : name + '-' + std::to_string(at));
  }

  Manifests found;

 private:
  // `owner` says whose namespace it is.
  void keep(const json::value& owner, const json::value& from, const std::string& name) {
    json::object pod{{"apiVersion", "v1"}, {"kind", "Pod"}};
    json::object meta = objectOf(from, {"metadata"});
    meta["name"] = name.empty() ? "pod-" + std::to_string(found.pods.size()) : name;
    meta.erase("generateName");
    const std::string space = textOf(owner, {"metadata", "namespace"});
    if (!space.empty()) meta["namespace"] = space;
    // As the controller does.
    if (textOf(owner, {"kind"}) == "Job") {
      json::object labels = objectOf(from, {"metadata", "labels"});
      labels["batch.kubernetes.io/job-name"] = textOf(owner, {"metadata", "name"});
      meta["labels"] = std::move(labels);
    }
    const std::string called(meta["name"].get_string());
    pod["metadata"] = std::move(meta);
    pod["spec"] = objectOf(from, {"spec"});
    found.pods.push_back({called, space, std::move(pod)});
  }
};

}  // namespace

std::string groupPathOf(const json::value& group, const std::string& space) {
  const bool job = textOf(group, {"kind"}) == "Job";
  return "/apis/" + textOf(group, {"apiVersion"}) + "/namespaces/" + space +
         (job ? "/jobs/" : "/podgroups/") + textOf(group, {"metadata", "name"});
}

Result<Manifests> podsOf(const std::string& text, const std::string& name) {
  Collector collector;
  try {
    for (const YAML::Node& document : YAML::LoadAll(text)) {
      const Result<json::value> object = valueOf(document, 0);
      if (!object)
        return Error{ErrorCode::kUsage, name + ":" + std::to_string(document.Mark().line + 1) +
                                            ": " + object.error().message()};
      if (object->is_object()) {
        collector.add(*object);
      } else if (!object->is_null()) {
        return Error{ErrorCode::kUsage, name + ":" + std::to_string(document.Mark().line + 1) +
                                            ": no object of Kubernetes; accepted: YAML or JSON of "
                                            "pods, or of what makes pods"};
      }
    }
  } catch (const YAML::Exception& fault) {
    return Error{ErrorCode::kUsage,
                 name + ":" + std::to_string(fault.mark.line + 1) + ": " + fault.msg};
  }
  return std::move(collector.found);
}

Result<Manifests> readManifests(const std::vector<std::string>& files) {
  Manifests all;
  for (const std::string& file : files) {
    Result<std::string> text =
        file == "-" ? Result<std::string>(std::string(std::istreambuf_iterator<char>(std::cin), {}))
                    : readFile(file, "YAML of pods");
    if (!text) return text.error();
    Result<Manifests> read = podsOf(*text, file == "-" ? "stdin" : file);
    if (!read) return read.error();
    for (WantedPod& pod : read->pods) all.pods.push_back(std::move(pod));
    all.others += read->others;
    for (json::value& group : read->groups) all.groups.push_back(std::move(group));
  }
  if (all.pods.empty())
    return Error{ErrorCode::kUsage, "there is no pod, and nothing that makes pods, in " +
                                        (files.size() == 1 ? files.front() : "these files")};
  return all;
}

}  // namespace divvy::cli
