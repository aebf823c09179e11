// What the kubelet is told to count, and what it asks when it gives some of it away.
#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "container/injection.h"
#include "deviceplugin/device_plugin.h"
#include "os/log.h"

// GCC 12 with -O2 takes the frame of a coroutine for one that another operator new made; both are
// Asio's.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace divvy::agent {
namespace {

constexpr int kNoNuma = -1;
// As long as a kubelet is kept waiting for which units it should take.
constexpr std::chrono::milliseconds kHeard{250};
constexpr std::chrono::milliseconds kFirstLook{1};
// A kubelet that says for so long that it counts none of our units is not waited for.
constexpr std::chrono::seconds kCounted{10};
constexpr std::chrono::milliseconds kLongestLook{100};

void rethrow(std::exception_ptr fault) {
  if (fault) std::rethrow_exception(fault);
}

}  // namespace

std::vector<kubelet::Device> DevicePluginController::unitsOf(const ExtendedResource& name) const {
  std::vector<kubelet::Device> units;
  const auto withheld = withheld_.find(name.resource);
  for (const std::size_t at : name.devices) {
    const Device& device = inventory_.devices()[at];
    const bool told = cluster_.announce_numa && device.place.numa.has_value();
    const int numa = told ? static_cast<int>(*device.place.numa) : kNoNuma;
    for (kubelet::Device& unit : agent::unitsOf(device.info.uuid, numa, name.units)) {
      const unsigned index = device.info.index;
      // Who has some of a device that somebody else came to keeps it.
      const bool kept =
          taken_.contains({name.resource, unit.id}) && !tenants_.health().faulty(index);
      unit.healthy = (kept || tenants_.health().good(index)) &&
                     (withheld == withheld_.end() || !withheld->second.contains(unit.id));
      units.push_back(std::move(unit));
    }
  }
  return units;
}

void DevicePluginController::offer() {
  for (std::size_t at = 0; at < plugins_.size(); ++at)
    plugins_[at]->setDevices(unitsOf(names_[at]));
}

std::string DevicePluginController::unready() const {
  if (plugins_.size() < names_.size()) return "it looks at what is there";
  for (std::size_t at = 0; at < plugins_.size(); ++at)
    if (!plugins_[at]->settled()) return "the kubelet does not know " + names_[at].resource;
  return {};
}

Result<void> DevicePluginController::serve() {
  for (const ExtendedResource& name : names_)
    if (const Result<void> served = serveName(name); !served)
      return Error(served.error()).context(name.resource);
  return {};
}

Result<void> DevicePluginController::serveName(const ExtendedResource& name) {
  const std::string resource = name.resource;
  std::string socket = "divvy-" + resource + ".sock";
  std::replace(socket.begin(), socket.end(), '/', '_');
  kubelet::PluginHandlers questions;
  questions.allocate = [this, resource](std::vector<std::string> ids,
                                        const kubelet::Answer<kubelet::Injection>& answer) {
    const std::string tenant = tenantIdFor(std::move(ids), resource);
    bool by_cdi = false;
    kubelet::Injection given = injector_.injection(tenant, &by_cdi);
    if (by_cdi) asio::post(loop_, [this, tenant] { injector_.gaveName(tenant); });
    answer(std::move(given));
  };
  questions.start = [this, resource](std::vector<std::string> ids, kubelet::Answer<void> answer) {
    asio::post(loop_, [this, units = DeviceIds{resource, std::move(ids)},
                       answer = std::move(answer)]() mutable {
      start(std::move(units), std::move(answer));
    });
  };
  questions.prefer = [this, resource](kubelet::PreferredAllocationQuery ask,
                                      const kubelet::Answer<std::vector<std::string>>& answer) {
    prefer(resource, std::move(ask), answer);
  };
  questions.known = [this, resource] {
    asio::post(loop_, [this, resource] { nowTold(resource); });
  };
  kubelet::PluginOptions terms{
      sockets_, socket, resource,
      [this](const std::string& line) { asio::post(loop_, [line] { info(line); }); }, name.rivals};
  Result<std::unique_ptr<kubelet::DevicePlugin>> plugin =
      kubelet::DevicePlugin::begin(std::move(terms), unitsOf(name), std::move(questions));
  if (!plugin) return plugin.error();
  plugins_.push_back(std::move(*plugin));
  return {};
}

// A kubelet that begins anew hears of it again before its pods go on.
void DevicePluginController::nowTold(const std::string& resource) {
  if (known_.contains(resource)) return;
  const bool first = told_.empty();
  told_.try_emplace(resource, std::chrono::steady_clock::now() + kCounted);
  if (first) awaitCount(kFirstLook);
}

// It counts what it was told some milliseconds later, and turns away for good who comes before.
void DevicePluginController::awaitCount(std::chrono::milliseconds wait) {
  ++asked_;
  pod_resources_.count([this, wait](kubelet::PodResources::Counted now) {
    asio::post(loop_, [this, wait, now = std::move(now)] {
      --asked_;
      noteCounted(now);
      if (told_.empty() || stopped_) return;
      count_pause_.expires_after(wait);
      count_pause_.async_wait([this, wait](const error_code& fault) {
        if (!fault && !stopped_) awaitCount(std::min(2 * wait, kLongestLook));
      });
    });
  });
}

void DevicePluginController::noteCounted(const kubelet::PodResources::Counted& now) {
  const std::size_t before = known_.size();
  for (const auto& [resource, until] : told_)
    if ((now && now->contains(resource)) || offersNothing(resource) ||
        std::chrono::steady_clock::now() > until)
      known_.insert(resource);
  std::erase_if(told_, [this](const auto& told) { return known_.contains(told.first); });
  if (known_.size() != before) tell();
}

// None of its units is well: there is nothing to count.
bool DevicePluginController::offersNothing(const std::string& resource) const {
  const auto name = std::find_if(names_.begin(), names_.end(), [&](const ExtendedResource& one) {
    return one.resource == resource;
  });
  if (name == names_.end()) return true;
  const std::vector<kubelet::Device> units = unitsOf(*name);
  return std::none_of(units.begin(), units.end(), [](const auto& unit) { return unit.healthy; });
}

// On a thread of gRPC's.
void DevicePluginController::prefer(const std::string& resource,
                                    kubelet::PreferredAllocationQuery ask,
                                    const kubelet::Answer<std::vector<std::string>>& answer) {
  if (auto units = units_.assigned(resource, ask)) return answer(std::move(*units));
  asio::post(loop_, [this, resource, ask = std::move(ask), answer]() mutable {
    ++asked_;
    asio::co_spawn(loop_, preferLater(resource, std::move(ask), answer), rethrow);
  });
}

// The kubelet hears of a pod when we do, or a little before.
asio::awaitable<void> DevicePluginController::preferLater(
    std::string resource, kubelet::PreferredAllocationQuery ask,
    kubelet::Answer<std::vector<std::string>> answer) {
  const auto until = std::chrono::steady_clock::now() + kHeard;
  asio::steady_timer pause(loop_);
  std::chrono::milliseconds wait = kFirstLook;
  auto units = units_.assigned(resource, ask);
  // Who is known already, and needs others than what is required, is not helped by waiting.
  while (!units && !units_.awaits(resource, ask.count) && !stopped_ &&
         std::chrono::steady_clock::now() < until) {
    pause.expires_after(wait);
    co_await pause.async_wait(kNoThrow);
    wait *= 2;
    units = units_.assigned(resource, ask);
  }
  answer(units ? std::move(*units) : units_.otherwise(ask));
  --asked_;
}

}  // namespace divvy::agent
