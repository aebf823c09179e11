#include "webhook/pod_webhook.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "annotations/disruption_annotations.h"
#include "annotations/placement_annotations.h"
#include "annotations/priority_annotations.h"
#include "codec/pod_request.h"
#include "kube/base64.h"
#include "kube/pod.h"
#include "scheduler/pod_group.h"
#include "webhook/pod_mutator.h"

namespace divvy::scheduler {
namespace {

namespace json = boost::json;

constexpr const char* kClusters = "default-scheduler";

struct Admission {
  std::optional<Error> refused;
  json::array patch;
};

bool privileged(const kube::Pod& pod, std::string* name) {
  for (const auto* list : {&pod.init, &pod.containers}) {
    for (const kube::PodContainer& one : *list) {
      if (!one.privileged) continue;
      *name = one.name;
      return true;
    }
  }
  return false;
}

json::object addition(const std::string& path, json::value value) {
  return {{"op", "add"}, {"path", path}, {"value", std::move(value)}};
}

bool adds(const json::array& patch, const std::string& path) {
  return std::any_of(patch.begin(), patch.end(),
                     [&](const json::value& one) { return one.at("path").as_string() == path; });
}

// What only may be added where it is neither there nor added already.
void ensure(const json::value& object, const char* part, const char* member, json::value empty,
            json::array* patch) {
  const std::string path = std::string("/") + part + '/' + member;
  const json::value* whole = object.as_object().if_contains(part);
  const json::value* there =
      whole == nullptr || !whole->is_object() ? nullptr : whole->get_object().if_contains(member);
  if (!adds(*patch, path) && (there == nullptr || there->is_null()))
    patch->push_back(addition(path, std::move(empty)));
}

void note(const json::value& object, const char* key, const std::string& value,
          json::array* patch) {
  if (object.as_object().if_contains("metadata") == nullptr && !adds(*patch, "/metadata"))
    patch->push_back(addition("/metadata", json::object()));
  ensure(object, "metadata", "annotations", json::object(), patch);
  patch->push_back(addition(std::string("/metadata/annotations/use.divvy.dev~1") + key,
                            json::value(value.c_str())));
}

void addGate(const kube::Pod& pod, const json::value& object, const QueueAssignment& admitted,
             json::array* patch) {
  if (!admitted.gate) return;
  if (!isGated(pod)) {
    ensure(object, "spec", "schedulingGates", json::array(), patch);
    patch->push_back(addition("/spec/schedulingGates/-", json::object{{"name", kQueueGate}}));
  }
  if (!admitted.queue.empty() && queueNamedBy(pod) != admitted.queue)
    note(object, "queue", admitted.queue, patch);
}

Admission admitPod(const kube::Pod& pod, const json::value& object, const vendors::Catalog& catalog,
                   const engine::Engine& rules, const std::string& scheduler, const Beyond& beyond,
                   const GateRule& gate, const PriorityRules& priorities) {
  Admission verdict;
  // Who names another scheduler is somebody else's.
  const bool others =
      !pod.scheduler.empty() && pod.scheduler != kClusters && pod.scheduler != scheduler;
  if (others) return verdict;
  Result<std::optional<engine::Request>> request = requestOf(pod, catalog, {});
  if (!request) {
    verdict.refused = request.error();
    return verdict;
  }
  if (!*request) return verdict;
  if (const Result<void> said = checkProtection(pod.meta.annotations); !said) {
    verdict.refused = said.error();
    return verdict;
  }
  const Result<QueueAssignment> admitted = gate ? gate(pod) : QueueAssignment{};
  if (!admitted) {
    verdict.refused = admitted.error();
    return verdict;
  }
  const bool by_queue = !admitted->pool.empty() && !(*request)->shape.pool;
  if (by_queue) (*request)->shape.pool = poolNamed(admitted->pool);
  // What can never be right is so where there are no nodes, too.
  const Result<bool> right = rules.possible(**request);
  if (!right) {
    verdict.refused = right.error();
    return verdict;
  }
  std::string name;
  if (privileged(pod, &name)) {
    verdict.refused = Error{
        ErrorCode::kUsage,
        "container " + name + " is privileged: it would see whole devices, whatever it asks for"};
  } else if (!pod.node.empty()) {
    verdict.refused =
        Error{ErrorCode::kUsage, "pod has node assigned: leave spec.nodeName to the scheduler"};
  }
  if (verdict.refused) return verdict;
  if (const auto why = beyond ? beyond(pod) : std::nullopt) {
    verdict.refused = Error{ErrorCode::kUsage, *why};
    return verdict;
  }
  Result<json::array> patch =
      mutatePod(pod, object, catalog, priorityNotes(pod, object, catalog, priorities));
  if (!patch) {
    verdict.refused = patch.error();
    return verdict;
  }
  verdict.patch = std::move(*patch);
  if (pod.scheduler != scheduler)
    verdict.patch.push_back(
        json::object{{"op", "add"}, {"path", "/spec/schedulerName"}, {"value", scheduler}});
  addGate(pod, object, *admitted, &verdict.patch);
  if (by_queue) note(object, "pool", admitted->pool, &verdict.patch);
  return verdict;
}

// Members of the pod's list of ephemeral containers; none where that is not one.
std::vector<const json::value*> ephemeralOf(const json::value* pod) {
  std::vector<const json::value*> found;
  boost::system::error_code fault;
  const json::value* list =
      pod == nullptr ? nullptr : pod->find_pointer("/spec/ephemeralContainers", fault);
  if (list == nullptr || !list->is_array()) return found;
  for (const json::value& one : list->get_array())
    if (one.is_object()) found.push_back(&one);
  return found;
}

std::string nameOf(const json::value& container) {
  const json::value* name = container.get_object().if_contains("name");
  return name != nullptr && name->is_string() ? std::string(name->get_string()) : "";
}

// kubectl debug adds a container to a pod that runs. Nothing of such a pod is patched. Containers
// that it had before cannot be removed, and are no reason to refuse another.
Admission judgeEphemeral(const kube::Pod& pod, const json::value& object, const json::value* before,
                         const vendors::Catalog& catalog, const std::string& scheduler) {
  Admission verdict;
  if (!pod.scheduler.empty() && pod.scheduler != kClusters && pod.scheduler != scheduler)
    return verdict;
  // What cannot be read any more was accepted once: it may have devices.
  const Result<std::optional<engine::Request>> request = requestOf(pod, catalog, {});
  if (request && !*request) return verdict;
  std::vector<std::string> present;
  for (const json::value* one : ephemeralOf(before)) present.push_back(nameOf(*one));
  for (const json::value* one : ephemeralOf(&object)) {
    const std::string name = nameOf(*one);
    boost::system::error_code fault;
    const json::value* privileged = one->find_pointer("/securityContext/privileged", fault);
    if (privileged == nullptr || !privileged->is_bool() || !privileged->get_bool() ||
        std::find(present.begin(), present.end(), name) != present.end())
      continue;
    verdict.refused = Error{ErrorCode::kUsage,
                            "ephemeral container " + name +
                                " is privileged: it would see whole devices; accepted for a pod "
                                "with devices: kubectl debug --profile general, baseline or "
                                "restricted"};
    return verdict;
  }
  return verdict;
}

bool isOfEphemeral(const json::object& request) {
  const json::value* part = request.if_contains("subResource");
  return part != nullptr && part->is_string() && part->get_string() == "ephemeralcontainers";
}

json::object answerOf(const json::object& request, const Admission& verdict) {
  json::object answer;
  answer["uid"] = request.contains("uid") ? request.at("uid") : json::value("");
  answer["allowed"] = !verdict.refused;
  if (verdict.refused)
    answer["status"] = json::object{{"code", 403}, {"message", verdict.refused->message()}};
  if (!verdict.refused && !verdict.patch.empty()) {
    answer["patchType"] = "JSONPatch";
    answer["patch"] = kube::toBase64(json::serialize(verdict.patch));
  }
  return answer;
}

}  // namespace

Result<Review> review(const std::string& body, const vendors::Catalog& catalog,
                      const engine::Engine& rules, const std::string& scheduler,
                      const Beyond& beyond, const GateRule& gate, const PriorityRules& priorities) {
  boost::system::error_code fault;
  const json::value said = json::parse(body, fault);
  if (fault) return Error{ErrorCode::kCorrupt, "the body is not JSON: " + fault.message()};
  const json::object* whole = said.if_object();
  const json::value* request = whole == nullptr ? nullptr : whole->if_contains("request");
  if (request == nullptr || !request->is_object())
    return Error{ErrorCode::kCorrupt, "the body is no AdmissionReview: there is no request"};
  const json::object& asked = request->get_object();
  Admission verdict;
  const json::value* object = asked.if_contains("object");
  if (object != nullptr && object->is_object()) {
    Result<kube::Pod> pod = kube::podOf(*object);
    if (pod) {
      // What is made from a template does not say itself where it will be.
      const json::value* space = asked.if_contains("namespace");
      if (pod->meta.space.empty() && space != nullptr && space->is_string())
        pod->meta.space = space->get_string();
      verdict =
          isOfEphemeral(asked)
              ? judgeEphemeral(*pod, *object, asked.if_contains("oldObject"), catalog, scheduler)
              : admitPod(*pod, *object, catalog, rules, scheduler, beyond, gate, priorities);
    } else {
      verdict.refused = pod.error();
    }
  }
  std::string answer = json::serialize(json::object{{"apiVersion", "admission.k8s.io/v1"},
                                                    {"kind", "AdmissionReview"},
                                                    {"response", answerOf(asked, verdict)}});
  return Review{std::move(answer), !verdict.refused};
}

}  // namespace divvy::scheduler
