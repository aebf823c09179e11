// What the node says of this machine's cards, and that it says so.
#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include <boost/json.hpp>

#include "base/quantity.h"
#include "deviceplugin/device_plugin.h"
#include "kube/device_list.h"
#include "kube/nics.h"
#include "kube/node.h"
#include "node_object/scheduler_dialect.h"
#include "os/log.h"
#include "pods/pod_allocation.h"

// GCC 12 with -O2 takes the frame of a coroutine for one that another operator new made; both are
// Asio's.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace divvy::agent {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds kAgain{5};
constexpr std::chrono::seconds kSeldom{300};
constexpr std::chrono::seconds kLeave{2};

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

kube::Call patching(const std::string& node, const char* below, const char* member,
                    json::object value) {
  kube::Call call;
  call.verb = kube::Verb::kPatch;
  call.path = "/api/v1/nodes/" + node + below;
  call.body = json::serialize(json::object{{member, std::move(value)}});
  call.type = kube::kMergePatch;
  return call;
}

// Writes what of the annotations is not said yet; empty ones are taken away.
kube::Call noting(const std::string& node, const std::map<std::string, std::string>& said,
                  const std::map<std::string, std::string>& wanted) {
  json::object annotations;
  for (const auto& [name, value] : wanted) {
    const auto now = said.find(name);
    if ((now == said.end() ? std::string() : now->second) != value)
      annotations[name] = value.empty() ? json::value(nullptr) : json::value(value);
  }
  return patching(node, "", "metadata", json::object{{"annotations", std::move(annotations)}});
}

}  // namespace

void DevicePluginController::describeDevices() {
  devices_ = registrationOf(inventory_.devices(), tenants_.memory().devices, cluster_.per_device,
                            tenants_.health(), cluster_.cores);
  noteLodgers();
  announced_ = announcedOf(cluster_, devices_);
}

void DevicePluginController::noteLodgers() {
  std::set<std::string> lodgers;
  for (const auto& [uid, pod] : living_)
    if (pod.given) lodgers.insert(uid);
  registration_ = registrationIn(cluster_.dialect, devices_, scores_, lodgers);
}

// Of those that are registered.
std::string DevicePluginController::linkScores() const {
  std::vector<std::string> uuids;
  for (const Device& device : inventory_.devices())
    if (!device.excluded) uuids.push_back(device.info.uuid);
  return kube::encode(inventory_.scores(), uuids);
}

// How near they are to what is registered.
std::string DevicePluginController::nicPlaces() const {
  std::vector<kube::Nic> nics = inventory_.nics();
  for (const Device& device : inventory_.devices())
    for (kube::Nic& nic : nics)
      if (device.excluded) nic.distances.erase(device.info.uuid);
  return kube::encode(nics);
}

void DevicePluginController::followNode() {
  kube::EventHandlers nodes;
  nodes.path = "/api/v1/nodes";
  nodes.query = "fieldSelector=metadata.name%3D" + cluster_.name;
  nodes.set = [this](const json::value& object) { heard(object); };
  nodes.gone = [](const std::string&, const std::string& name) {
    warn("node " + name + " is gone");
  };
  nodes.synced = [] {};
  nodes.trouble = [](const Error& error) { warn(error.message()); };
  asio::co_spawn(loop_, kube::runReflector(*client_, std::move(nodes), node_rein_, &stopped_),
                 rethrow);
}

void DevicePluginController::heard(const json::value& object) {
  const Result<kube::Node> node = kube::nodeOf(object);
  if (!node) return warn(node.error().message());
  injector_.heardNode(infoOf(object, "containerRuntimeVersion"), infoOf(object, "kubeletVersion"));
  left_.merge(leftBehind(cluster_.dialect, node->meta.annotations));
  if (!turns_told_ && takesTurns(cluster_.dialect, node->meta.annotations)) {
    turns_told_ = true;
    warn("Volcano has pods of node " + cluster_.name +
         " wait in turn, and binds one that does not wait without saying what it was given: switch "
         "deviceshare.NodeLockEnable off");
  }
  for (const auto& [key, value] : wanted()) {
    const auto written = node->meta.annotations.find(key);
    said_[key] = written == node->meta.annotations.end() ? std::string() : written->second;
  }
  noteAnnounced(*node);
  tell();
}

std::map<std::string, std::string> DevicePluginController::wanted() const {
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
  std::map<std::string, std::string> all{
      {kube::kNicsKey, nics_},
      {kube::kServedKey, kube::encodeDevices(served())},
      {kube::kAnnouncedKey, kube::encodeDevices(announcedNames())},
      // Until it is known who has what, what an earlier agent said.
      {kube::kFullKey, holders_known_ ? kube::encodeDevices(full_.closed()) : said(kube::kFullKey)},
      {kube::kIdleKey, complaints(idle_, kube::kIdleKey)},
      {kube::kBypassKey, complaints(bypass_, kube::kBypassKey)},
      {kube::kChangesKey, results.empty() ? std::string() : kube::encode(results)}};
  for (const std::string& key : left_) all[key] = "";
  for (const auto& [key, value] : registration_) all[key] = mayCome() ? value : said(key.c_str());
  return all;
}

// Whoever is bound here for a name that the kubelet does not know is turned away for good. Before
// it knows any, what an earlier agent said, of what is served still.
std::set<std::string> DevicePluginController::served() const {
  if (!known_.empty()) return known_;
  const auto before = said_.find(kube::kServedKey);
  std::set<std::string> names;
  if (before == said_.end()) return names;
  for (const std::string& name : kube::decodeDevices(before->second))
    if (resources_.contains(name)) names.insert(name);
  return names;
}

