#include "node_object/node_publisher.h"

#include <chrono>
#include <utility>

#include <boost/json.hpp>

#include "kube/device_list.h"
#include "kube/nics.h"
#include "kube/node.h"
#include "kube/renamed_annotation.h"
#include "log/log.h"
#include "node_object/scheduler_dialect.h"
#include "pods/pod_allocation.h"

namespace divvy::agent {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds kPause{5};
// At shutdown, for publishing that devices are unavailable.
constexpr std::chrono::seconds kLastWrite{2};

// A member of the node's status.nodeInfo; empty: it is missing.
std::string infoOf(const json::value& node, const char* name) {
  boost::system::error_code fault;
  const std::string path = std::string("/status/nodeInfo/") + name;
  const json::value* found = node.find_pointer(path, fault);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

// Link scores of the devices that are registered.
std::string linkScores(const Inventory& inventory) {
  std::vector<std::string> uuids;
  for (const Device& device : inventory.devices())
    if (!device.excluded) uuids.push_back(device.info.uuid);
  return kube::encode(inventory.scores(), uuids);
}

// NICs, with their distances to the devices that are registered.
std::string nicPlaces(const Inventory& inventory) {
  std::vector<kube::Nic> nics = inventory.nics();
  for (const Device& device : inventory.devices())
    for (kube::Nic& nic : nics)
      if (device.excluded) nic.distances.erase(device.info.uuid);
  return kube::encode(nics);
}

}  // namespace

NodePublisher::NodePublisher(const Inputs& inputs)
    : inputs_(inputs),
      scores_(linkScores(inputs.inventory)),
      nics_(nicPlaces(inputs.inventory)),
      status_({.loop = inputs.loop,
               .cluster = inputs.cluster,
               .resources = inputs.resources,
               .api = inputs.api,
               .shutdown = inputs.shutdown,
               .may_publish = [this] { return mayRegister(inputs_.state(), inputs_.resources); },
               .written = [this] { publish(); }}) {}

void NodePublisher::describeDevices(const std::set<std::string>& assigned) {
  const ClusterNode& cluster = inputs_.cluster;
  devices_ = registrationOf(inputs_.inventory.devices(), inputs_.tenants.memory().devices,
                            cluster.per_device, inputs_.tenants.health(), cluster.cores);
  setAssignedPods(assigned);
  status_.want(announcedOf(cluster, devices_));
}

void NodePublisher::setAssignedPods(const std::set<std::string>& assigned) {
  registration_ = registrationIn(inputs_.cluster.dialect, devices_, scores_, assigned);
}

void NodePublisher::follow() {
  kube::EventHandlers nodes;
  nodes.path = "/api/v1/nodes";
  nodes.query = "fieldSelector=metadata.name%3D" + inputs_.cluster.name;
  nodes.set = [this](const json::value& object) { onNodeUpdate(object); };
  nodes.gone = [](const std::string&, const std::string& name) {
    log::warn("node was deleted", {{"node", name}});
  };
  nodes.synced = [] {};
  nodes.trouble = [](const Error& error) {
    log::warn("watch failed; it is repeated", {{"resource", "nodes"}, {"error", error.message()}});
  };
  inputs_.api.follow(std::move(nodes), informer_);
}

void NodePublisher::onNodeUpdate(const json::value& object) {
  const Result<kube::Node> node = kube::nodeOf(object);
  if (!node) return log::warn("cannot read the node", {{"error", node.error().message()}});
  inputs_.versions(infoOf(object, "containerRuntimeVersion"), infoOf(object, "kubeletVersion"));
  const Dialect dialect = inputs_.cluster.dialect;
  left_.merge(leftBehind(dialect, node->meta.annotations));
  if (!node_lock_logged_ && takesTurns(dialect, node->meta.annotations)) {
    node_lock_logged_ = true;
    log::warn(
        "Volcano serialises pods of the node and binds pods without their devices: set "
        "deviceshare.NodeLockEnable to false",
        {{"node", inputs_.cluster.name}});
  }
  for (const auto& [key, value] : wanted()) {
    const auto written = node->meta.annotations.find(key);
    published_[key] = written == node->meta.annotations.end() ? std::string() : written->second;
  }
  status_.onNodeUpdate(*node);
  publish();
}

Annotations NodePublisher::wanted() const {
  return wantedAnnotations(inputs_.state(),
                           {.resources = inputs_.resources,
                            .nics = nics_,
                            .registration = registration_,
                            .left = left_,
                            .announced = status_.announced(),
                            .deprecated_names = inputs_.cluster.deprecated_names},
                           published_);
}

std::string NodePublisher::published(const std::string& key) const {
  const std::string* found = kube::findRenamed(published_, key);
  return found == nullptr ? std::string() : *found;
}

void NodePublisher::publish() {
  if (published_.empty()) return;
  if (!annotating_ && published_ != wanted()) {
    annotating_ = true;
    asio::co_spawn(inputs_.loop, annotateUntilUpToDate(), rethrow);
  }
  // The annotation comes first: the next agent has to know of all that is in the status.
  if (published_.at(kube::kAnnouncedResourcesKey) == wanted().at(kube::kAnnouncedResourcesKey))
    status_.write();
}

asio::awaitable<void> NodePublisher::annotateUntilUpToDate() {
  while (!inputs_.shutdown.begun() && published_ != wanted()) {
    Annotations wanted = this->wanted();
    const bool written = co_await annotate(std::move(wanted));
    if (written) continue;
    asio::steady_timer pause(inputs_.loop, kPause);
    co_await pause.async_wait(kNoThrow);
  }
  annotating_ = false;
}

asio::awaitable<bool> NodePublisher::annotate(Annotations wanted) {
  const std::string key = registrationKey(inputs_.cluster.dialect);
  const bool registers = published(key) != wanted.at(key);
  json::object patch{{"annotations", annotationPatch(published_, wanted)}};
  const NodeApiClient::Reply done =
      co_await inputs_.api.patchNode("", "metadata", std::move(patch));
  if (!done) {
    log::warn("cannot write the node's annotations",
              {{"node", inputs_.cluster.name}, {"error", done.error().message()}});
    co_return false;
  }
  published_ = std::move(wanted);
  if (registers)
    log::info("node is registered",
              {{"node", inputs_.cluster.name},
               {"devices", std::to_string(inputs_.inventory.devices().size())}});
  co_return true;
}

// ---- shutdown -----------------------------------------------------------------------------------

void NodePublisher::publishUnavailable() {
  // A node without a registration gets no pods.
  if (published(registrationKey(inputs_.cluster.dialect)).empty()) return;
  const auto done = std::make_shared<bool>(false);
  asio::io_context& loop = inputs_.loop;
  loop.restart();
  asio::co_spawn(loop, annotateUnavailable(done), rethrow);
  const auto until = std::chrono::steady_clock::now() + kLastWrite;
  while (!*done && std::chrono::steady_clock::now() < until) {
    if (loop.stopped()) loop.restart();
    loop.run_one_for(std::chrono::milliseconds(50));
  }
  if (!*done)
    log::warn("node was not marked unavailable before the agent stopped",
              {{"node", inputs_.cluster.name}});
}

// The next agent registers the devices again as soon as it knows their holders.
asio::awaitable<void> NodePublisher::annotateUnavailable(std::shared_ptr<bool> done) {
  std::vector<kube::RegisteredDevice> closed = devices_;
  for (kube::RegisteredDevice& one : closed) one.healthy = false;
  Annotations last = registrationIn(inputs_.cluster.dialect, closed, scores_, {});
  last[kube::kFullDevicesKey] = "";
  last[kube::oldKeyOf(kube::kFullDevicesKey)] = "";
  json::object patch{{"annotations", annotationPatch(published_, last)}};
  const NodeApiClient::Reply told =
      co_await inputs_.api.patchNode("", "metadata", std::move(patch));
  if (!told)
    log::warn("cannot write the node's annotations",
              {{"node", inputs_.cluster.name}, {"error", told.error().message()}});
  *done = true;
}

}  // namespace divvy::agent
