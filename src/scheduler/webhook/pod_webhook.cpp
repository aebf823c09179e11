#include "webhook/pod_webhook.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "annotations/disruption_annotations.h"
#include "annotations/placement_annotations.h"
#include "annotations/priority_annotations.h"
#include "base/base64.h"
#include "codec/pod_request.h"
#include "json/path.h"
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

// Adds a member that is neither there nor added already.
void ensure(const json::value& object, const char* part, const char* member, json::value empty,
            json::array* patch) {
  const std::string path = std::string("/") + part + '/' + member;
  if (!adds(*patch, path) && presentAt(object, {part, member}) == nullptr)
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

bool isForOtherScheduler(const kube::Pod& pod, const std::string& scheduler) {
  return !pod.scheduler.empty() && pod.scheduler != kClusters && pod.scheduler != scheduler;
}

// One new pod with devices: the checks in order, then the patch.
class PodAdmission {
 public:
  PodAdmission(const kube::Pod& pod, const json::value& object, engine::Request request,
               const WebhookRules& with)
      : pod_(pod), object_(object), request_(std::move(request)), with_(with) {}

  Admission decide() {
    using Check = std::optional<Error> (PodAdmission::*)();
    static constexpr Check kChecks[] = {
        &PodAdmission::checkAnnotations, &PodAdmission::checkQueue, &PodAdmission::checkRequest,
        &PodAdmission::checkPrivilege,   &PodAdmission::checkNode,  &PodAdmission::checkBeyond};
    for (const Check check : kChecks)
      if (std::optional<Error> refused = (this->*check)()) return {std::move(refused), {}};
    Result<json::array> patch = buildPatch();
    if (!patch) return {patch.error(), {}};
    return {std::nullopt, std::move(*patch)};
  }

 private:
  std::optional<Error> checkAnnotations() {
    const Result<void> valid = checkProtection(pod_.meta.annotations);
    return valid ? std::nullopt : std::optional(valid.error());
  }

  std::optional<Error> checkQueue() {
    Result<QueueAssignment> assigned = with_.gate ? with_.gate(pod_) : QueueAssignment{};
    if (!assigned) return assigned.error();
    queue_ = std::move(*assigned);
    pool_by_queue_ = !queue_.pool.empty() && !request_.shape.pool;
    if (pool_by_queue_) request_.shape.pool = poolNamed(queue_.pool);
    return std::nullopt;
  }

  // A request that can never be right is refused without any node.
  std::optional<Error> checkRequest() {
    const Result<bool> possible = with_.rules.possible(request_);
    return possible ? std::nullopt : std::optional(possible.error());
  }

  std::optional<Error> checkPrivilege() {
    std::string name;
    if (!privileged(pod_, &name)) return std::nullopt;
    return Error{
        ErrorCode::kUsage,
        "container " + name + " is privileged: it would see whole devices, whatever it asks for"};
  }

  std::optional<Error> checkNode() {
    if (pod_.node.empty()) return std::nullopt;
    return Error{ErrorCode::kUsage, "pod has node assigned: leave spec.nodeName to the scheduler"};
  }

  std::optional<Error> checkBeyond() {
    const auto why = with_.beyond ? with_.beyond(pod_) : std::nullopt;
    if (!why) return std::nullopt;
    return Error{ErrorCode::kUsage, *why};
  }

  Result<json::array> buildPatch() const {
    Result<json::array> patch =
        mutatePod(pod_, object_, with_.catalog,
                  priorityNotes(pod_, object_, with_.catalog, with_.priorities));
    if (!patch) return patch;
    if (pod_.scheduler != with_.scheduler)
      patch->push_back(
          json::object{{"op", "add"}, {"path", "/spec/schedulerName"}, {"value", with_.scheduler}});
    addGate(pod_, object_, queue_, &*patch);
    if (pool_by_queue_) note(object_, "pool", queue_.pool, &*patch);
    return patch;
  }

  const kube::Pod& pod_;
  const json::value& object_;
  engine::Request request_;
  const WebhookRules& with_;
  QueueAssignment queue_;
  bool pool_by_queue_ = false;
};

Admission admitPod(const kube::Pod& pod, const json::value& object, const WebhookRules& with) {
  if (isForOtherScheduler(pod, with.scheduler)) return {};
  Result<std::optional<engine::Request>> request = requestOf(pod, with.catalog, {});
  if (!request) return {request.error(), {}};
  if (!*request) return {};
  return PodAdmission(pod, object, std::move(**request), with).decide();
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

// kubectl debug adds a container to a pod that runs. Nothing of such a pod is patched. Containers
// that it had before cannot be removed, and are no reason to refuse another.
Admission admitEphemeral(const kube::Pod& pod, const json::value& object, const json::value* before,
                         const WebhookRules& with) {
  Admission verdict;
  if (isForOtherScheduler(pod, with.scheduler)) return verdict;
  // A pod that is unreadable now was accepted once: it may have devices.
  const Result<std::optional<engine::Request>> request = requestOf(pod, with.catalog, {});
  if (request && !*request) return verdict;
  std::vector<std::string> present;
  for (const json::value* one : ephemeralOf(before)) present.push_back(textAt(*one, {"name"}));
  for (const json::value* one : ephemeralOf(&object)) {
    const std::string name = textAt(*one, {"name"});
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
  return textAt(request, {"subResource"}) == "ephemeralcontainers";
}

Admission admit(const json::object& request, const WebhookRules& with) {
  const json::value* object = request.if_contains("object");
  if (object == nullptr || !object->is_object()) return {};
  Result<kube::Pod> pod = kube::podOf(*object);
  if (!pod) return {pod.error(), {}};
  // A pod of a template does not name its namespace; the request does.
  if (pod->meta.namespace_name.empty()) pod->meta.namespace_name = textAt(request, {"namespace"});
  return isOfEphemeral(request)
             ? admitEphemeral(*pod, *object, request.if_contains("oldObject"), with)
             : admitPod(*pod, *object, with);
}

json::object answerOf(const json::object& request, const Admission& verdict) {
  json::object answer;
  answer["uid"] = request.contains("uid") ? request.at("uid") : json::value("");
  answer["allowed"] = !verdict.refused;
  if (verdict.refused)
    answer["status"] = json::object{{"code", 403}, {"message", verdict.refused->message()}};
  if (!verdict.refused && !verdict.patch.empty()) {
    answer["patchType"] = "JSONPatch";
    answer["patch"] = toBase64(json::serialize(verdict.patch));
  }
  return answer;
}

}  // namespace

Result<Review> review(const std::string& body, const WebhookRules& with) {
  boost::system::error_code fault;
  const json::value said = json::parse(body, fault);
  if (fault) return Error{ErrorCode::kCorrupt, "the body is not JSON: " + fault.message()};
  const json::object* whole = said.if_object();
  const json::value* request = whole == nullptr ? nullptr : whole->if_contains("request");
  if (request == nullptr || !request->is_object())
    return Error{ErrorCode::kCorrupt, "the body is not an AdmissionReview: request is missing"};
  const Admission verdict = admit(request->get_object(), with);
  std::string answer =
      json::serialize(json::object{{"apiVersion", "admission.k8s.io/v1"},
                                   {"kind", "AdmissionReview"},
                                   {"response", answerOf(request->get_object(), verdict)}});
  return Review{std::move(answer), !verdict.refused};
}

}  // namespace divvy::scheduler
