// What the node says of this machine's cards, and that it says so.
#include <chrono>
#include <exception>
#include <utility>

#include <boost/json.hpp>

#include "kube/nics.h"
#include "kube/node.h"
#include "kubelet_desk.h"
#include "log.h"
#include "pod_share.h"

// GCC 12 with -O2 takes the frame of a coroutine for one that another operator new made; both are
// Asio's.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace divvy::agent {
namespace {

namespace json = boost::json;

// Source: facts on the incumbent's control plane, 2.1.
constexpr const char* kRegister = "hami.io/node-nvidia-register";
constexpr const char* kScores = "hami.io/node-nvidia-score";
constexpr std::chrono::seconds kAgain{5};

void rethrow(std::exception_ptr fault) {
  if (fault) std::rethrow_exception(fault);
}

// A member of the node's status.nodeInfo; empty: it does not say.
std::string infoOf(const json::value& node, const char* name) {
  boost::system::error_code fault;
  const std::string path = std::string("/status/nodeInfo/") + name;
  const json::value* found = node.find_pointer(path, fault);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

}  // namespace

std::string KubeletDesk::registration() const {
  return kube::encode(registrationOf(inventory_.devices(), tenants_.memory().devices,
                                     cluster_.per_device, tenants_.health(), cluster_.cores));
}

// Of those that are registered.
std::string KubeletDesk::linkScores() const {
  std::vector<std::string> uuids;
  for (const Device& device : inventory_.devices())
    if (!device.excluded) uuids.push_back(device.info.uuid);
  return kube::encode(inventory_.scores(), uuids);
}

// How near they are to what is registered.
std::string KubeletDesk::nicPlaces() const {
  std::vector<kube::Nic> nics = inventory_.nics();
  for (const Device& device : inventory_.devices())
    for (kube::Nic& nic : nics)
      if (device.excluded) nic.distances.erase(device.info.uuid);
  return kube::encode(nics);
}

void KubeletDesk::followNode() {
  kube::Follower nodes;
  nodes.path = "/api/v1/nodes";
  nodes.query = "fieldSelector=metadata.name%3D" + cluster_.name;
  nodes.set = [this](const json::value& object) { heard(object); };
  nodes.gone = [](const std::string&, const std::string& name) {
    warn("node " + name + " is gone");
  };
  nodes.synced = [] {};
  nodes.trouble = [](const Error& error) { warn(error.message()); };
  asio::co_spawn(loop_, kube::follow(*client_, std::move(nodes), node_rein_, &stopped_), rethrow);
}

void KubeletDesk::heard(const json::value& object) {
  const Result<kube::Node> node = kube::nodeOf(object);
  if (!node) return warn(node.error().message());
  injector_.heardNode(infoOf(object, "containerRuntimeVersion"), infoOf(object, "kubeletVersion"));
  for (const char* key :
       {kRegister, kScores, kube::kNicsKey, kube::kIdleKey, kube::kBypassKey, kube::kChangesKey}) {
    const auto written = node->meta.annotations.find(key);
    said_[key] = written == node->meta.annotations.end() ? std::string() : written->second;
  }
  tell();
}

std::map<std::string, std::string> KubeletDesk::wanted() const {
  const kube::ChangeResults& results = changes_.results();
  // What an earlier agent said stays until we have looked ourselves.
  const auto said = [this](const char* key) {
    const auto found = said_.find(key);
    return found == said_.end() ? std::string() : found->second;
  };
  const auto complaints = [&](const std::optional<kube::Complaints>& all, const char* key) {
    if (!all) return said(key);
    return all->empty() ? std::string() : kube::encode(*all);
  };
  return {{kRegister, holders_known_ ? registration_ : said(kRegister)},
          {kScores, scores_},
          {kube::kNicsKey, nics_},
          {kube::kIdleKey, complaints(idle_, kube::kIdleKey)},
          {kube::kBypassKey, complaints(bypass_, kube::kBypassKey)},
          {kube::kChangesKey, results.empty() ? std::string() : kube::encode(results)}};
}

void KubeletDesk::tell() {
  if (enrolling_ || said_.empty() || said_ == wanted()) return;
  enrolling_ = true;
  asio::co_spawn(loop_, enroll(), rethrow);
}

asio::awaitable<void> KubeletDesk::enroll() {
  while (!stopped_ && said_ != wanted()) {
    const std::map<std::string, std::string> wanted = this->wanted();
    const bool registers = said_[kRegister] != wanted.at(kRegister);
    json::object annotations;
    for (const auto& [key, value] : wanted) {
      if (said_[key] != value)
        annotations[key] = value.empty() ? json::value(nullptr) : json::value(value);
    }
    kube::Call call;
    call.verb = kube::Verb::kPatch;
    call.path = "/api/v1/nodes/" + cluster_.name;
    call.body = json::serialize(
        json::object{{"metadata", json::object{{"annotations", std::move(annotations)}}}});
    call.type = kube::kMergePatch;
    const Result<json::value> done = co_await client_->ask(std::move(call));
    if (done) {
      said_ = wanted;
      if (registers)
        info("node " + cluster_.name + " is registered with " +
             std::to_string(inventory_.devices().size()) + " devices");
      continue;
    }
    warn("writing into node " + cluster_.name + ": " + done.error().message());
    asio::steady_timer pause(loop_, kAgain);
    co_await pause.async_wait(kNoThrow);
  }
  enrolling_ = false;
}

}  // namespace divvy::agent
