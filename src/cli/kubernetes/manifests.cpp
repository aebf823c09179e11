#include "kubernetes/manifests.h"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <utility>

#include <boost/json/array.hpp>

#include "files/simulate_files.h"
#include "json/path.h"
#include "yaml/documents.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;

constexpr std::int64_t kMaxReplicas = 10'000;
constexpr std::size_t kMaxPods = 100'000;
constexpr int kMaxTemplateDepth = 16;

// The number of pods that the object wants at once.
std::int64_t countOf(const json::object& spec) {
  for (const char* name : {"replicas", "parallelism"}) {
    const json::value* count = spec.if_contains(name);
    if (count != nullptr && count->is_int64())
      return std::clamp<std::int64_t>(count->get_int64(), 0, kMaxReplicas);
  }
  return 1;
}

bool isSuspended(const json::object& spec) {
  const json::value* suspend = spec.if_contains("suspend");
  return suspend != nullptr && suspend->is_bool() && suspend->get_bool();
}

// A pod template of a workload.
struct Template {
  const json::value* pod = nullptr;
  std::int64_t count = 1;
  std::string name;  // the workload's name for it; empty: it is the only one
  std::string idle;  // why it has no pods now; empty: it has
};

// The templates of a Deployment, Job, CronJob, JobSet, PyTorchJob, RayCluster ...: every member
// that has a pod's containers. Counts of enclosing objects multiply.
class TemplateSearch {
 public:
  std::vector<Template> of(const json::value& spec) {
    visit(spec, Template{}, 0);
    return std::move(found_);
  }

 private:
  static bool isPod(const json::value* value) {
    return value != nullptr && !listAt(*value, {"spec", "containers"}).empty();
  }

  void visit(const json::value& value, Template around, int depth) {
    if (depth > kMaxTemplateDepth) return;
    if (const json::array* list = value.if_array())
      for (const json::value& item : *list) visit(item, around, depth + 1);
    const json::object* object = value.if_object();
    if (object == nullptr) return;
    const std::int64_t count = countOf(*object);
    around.count = std::min(around.count * count, kMaxReplicas);
    if (count == 0 && around.idle.empty())
      around.idle = object->contains("replicas") ? "replicas is 0" : "parallelism is 0";
    if (isSuspended(*object)) around.idle = "it is suspended";
    for (const char* name : {"name", "groupName"})
      if (const std::string own = textAt(value, {name}); !own.empty()) around.name = own;
    for (const auto& [key, member] : *object) {
      if (isPod(&member)) {
        Template one = around;
        one.pod = &member;
        found_.push_back(std::move(one));
      } else if (member.is_object() || member.is_array()) {
        Template inner = around;
        // A PyTorchJob has a map of roles.
        const bool role =
            key != "spec" && member.is_object() && isPod(memberAt(member, {"template"}));
        if (role) inner.name = key;
        visit(member, std::move(inner), depth + 1);
      }
    }
  }

  std::vector<Template> found_;
};

class PodCollector {
 public:
  void add(const json::value& object) {
    const json::array& items = listAt(object, {"items"});
    for (const json::value& item : items) add(item);
    if (!items.empty()) return;
    if (textAt(object, {"kind"}) == "Pod")
      return add(object, object, textAt(object, {"metadata", "name"}));
    const std::string kind = textAt(object, {"kind"});
    if (kind == "Job" || kind == "PodGroup") found.groups.push_back(object);
    const json::value* spec = presentAt(object, {"spec"});
    const std::vector<Template> templates =
        spec == nullptr ? std::vector<Template>() : TemplateSearch().of(*spec);
    if (templates.empty()) ++found.others;
    const std::string owner = textAt(object, {"metadata", "name"});
    for (const Template& one : templates) {
      const std::string name =
          templates.size() > 1 && !one.name.empty() ? owner + '-' + one.name : owner;
      const std::int64_t count = one.idle.empty() ? one.count : 1;
      for (std::int64_t at = 0; at < count && found.pods.size() < kMaxPods; ++at) {
        add(object, *one.pod, count == 1 ? name : name + '-' + std::to_string(at));
        if (!one.idle.empty()) found.pods.back().idle = kind + ' ' + owner + ": " + one.idle;
      }
    }
  }

  Manifests found;

 private:
  // The pod is in the namespace of `owner`.
  void add(const json::value& owner, const json::value& from, const std::string& name) {
    json::object pod{{"apiVersion", "v1"}, {"kind", "Pod"}};
    json::object meta = objectAt(from, {"metadata"});
    meta["name"] = name.empty() ? "pod-" + std::to_string(found.pods.size()) : name;
    meta.erase("generateName");
    const std::string ns = textAt(owner, {"metadata", "namespace"});
    if (!ns.empty()) meta["namespace"] = ns;
    // As the Job controller does.
    if (textAt(owner, {"kind"}) == "Job") {
      json::object labels = objectAt(from, {"metadata", "labels"});
      labels["batch.kubernetes.io/job-name"] = textAt(owner, {"metadata", "name"});
      meta["labels"] = std::move(labels);
    }
    const std::string called(meta["name"].get_string());
    pod["metadata"] = std::move(meta);
    pod["spec"] = objectAt(from, {"spec"});
    found.pods.push_back({called, ns, std::move(pod), ""});
  }
};

}  // namespace

std::string groupPathOf(const json::value& group, const std::string& ns) {
  const bool job = textAt(group, {"kind"}) == "Job";
  return "/apis/" + textAt(group, {"apiVersion"}) + "/namespaces/" + ns +
         (job ? "/jobs/" : "/podgroups/") + textAt(group, {"metadata", "name"});
}

Result<Manifests> podsOf(const std::string& text, const std::string& name) {
  Result<std::vector<YamlDocument>> documents = readYamlDocuments(text, name);
  if (!documents) return documents.error();
  PodCollector collector;
  for (const YamlDocument& document : *documents) {
    if (document.value.is_object()) {
      collector.add(document.value);
    } else if (!document.value.is_null()) {
      return Error{ErrorCode::kUsage,
                   name + ":" + std::to_string(document.line) +
                       ": not a Kubernetes object; accepted: YAML or JSON of pods or workloads"};
    }
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
    for (ManifestPod& pod : read->pods) all.pods.push_back(std::move(pod));
    all.others += read->others;
    for (json::value& group : read->groups) all.groups.push_back(std::move(group));
  }
  if (all.pods.empty())
    return Error{ErrorCode::kUsage, "no pod and no workload in " +
                                        (files.size() == 1 ? files.front() : "these files")};
  return all;
}

}  // namespace divvy::cli
