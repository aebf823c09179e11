// What the kubelet is told to count, and what it asks when it gives some of it away.
#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "injection.h"
#include "kube/full_devices.h"
#include "kubelet_desk.h"
#include "log.h"
#include "pod_share.h"

// GCC 12 with -O2 takes the frame of a coroutine for one that another operator new made; both are
// Asio's.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace divvy::agent {
namespace {

constexpr int kNoNuma = -1;
// As long as a kubelet is kept waiting for which units it should take.
constexpr std::chrono::milliseconds kHeard{250};
constexpr std::chrono::milliseconds kLook{25};

void rethrow(std::exception_ptr fault) {
  if (fault) std::rethrow_exception(fault);
}

}  // namespace

std::vector<kubelet::Device> KubeletDesk::unitsOf(const CountedName& name) const {
  std::vector<kubelet::Device> units;
  for (const std::size_t at : name.devices) {
    const Device& device = inventory_.devices()[at];
    const bool told = cluster_.announce_numa && device.place.numa.has_value();
    const int numa = told ? static_cast<int>(*device.place.numa) : kNoNuma;
    for (kubelet::Device& unit : agent::unitsOf(device.info.uuid, numa, name.units)) {
      unit.healthy = tenants_.health().good(device.info.index) &&
                     !withheld(device.info.uuid, {name.resource, {unit.id}});
      units.push_back(std::move(unit));
    }
  }
  return units;
}

// Pods keep theirs: a kubelet that begins anew turns those away whose units are not well.
bool KubeletDesk::withheld(const std::string& uuid, const Units& unit) const {
  if (!taken_ || !full_.withdrawn().contains(uuid)) return false;
  const auto taken = taken_->find(unit.resource);
  return taken == taken_->end() || !taken->second.contains(unit.ids.front());
}

void KubeletDesk::offer() {
  for (std::size_t at = 0; at < plugins_.size(); ++at)
    plugins_[at]->setDevices(unitsOf(names_[at]));
}

// ---- what is full -------------------------------------------------------------------------------

// All is promised, or as many have a share as may: by what tenants were given, which costs nothing
// to look at.
std::set<std::string> KubeletDesk::fullNow() const {
  std::map<std::string, std::pair<Bytes, unsigned>> given;  // by UUID: memory, and to how many
  for (const auto& [id, tenant] : tenants_.all()) {
    for (const ShareRecord& share : tenant->record.shares) {
      auto& [memory, count] = given[share.uuid];
      memory = memory + share.reserve;
      ++count;
    }
  }
  std::set<std::string> full;
  const std::vector<DeviceTerms>& terms = tenants_.memory().devices;
  for (std::size_t at = 0; at < inventory_.devices().size(); ++at) {
    const Device& device = inventory_.devices()[at];
    const Bytes offered = offeredBy(device, terms.at(at).overcommit_permille);
    const auto& [memory, count] = given[device.info.uuid];
    if (memory + mib(1) > offered || count >= cluster_.per_device) full.insert(device.info.uuid);
  }
  return full;
}

// Of pods that are over it notes some for a while longer.
void KubeletDesk::noteTaken() {
  taken_.reset();
  const auto noted = kubelet::readCheckpoint(*sockets_);
  if (!noted) return warn(noted.error().message());
  taken_.emplace();
  for (const kubelet::NotedDevices& one : *noted)
    if (living_.contains(one.uid)) (*taken_)[one.resource].insert(one.ids.begin(), one.ids.end());
}

void KubeletDesk::noteFull() {
  // By one name the kubelet counts itself what it has given.
  if (names_.size() < 2 || said_.empty() || !pods_known_) return;
  const std::set<std::string> before = full_.withdrawn();
  if (!full_.look(fullNow(), kube::decodeFull(said_[kube::kFullKey]), nowMs())) return;
  if (full_.withdrawn() != before) {
    noteTaken();
    offer();
  }
  tell();
}

// ---- what it asks -------------------------------------------------------------------------------

// From any thread.
std::string KubeletDesk::tenantOf(const Units& units) const {
  const auto name = std::find_if(names_.begin(), names_.end(), [&](const CountedName& one) {
    return one.resource == units.resource;
  });
  return tenantIdFor(units.ids, name == names_.end() ? units.resource : name->salt());
}

Result<void> KubeletDesk::serve() {
  for (const CountedName& name : names_)
    if (const Result<void> served = serveName(name); !served)
      return Error(served.error()).context(name.resource);
  return {};
}

Result<void> KubeletDesk::serveName(const CountedName& name) {
  const std::string resource = name.resource;
  std::string socket = "divvy-" + resource + ".sock";
  std::replace(socket.begin(), socket.end(), '/', '_');
  kubelet::Questions questions;
  questions.allocate = [this, resource](std::vector<std::string> ids,
                                        const kubelet::Answer<kubelet::Injection>& answer) {
    const std::string tenant = tenantOf({resource, std::move(ids)});
    bool by_cdi = false;
    kubelet::Injection given = injector_.injection(tenant, &by_cdi);
    if (by_cdi) asio::post(loop_, [this, tenant] { injector_.gaveName(tenant); });
    answer(std::move(given));
  };
  questions.start = [this, resource](std::vector<std::string> ids, kubelet::Answer<void> answer) {
    asio::post(loop_, [this, units = Units{resource, std::move(ids)},
                       answer = std::move(answer)]() mutable {
      start(std::move(units), std::move(answer));
    });
  };
  questions.prefer = [this, resource](kubelet::UnitsAsk ask,
                                      const kubelet::Answer<std::vector<std::string>>& answer) {
    prefer(resource, std::move(ask), answer);
  };
  kubelet::PluginTerms terms{
      sockets_, socket, resource,
      [this](const std::string& line) { asio::post(loop_, [line] { info(line); }); }, name.rivals};
  Result<std::unique_ptr<kubelet::DevicePlugin>> plugin =
      kubelet::DevicePlugin::begin(std::move(terms), unitsOf(name), std::move(questions));
  if (!plugin) return plugin.error();
  plugins_.push_back(std::move(*plugin));
  return {};
}

// On a thread of gRPC's.
void KubeletDesk::prefer(const std::string& resource, kubelet::UnitsAsk ask,
                         const kubelet::Answer<std::vector<std::string>>& answer) {
  if (auto units = units_.assigned(resource, ask)) return answer(std::move(*units));
  asio::post(loop_, [this, resource, ask = std::move(ask), answer]() mutable {
    ++asked_;
    asio::co_spawn(loop_, preferLater(resource, std::move(ask), answer), rethrow);
  });
}

// The kubelet hears of a pod when we do, or a little before.
asio::awaitable<void> KubeletDesk::preferLater(std::string resource, kubelet::UnitsAsk ask,
                                               kubelet::Answer<std::vector<std::string>> answer) {
  const auto until = std::chrono::steady_clock::now() + kHeard;
  asio::steady_timer pause(loop_);
  auto units = units_.assigned(resource, ask);
  while (!units && !stopped_ && std::chrono::steady_clock::now() < until) {
    pause.expires_after(kLook);
    co_await pause.async_wait(kNoThrow);
    units = units_.assigned(resource, ask);
  }
  answer(units ? std::move(*units) : units_.otherwise(ask));
  --asked_;
}

}  // namespace divvy::agent