void DevicePluginController::tell() {
  if (said_.empty()) return;
  if (!enrolling_ && said_ != wanted()) {
    enrolling_ = true;
    asio::co_spawn(loop_, enroll(), rethrow);
  }
  // Of what is in its status an agent that comes next is to know.
  const bool named = said_.at(kube::kAnnouncedKey) == wanted().at(kube::kAnnouncedKey);
  if (!announcing_ && named && !announces()) {
    announcing_ = true;
    asio::co_spawn(loop_, announce(), rethrow);
  }
}

asio::awaitable<void> DevicePluginController::enroll() {
  while (!stopped_ && said_ != wanted()) {
    std::map<std::string, std::string> wanted = this->wanted();
    const bool written = co_await annotate(std::move(wanted));
    if (written) continue;
    asio::steady_timer pause(loop_, kAgain);
    co_await pause.async_wait(kNoThrow);
  }
  enrolling_ = false;
}

asio::awaitable<bool> DevicePluginController::annotate(std::map<std::string, std::string> wanted) {
  const std::string key = registrationKey(cluster_.dialect);
  const bool registers = said_[key] != wanted.at(key);
  kube::Call call = noting(cluster_.name, said_, wanted);
  const Result<json::value> done = co_await client_->ask(std::move(call));
  if (!done) {
    warn("writing into node " + cluster_.name + ": " + done.error().message());
    co_return false;
  }
  said_ = std::move(wanted);
  if (registers)
    info("node " + cluster_.name + " is registered with " +
         std::to_string(inventory_.devices().size()) + " devices");
  co_return true;
}

// ---- the end ------------------------------------------------------------------------------------

void DevicePluginController::publishUnavailable() {
  // Nobody places on a node that says nothing.
  if (said_.empty() || said_[registrationKey(cluster_.dialect)].empty()) return;
  const auto done = std::make_shared<bool>(false);
  loop_.restart();
  asio::co_spawn(loop_, closeNode(done), rethrow);
  const auto until = std::chrono::steady_clock::now() + kLeave;
  while (!*done && std::chrono::steady_clock::now() < until) {
    if (loop_.stopped()) loop_.restart();
    loop_.run_one_for(std::chrono::milliseconds(50));
  }
  if (!*done) warn("node " + cluster_.name + " was not told that its agent ends");
}

// The next agent says anew what there is, as soon as it knows who has it.
asio::awaitable<void> DevicePluginController::closeNode(std::shared_ptr<bool> done) {
  std::vector<kube::RegisteredDevice> closed = devices_;
  for (kube::RegisteredDevice& one : closed) one.healthy = false;
  std::map<std::string, std::string> last = registrationIn(cluster_.dialect, closed, scores_, {});
  last[kube::kFullKey] = "";
  kube::Call call = noting(cluster_.name, said_, last);
  const Result<json::value> told = co_await client_->ask(std::move(call));
  if (!told) warn("writing into node " + cluster_.name + ": " + told.error().message());
  *done = true;
}

// ---- its status ---------------------------------------------------------------------------------

// With those that are to go: else nobody would know of them any more.
std::set<std::string> DevicePluginController::announcedNames() const {
  std::set<std::string> names = withdrawn_;
  for (const auto& [name, amount] : announced_) names.insert(name);
  return names;
}

// What cannot be read is not what it is to be.
void DevicePluginController::noteAnnounced(const kube::Node& node) {
  withdrawn_.clear();
  if (const auto said = node.meta.annotations.find(kube::kAnnouncedKey);
      said != node.meta.annotations.end())
    // Whoever wrote it: what the kubelet counts itself is not ours to take away.
    for (const std::string& name : kube::decodeDevices(said->second))
      if (name.find('/') != std::string::npos && !resources_.contains(name) &&
          !announced_.contains(name) && node.capacity.contains(name))
        withdrawn_.insert(name);
  announced_now_.clear();
  for (const auto& [name, value] : announced_) {
    const auto said = node.capacity.find(name);
    if (said == node.capacity.end()) continue;
    const Result<Quantity> quantity = Quantity::parse(said->second);
    if (quantity && !quantity->negative() && quantity->whole())
      announced_now_[name] = static_cast<std::uint64_t>(*quantity->whole());
  }
}

bool DevicePluginController::announces() const {
  return !mayCome() || (announced_now_ == announced_ && withdrawn_.empty());
}

// The kubelet makes what is allocatable of the capacity, a few seconds later. Who may not write it
// is told so, and less and less often.
asio::awaitable<void> DevicePluginController::announce() {
  std::chrono::seconds again = kAgain;
  while (!stopped_ && !announces()) {
    const std::map<std::string, std::uint64_t> now = announced_;
    const std::set<std::string> withdrawn = withdrawn_;
    json::object capacity;
    for (const auto& [name, value] : now) capacity[name] = std::to_string(value);
    for (const std::string& name : withdrawn) capacity[name] = nullptr;
    json::object status{{"capacity", capacity}, {"allocatable", capacity}};
    kube::Call call = patching(cluster_.name, "/status", "status", std::move(status));
    const Result<json::value> done = co_await client_->ask(std::move(call));
    if (done) {
      announced_now_ = now;
      withdrawn_.clear();
      again = kAgain;
      tell();
      continue;
    }
    warn("writing into the status of node " + cluster_.name + ": " + done.error().message() +
         (withdrawn.empty() ? "" : "; it still has " + kube::encodeDevices(withdrawn)));
    asio::steady_timer pause(loop_, again);
    co_await pause.async_wait(kNoThrow);
    again = std::min(again * 2, kSeldom);
  }
  announcing_ = false;
}

}  // namespace divvy::agent
