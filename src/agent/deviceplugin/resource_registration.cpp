#include "deviceplugin/resource_registration.h"

#include <algorithm>
#include <utility>

#include "asio/rethrow.h"
#include "container/tenant_edits.h"
#include "log/log.h"

namespace divvy::agent {
namespace {

constexpr int kNoNuma = -1;
// How long a kubelet waits for preferred device IDs.
constexpr std::chrono::milliseconds kPreferWait{250};
constexpr std::chrono::milliseconds kFirstPause{1};
// After this time a resource is taken as counted, although the kubelet does not confirm it.
constexpr std::chrono::seconds kCountWait{10};
constexpr std::chrono::milliseconds kLongestPause{100};

}  // namespace

std::vector<kubelet::Device> ResourceRegistration::unitsOf(const ExtendedResource& resource) const {
  std::vector<kubelet::Device> units;
  for (const std::size_t at : resource.devices) {
    const Device& device = inputs_.inventory.devices()[at];
    const bool announced = inputs_.cluster.announce_numa && device.place.numa.has_value();
    const int numa = announced ? static_cast<int>(*device.place.numa) : kNoNuma;
    for (kubelet::Device& unit : agent::unitsOf(device.info.uuid, numa, resource.units)) {
      unit.healthy = inputs_.capacity.offers(resource.resource, unit.id, device.info.index);
      units.push_back(std::move(unit));
    }
  }
  return units;
}

void ResourceRegistration::offer() {
  for (std::size_t at = 0; at < plugins_.size(); ++at)
    plugins_[at]->setDevices(unitsOf(inputs_.resources[at]));
}

std::string ResourceRegistration::unready() const {
  if (plugins_.size() < inputs_.resources.size()) return "reading existing allocations";
  for (std::size_t at = 0; at < plugins_.size(); ++at)
    if (!plugins_[at]->settled())
      return "the kubelet does not know " + inputs_.resources[at].resource;
  return {};
}

void ResourceRegistration::stop() {
  for (const auto& plugin : plugins_) plugin->stop();
}

Result<void> ResourceRegistration::serve() {
  for (const ExtendedResource& resource : inputs_.resources)
    if (const Result<void> served = serveResource(resource); !served)
      return Error(served.error()).context(resource.resource);
  return {};
}

kubelet::PluginHandlers ResourceRegistration::handlersFor(const std::string& resource) {
  asio::io_context& loop = inputs_.loop;
  kubelet::PluginHandlers handlers;
  handlers.allocate = [this, &loop, resource](
                          std::vector<std::string> ids,
                          const kubelet::ReplyCallback<kubelet::Injection>& answer) {
    const std::string tenant = tenantIdFor(std::move(ids), resource);
    bool by_cdi = false;
    kubelet::Injection given = inputs_.injector.injection(tenant, &by_cdi);
    if (by_cdi) asio::post(loop, [this, tenant] { inputs_.injector.gaveName(tenant); });
    answer(std::move(given));
  };
  handlers.start = [this, &loop, resource](std::vector<std::string> ids,
                                           kubelet::ReplyCallback<void> answer) {
    asio::post(loop, [this, units = DeviceIds{resource, std::move(ids)},
                      answer = std::move(answer)]() mutable {
      inputs_.starter.start(std::move(units), std::move(answer));
    });
  };
  handlers.prefer = [this, resource](
                        kubelet::PreferredAllocationQuery ask,
                        const kubelet::ReplyCallback<std::vector<std::string>>& answer) {
    prefer(resource, std::move(ask), answer);
  };
  handlers.known = [this, &loop, resource] {
    asio::post(loop, [this, resource] { sent(resource); });
  };
  return handlers;
}

Result<void> ResourceRegistration::serveResource(const ExtendedResource& resource) {
  std::string socket = "divvy-" + resource.resource + ".sock";
  std::replace(socket.begin(), socket.end(), '/', '_');
  asio::io_context& loop = inputs_.loop;
  kubelet::PluginOptions options{
      inputs_.kubelet.dirs(), socket, resource.resource,
      [&loop](const std::string& line) { asio::post(loop, [line] { log::info(line); }); },
      resource.rivals};
  Result<std::unique_ptr<kubelet::DevicePlugin>> plugin = kubelet::DevicePlugin::begin(
      std::move(options), unitsOf(resource), handlersFor(resource.resource));
  if (!plugin) return plugin.error();
  plugins_.push_back(std::move(*plugin));
  return {};
}

// A restarted kubelet receives the resource again, before its pods go on.
void ResourceRegistration::sent(const std::string& resource) {
  if (counted_.contains(resource)) return;
  const bool first = sent_.empty();
  sent_.try_emplace(resource, Clock::now() + kCountWait);
  if (first) awaitCount(kFirstPause);
}

void ResourceRegistration::awaitCount(std::chrono::milliseconds wait) {
  inputs_.kubelet.count([this, wait](const KubeletAllocations::Counted& now) {
    onDevicesCounted(now);
    if (sent_.empty() || inputs_.shutdown.begun()) return;
    count_pause_.expires_after(wait);
    count_pause_.async_wait([this, wait](const error_code& fault) {
      if (!fault && !inputs_.shutdown.begun()) awaitCount(std::min(2 * wait, kLongestPause));
    });
  });
}

void ResourceRegistration::onDevicesCounted(const KubeletAllocations::Counted& now) {
  const std::size_t before = counted_.size();
  for (const auto& [resource, until] : sent_)
    if ((now && now->contains(resource)) || offersNothing(resource) || Clock::now() > until)
      counted_.insert(resource);
  std::erase_if(sent_, [this](const auto& one) { return counted_.contains(one.first); });
  if (counted_.size() != before) inputs_.node.publish();
}

// The kubelet counts healthy device IDs only.
bool ResourceRegistration::offersNothing(const std::string& resource) const {
  const auto found =
      std::find_if(inputs_.resources.begin(), inputs_.resources.end(),
                   [&](const ExtendedResource& one) { return one.resource == resource; });
  if (found == inputs_.resources.end()) return true;
  const std::vector<kubelet::Device> units = unitsOf(*found);
  return std::none_of(units.begin(), units.end(), [](const auto& unit) { return unit.healthy; });
}

void ResourceRegistration::prefer(const std::string& resource,
                                  kubelet::PreferredAllocationQuery ask,
                                  const kubelet::ReplyCallback<std::vector<std::string>>& answer) {
  if (auto units = inputs_.preferred.assigned(resource, ask)) return answer(std::move(*units));
  asio::post(inputs_.loop, [this, resource, ask = std::move(ask), answer]() mutable {
    inputs_.shutdown.requestStarted();
    asio::co_spawn(inputs_.loop, preferLater(resource, std::move(ask), answer), rethrow);
  });
}

// The kubelet learns of a pod with the agent, or a little before.
asio::awaitable<void> ResourceRegistration::preferLater(
    std::string resource, kubelet::PreferredAllocationQuery ask,
    kubelet::ReplyCallback<std::vector<std::string>> answer) {
  PreferredAllocation& preferred = inputs_.preferred;
  const auto until = Clock::now() + kPreferWait;
  asio::steady_timer pause(inputs_.loop);
  std::chrono::milliseconds wait = kFirstPause;
  auto units = preferred.assigned(resource, ask);
  // If the pod is known and needs other IDs than the required ones, waiting does not help.
  while (!units && !preferred.awaits(resource, ask.count) && !inputs_.shutdown.begun() &&
         Clock::now() < until) {
    pause.expires_after(wait);
    co_await pause.async_wait(kNoThrow);
    wait *= 2;
    units = preferred.assigned(resource, ask);
  }
  answer(units ? std::move(*units) : preferred.otherwise(ask));
  inputs_.shutdown.requestEnded();
}

}  // namespace divvy::agent
