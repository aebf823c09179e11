// Pods of a list in protobuf. An input that begins with 'k' is an answer of a server as it is; any
// other one is what a generator draws from: the pods that it makes are read alike from protobuf and
// from JSON.
#include <array>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "fuzz_input.h"
#include "objects/pod_list_protobuf.h"
#include "objects/protobuf_reader.h"
#include "pod_writer.h"

using namespace divvy;
using namespace divvy::kube;
namespace json = boost::json;

namespace {

constexpr std::array kWords{"",
                            "a",
                            "divvy",
                            "nvidia.com/gpu",
                            "1",
                            "16Gi",
                            "500m",
                            "Always",
                            "Never",
                            "Node",
                            "Running",
                            "Succeeded",
                            "Pending",
                            "True",
                            "False",
                            "ö\u4e2d",
                            "divvy.dev/DevicesFit",
                            "PodScheduled",
                            "k8s"};
constexpr std::array kTimes{"1970-01-01T00:00:00Z", "2026-11-23T16:00:00Z", "2038-01-19T03:14:08Z",
                            "2000-02-29T23:59:59Z"};

class Pods {
 public:
  explicit Pods(FuzzInput in) : in_(in) {}

  json::value list() {
    json::array pods;
    while (!in_.empty() && pods.size() < 8) pods.push_back(pod());
    json::object meta{{"resourceVersion", word()}, {"continue", word()}};
    return json::object{{"metadata", std::move(meta)}, {"items", std::move(pods)}};
  }

 private:
  json::string word() { return kWords.at(in_.byte() % kWords.size()); }
  json::string instant() { return kTimes.at(in_.byte() % kTimes.size()); }

  void words(json::object* into, std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (in_.flag()) (*into)[name] = word();
  }

  json::object map() {
    json::object made;
    for (unsigned left = in_.byte() % 4; left > 0; --left) made[word()] = word();
    return made;
  }

  // Servers write no empty quantity in JSON.
  json::object quantities() {
    json::object made = map();
    for (auto& [name, value] : made)
      if (value.get_string().empty()) value = "0";
    return made;
  }

  json::object resources() {
    json::object made;
    if (in_.flag()) made["limits"] = quantities();
    if (in_.flag()) made["requests"] = quantities();
    return made;
  }

  template <typename Make>
  json::array several(unsigned most, Make make) {
    json::array made;
    for (unsigned left = in_.byte() % (most + 1); left > 0; --left) made.push_back(make());
    return made;
  }

  json::object container() {
    json::object made;
    words(&made, {"name", "image", "restartPolicy", "imagePullPolicy"});
    made["resources"] = resources();
    if (in_.flag()) made["securityContext"] = json::object{{"privileged", in_.flag()}};
    return made;
  }

  json::object owner() {
    json::object made{{"kind", in_.flag() ? "ReplicaSet" : "Job"}};  // never empty
    words(&made, {"apiVersion", "name", "uid"});
    if (in_.flag()) made["controller"] = in_.flag();
    return made;
  }

  json::object metadata() {
    json::object made;
    words(&made, {"name", "generateName", "namespace", "uid", "resourceVersion"});
    if (in_.flag()) made["creationTimestamp"] = instant();
    if (in_.flag()) made["deletionTimestamp"] = instant();
    if (in_.flag()) made["labels"] = map();
    if (in_.flag()) made["annotations"] = map();
    if (in_.flag()) made["ownerReferences"] = several(3, [this] { return owner(); });
    if (in_.flag()) made["finalizers"] = several(2, [this] { return word(); });
    return made;
  }

  json::object spec() {
    json::object made;
    made["containers"] = several(3, [this] { return container(); });
    if (in_.flag()) made["initContainers"] = several(2, [this] { return container(); });
    words(&made, {"nodeName", "schedulerName", "priorityClassName", "preemptionPolicy"});
    if (in_.flag()) made["priority"] = static_cast<std::int32_t>(in_.word());
    if (in_.flag()) made["terminationGracePeriodSeconds"] = in_.word();
    if (in_.flag()) made["overhead"] = quantities();
    if (in_.flag()) made["resources"] = resources();
    if (in_.flag())
      made["schedulingGates"] = several(3, [this] { return json::object{{"name", word()}}; });
    return made;
  }

  json::object condition() {
    json::object made{{"type", word()}, {"status", word()}};
    made["lastTransitionTime"] = in_.flag() ? json::value(instant()) : json::value();
    words(&made, {"reason", "message"});
    return made;
  }

  json::object pod() {
    json::object made;
    if (in_.flag()) made["metadata"] = metadata();
    if (in_.flag()) made["spec"] = spec();
    json::object status;
    words(&status, {"phase", "message", "podIP", "qosClass", "nominatedNodeName"});
    if (in_.flag()) status["conditions"] = several(4, [this] { return condition(); });
    made["status"] = std::move(status);
    return made;
  }

  FuzzInput in_;
};

void checkTexts(const Pod& pod) {
  for (const std::string* text : {&pod.meta.name, &pod.meta.namespace_name, &pod.meta.uid,
                                  &pod.node, &pod.scheduler, &pod.nominated})
    need(Field::isText(*text), "UTF-8");
  for (const auto& [key, value] : pod.meta.annotations)
    need(Field::isText(key) && Field::isText(value), "UTF-8 of annotations");
}

void readBytes(std::string_view bytes) {
  const Result<PodListPage> page = podPageOf(bytes);
  (void)podsGoOnAt(bytes);
  if (!page) {
    need(page.error().code() == ErrorCode::kCorrupt && !page.error().message().empty(),
         "an error without a reason");
    return;
  }
  need(isProtobuf(bytes), "the magic");
  for (const Pod& pod : page->pods) checkTexts(pod);
  // The pods that are whole are the same if the answer is cut behind the list.
  const Result<PodListPage> again = podPageOf(bytes);
  need(again && again->pods == page->pods, "the same pods");
}

// The first part that is not alike; empty: none.
std::string_view difference(const Pod& a, const Pod& b) {
  if (!(a.meta == b.meta)) return "metadata";
  if (a.node != b.node || a.scheduler != b.scheduler) return "node and scheduler";
  if (!(a.init == b.init) || !(a.containers == b.containers)) return "containers";
  if (a.gates != b.gates || a.priority != b.priority || a.preempts != b.preempts)
    return "gates and priority";
  if (a.controller != b.controller || a.created != b.created) return "controller and creation";
  if (a.requests != b.requests || a.overhead != b.overhead || a.grace != b.grace)
    return "requests, overhead and grace";
  if (a.placed_at != b.placed_at || !(a.conditions == b.conditions)) return "conditions";
  return a == b ? "" : "phase and nomination";
}

void compareForms(FuzzInput in) {
  const json::value list = Pods(in).list();
  const std::string bytes = podListBytes(list);
  const Result<PodListPage> page = podPageOf(bytes);
  need(page.has_value(), "pods in protobuf");
  const json::array& items = list.at("items").as_array();
  need(page->pods.size() == items.size(), "the number of pods");
  need(std::string_view(list.at("metadata").at("continue").as_string()) == page->next &&
           podsGoOnAt(bytes) == page->next,
       "where the list goes on");
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Result<Pod> pod = podOf(items[i]);
    need(pod.has_value(), "a pod in JSON");
    const std::string_view other = difference(*pod, page->pods[i]);
    need(other.empty(), other);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 0 && data[0] == 'k') {
    readBytes(textOf(data, size));
  } else {
    compareForms(FuzzInput(data, size));
  }
  return 0;
}
