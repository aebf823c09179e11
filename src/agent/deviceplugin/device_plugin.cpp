#include "deviceplugin/device_plugin.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "pods/pod_tenants.h"

namespace divvy::agent {

DevicePluginController::Setup::Setup(DevicePluginInputs given)
    : inputs(std::move(given)),
      resources(countedNames(inputs.cluster, inputs.inventory.devices())),
      resource_names(resourcesOf(resources)) {}

DevicePluginController::Connections::Connections(const Setup& setup)
    : api(setup.inputs.loop, setup.inputs.cluster, shutdown),
      kubelet(setup.inputs.loop, setup.inputs.access.sockets, shutdown) {}

DevicePluginController::DevicePluginController(DevicePluginInputs inputs)
    : setup_(std::move(inputs)),
      connections_(setup_),
      injector_(setup_.inputs.cluster, setup_.inputs.node, setup_.inputs.paths,
                setup_.inputs.install, setup_.inputs.inventory, setup_.inputs.access.link),
      preferred_(setup_.inputs.inventory.scores()),
      publisher_(publisherInputs()),
      pods_(trackerInputs()),
      resizer_(setup_.inputs.tenants, setup_.inputs.inventory, setup_.inputs.cluster.name),
      capacity_({.cluster = setup_.inputs.cluster,
                 .resources = setup_.resources,
                 .inventory = setup_.inputs.inventory,
                 .tenants = setup_.inputs.tenants,
                 .pods = pods_,
                 .node = publisher_,
                 .kubelet = connections_.kubelet}),
      evictions_(setup_.inputs.tenants, setup_.inputs.bypass, pods_, publisher_),
      starter_(starterInputs()),
      foreign_({.inventory = setup_.inputs.inventory,
                .resources = setup_.resource_names,
                .tenants = setup_.inputs.tenants,
                .pods = pods_,
                .kubelet = connections_.kubelet,
                .shutdown = connections_.shutdown,
                .changed = [this] { healthChanged(); }}),
      registration_(registrationInputs()) {}

NodePublisher::Inputs DevicePluginController::publisherInputs() {
  return {
      .loop = setup_.inputs.loop,
      .cluster = setup_.inputs.cluster,
      .resources = setup_.resource_names,
      .inventory = setup_.inputs.inventory,
      .tenants = setup_.inputs.tenants,
      .api = connections_.api,
      .shutdown = connections_.shutdown,
      .state = [this] { return publishedState(); },
      .versions = [this](const std::string& runtime,
                         const std::string& kubelet) { injector_.onNodeUpdate(runtime, kubelet); }};
}

PodTracker::Inputs DevicePluginController::trackerInputs() {
  return {.loop = setup_.inputs.loop,
          .cluster = setup_.inputs.cluster,
          .devices = publisher_.devices(),
          .tenants = setup_.inputs.tenants,
          .api = connections_.api,
          .shutdown = connections_.shutdown,
          .changed = [this](const kube::Pod& pod,
                            const boost::json::value& object) { podChanged(pod, object); },
          .ended = [this](const std::string& uid) { podEnded(uid); },
          .synced = [this] { foreign_.poll(); }};
}

ContainerStarter::Inputs DevicePluginController::starterInputs() {
  return {.loop = setup_.inputs.loop,
          .cluster = setup_.inputs.cluster,
          .resources = setup_.resource_names,
          .devices = publisher_.devices(),
          .inventory = setup_.inputs.inventory,
          .tenants = setup_.inputs.tenants,
          .pods = pods_,
          .api = connections_.api,
          .kubelet = connections_.kubelet,
          .injector = injector_,
          .preferred = preferred_,
          .shutdown = connections_.shutdown};
}

ResourceRegistration::Inputs DevicePluginController::registrationInputs() {
  return {.loop = setup_.inputs.loop,
          .cluster = setup_.inputs.cluster,
          .resources = setup_.resources,
          .inventory = setup_.inputs.inventory,
          .capacity = capacity_,
          .node = publisher_,
          .starter = starter_,
          .injector = injector_,
          .preferred = preferred_,
          .kubelet = connections_.kubelet,
          .shutdown = connections_.shutdown};
}

Result<void> DevicePluginController::begin() {
  Result<void> good = connections_.api.open();
  if (!good) return good;
  publisher_.describeDevices(pods_.assigned());
  good = setup_.inputs.container_registration.open();
  if (good) good = injector_.open();
  if (good) good = registration_.serve();
  if (!good) return good;
  publisher_.follow();
  pods_.follow();
  return {};
}

void DevicePluginController::healthChanged() {
  publisher_.describeDevices(pods_.assigned());
  capacity_.updateWithheld();
  registration_.offer();
  publisher_.publish();
}

void DevicePluginController::tick() {
  evictions_.update();
  TenantManager& tenants = setup_.inputs.tenants;
  if (tenants.healthMonitor().setUnmanagedUse(setup_.inputs.bypass.occupants())) healthChanged();
  std::set<std::string> living;
  for (const auto& [id, tenant] : tenants.all()) living.insert(id);
  injector_.poll(living);
  updateFull();
  foreign_.tick();
}

void DevicePluginController::end() {
  if (!registration_.serving()) return;
  connections_.shutdown.begin();
  publisher_.publishUnavailable();
  std::atomic<bool> stopped = false;
  std::thread stopper([&] {
    registration_.stop();
    stopped = true;
  });
  asio::io_context& loop = setup_.inputs.loop;
  loop.restart();
  // Without work the loop returns at once, and requests may still come.
  const auto work = asio::make_work_guard(loop);
  while (!stopped || !connections_.shutdown.idle()) {
    if (loop.stopped()) loop.restart();  // a second signal may stop it again
    loop.run_one_for(std::chrono::milliseconds(50));
  }
  stopper.join();
}

PublishedState DevicePluginController::publishedState() const {
  return {.counted = registration_.counted(),
          .holders_known = foreign_.known(),
          .full = capacity_.full(),
          .idle = evictions_.idle(),
          .bypass = evictions_.bypass(),
          .resizes = resizer_.results()};
}

void DevicePluginController::podChanged(const kube::Pod& pod, const boost::json::value& object) {
  starter_.expect(pod);
  resizer_.onPodUpdate(pod);
  evictions_.podChanged(pod);
  starter_.podChanged(pod, object);
  publisher_.setAssignedPods(pods_.assigned());
  publisher_.publish();
}

void DevicePluginController::podEnded(const std::string& uid) {
  evictions_.podEnded(uid);
  starter_.podEnded(uid);
  resizer_.forget(uid);
  publisher_.setAssignedPods(pods_.assigned());
  publisher_.publish();
  endTenantsOfPod(setup_.inputs.tenants, uid);
  updateFull();
}

void DevicePluginController::updateFull() {
  const CapacityPublisher::Change change = capacity_.updateFull();
  if (change == CapacityPublisher::Change::kNone) return;
  if (change == CapacityPublisher::Change::kWithheld) registration_.offer();
  publisher_.publish();
}

}  // namespace divvy::agent
