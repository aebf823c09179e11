#include "deviceplugin/container_injector.h"

#include <utility>

#include "container/cdi_spec.h"
#include "container/cdi_support.h"
#include "container/driver_cdi_spec.h"
#include "container/tenant_edits.h"
#include "log/log.h"

namespace divvy::agent {
namespace {

constexpr const char* kStaticCdi = "/etc/cdi";
// A toolkit may come, or a driver be replaced, after us. Looks are a second apart.
constexpr unsigned kWeighAgain = 60;

std::string deviceOf(const std::string& tenant) {
  return std::string(kPodCdiKind) + "=" + tenant;
}

DeviceId nameOf(const Device& device) {
  return {device.info.uuid, device.info.index, device.info.part};
}

}  // namespace

ContainerInjector::ContainerInjector(const ClusterNode& cluster, const Node& node,
                                     const NodePaths& paths, const InstallLayout& install,
                                     const Inventory& inventory,
                                     std::shared_ptr<helper::Client> link)
    : wanted_(cluster.injecting),
      node_(node),
      paths_(paths),
      install_(install),
      inventory_(inventory),
      visible_(visibleIn(inventory.devices())),
      folder_(cluster.cdi_dir, std::move(link)) {}

Result<void> ContainerInjector::open() {
  if (folder_.dir().empty()) return {};
  // Also with mounts: pods that got a CDI name earlier need the specification of that name.
  const Result<void> opened = folder_.open();
  if (!opened && wanted_ == InjectionMode::kCdi) return Error(opened.error()).context("--cdi-dir");
  if (!opened && wanted_ == InjectionMode::kAuto)
    log::info("containers get their share by mounts", {{"reason", opened.error().message()}});
  if (wanted_ == InjectionMode::kCdi) decide(true, "--injection cdi");
  return {};
}

kubelet::Injection ContainerInjector::injection(const std::string& tenant, bool* by_cdi) const {
  *by_cdi = by_cdi_;
  if (!*by_cdi) return injectionFor(tenant, node_, paths_, install_, visible_);
  kubelet::Injection given;
  given.cdi_devices.push_back(deviceOf(tenant));
  return given;
}

void ContainerInjector::onNodeUpdate(const std::string& runtime, const std::string& kubelet) {
  if (runtime.empty() || runtime == runtime_) return;
  // Another one has to show it again.
  proven_ = ignores_ = false;
  runtime_ = runtime;
  kubelet_ = kubelet;
  weigh();
}

void ContainerInjector::weigh() {
  looks_ = 0;
  if (wanted_ != InjectionMode::kAuto || !folder_.isOpen() || runtime_.empty() || ignores_) return;
  std::string why = whyNoCdi(runtime_, kubelet_);
  if (why.empty() && !node_.simulated()) why = whyNoDriverSpec();
  if (why_ == why) return;
  decide(why.empty(), why.empty() ? runtime_ + " reads it" : why);
  why_ = std::move(why);
}

std::string ContainerInjector::whyNoDriverSpec() const {
  const Result<std::string> driver = findDriverSpec({kStaticCdi, folder_.dir()});
  if (!driver) return driver.error().message();
  std::vector<DeviceId> cards;
  for (const Device& device : inventory_.devices()) cards.push_back(nameOf(device));
  return whyNotBy(*driver, cards, inventory_.driverVersion());
}

void ContainerInjector::decide(bool by_cdi, const std::string& why) {
  by_cdi_ = by_cdi;
  log::info(by_cdi ? "containers get their share by CDI" : "containers get their share by mounts",
            {{"reason", why}});
}

Result<std::string> ContainerInjector::specOf(const Tenant& tenant) const {
  const ContainerEdits ours = editsFor({tenant.dir, true}, node_, paths_, install_);
  if (node_.simulated()) return cdiSpec(kPodCdiKind, tenant.record.id, ours);
  // A toolkit must add nothing by itself: the driver's CDI entries of these cards are used.
  ContainerEdits edits = ours;
  edits.environment["NVIDIA_VISIBLE_DEVICES"] = "void";
  const Result<std::string> driver = findDriverSpec({kStaticCdi, folder_.dir()});
  if (!driver) return driver.error();
  std::vector<DeviceId> cards;
  for (const Device& device : inventory_.devices())
    for (const ShareRecord& share : tenant.record.shares)
      if (share.uuid == device.info.uuid) cards.push_back(nameOf(device));
  return withDriver(cdiSpec(kPodCdiKind, tenant.record.id, edits), *driver, cards);
}

Result<void> ContainerInjector::prepare(Tenant& tenant) {
  const auto given = unproven_.find(tenant.record.id);
  const bool named = given != unproven_.end() || by_cdi_;
  // The earlier container of these devices was seen to run, not this one.
  if (given != unproven_.end()) given->second = false;
  if (named && !refusal_.empty()) return Error{ErrorCode::kUnavailable, refusal_};
  if (!folder_.isOpen()) return {};
  const Result<std::string> spec = specOf(tenant);
  Result<void> written = spec ? folder_.write(tenant.record.id, *spec) : spec.error();
  if (written) {
    // The record names the file: an agent that removes the tenant removes the file with it.
    tenant.record.cdi_file = folder_.fileOf(tenant.record.id);
    written = saveRecord(tenant.dir, tenant.record);
  }
  // The next container must not get a name without a specification.
  if (!written) weigh();
  if (written || named) return written;
  // No container got its name, as far as the agent knows.
  log::warn("cannot write the CDI spec of a tenant",
            {{"tenant", tenant.record.id}, {"error", written.error().message()}});
  return {};
}

void ContainerInjector::runs(const std::string& tenant) {
  const auto known = unproven_.find(tenant);
  if (known != unproven_.end()) known->second = true;
}

void ContainerInjector::poll(const std::set<std::string>& living) {
  if (folder_.isOpen()) folder_.keepOnly(living);
  if (!node_.simulated() && ++looks_ >= kWeighAgain) weigh();
  for (auto at = unproven_.begin(); at != unproven_.end();) {
    const auto& [tenant, runs] = *at;
    // It is read before the container is made, and that is before it runs.
    const bool read = !proven_ && folder_.wasRead(tenant);
    if (read && runs) log::info("the runtime read the CDI spec of a tenant", {{"tenant", tenant}});
    proven_ = proven_ || (read && runs);
    if (!proven_ && runs) ignored(tenant);
    at = runs ? unproven_.erase(at) : std::next(at);
  }
}

void ContainerInjector::ignored(const std::string& tenant) {
  const std::string what = "the container of tenant " + tenant + " runs, and no runtime has read " +
                           folder_.fileOf(tenant) + ": the runtime (" +
                           (runtime_.empty() ? "unknown" : runtime_) +
                           ") ignores CDI, and passed nothing of its share";
  log::warn("the runtime ignores CDI, and passed nothing of its share to a container",
            {{"tenant", tenant}, {"file", folder_.fileOf(tenant)}, {"runtime", runtime_}});
  if (wanted_ == InjectionMode::kAuto) {
    ignores_ = true;
    why_ = what;
    return decide(false, what);
  }
  refusal_ = what + "; set --injection auto or mounts";
}

}  // namespace divvy::agent
