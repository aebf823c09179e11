#include "fake_device_manager.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "checkpoint_checksum.h"
#include "fake_kubelet.h"
#include "podresources_v1.grpc.pb.h"

namespace divvy::test {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::chrono::seconds kBound{20};
constexpr std::chrono::milliseconds kAgain{10};

struct Living {
  PodAsk ask;
  std::map<std::string, Allocated> given;  // by container
  bool over = false;
};

}  // namespace

std::string Allocated::mounted(const std::string& inside) const {
  for (const v1beta1::Mount& mount : response.mounts())
    if (mount.container_path() == inside) return mount.host_path();
  return "";
}

class FakeDeviceManager::PodResources final : public v1::PodResourcesLister::Service {
 public:
  explicit PodResources(std::string name) : resource(std::move(name)) {
    kubelet.begin();
    fs::create_directory(kubelet.root() + "/pod-resources");
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + kubelet.root() + "/pod-resources/kubelet.sock",
                             grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server = builder.BuildAndStart();
    writeCheckpoint();
  }

  ~PodResources() override {
    {
      const std::lock_guard<std::mutex> hold(mutex);
      over = true;
      changed.notify_all();
      if (context) context->TryCancel();
    }
    if (watcher.joinable()) watcher.join();
    server->Shutdown(std::chrono::system_clock::now());
  }

  // Init containers are not told of: they are over when anybody could ask.
  grpc::Status List(grpc::ServerContext*, const v1::ListPodResourcesRequest*,
                    v1::ListPodResourcesResponse* response) override {
    const std::lock_guard<std::mutex> hold(mutex);
    if (hidden) return {grpc::StatusCode::UNAVAILABLE, "not now"};
    for (const auto& [uid, living] : pods) {
      if (living.over) continue;
      v1::PodResources* pod = response->add_pod_resources();
      pod->set_name(living.ask.name);
      pod->set_namespace_(living.ask.namespace_name);
      for (const ContainerAsk& one : living.ask.containers) {
        if (one.init) continue;
        v1::ContainerResources* container = pod->add_containers();
        container->set_name(one.name);
        const auto given = living.given.find(one.name);
        if (given == living.given.end()) continue;
        v1::ContainerDevices* devices = container->add_devices();
        devices->set_resource_name(resource);
        for (const std::string& id : given->second.ids) devices->add_device_ids(id);
      }
    }
    return grpc::Status::OK;
  }

  grpc::Status GetAllocatableResources(grpc::ServerContext*, const v1::AllocatableResourcesRequest*,
                                       v1::AllocatableResourcesResponse* response) override {
    const std::lock_guard<std::mutex> hold(mutex);
    if (hidden) return {grpc::StatusCode::UNAVAILABLE, "not now"};
    ++counts_asked;
    if (late || well.empty()) return grpc::Status::OK;
    v1::ContainerDevices* devices = response->add_devices();
    devices->set_resource_name(resource);
    for (const std::string& id : well) devices->add_device_ids(id);
    return grpc::Status::OK;
  }

  void watch() {
    stub = kubelet.plugin();
    options = kubelet.registration(1).options();
    context = std::make_unique<grpc::ClientContext>();
    watcher = std::thread([this] {
      while (watchOnce()) {
      }
    });
  }

  // Until the plugin ends; false: we do.
  bool watchOnce() {
    std::unique_lock<std::mutex> hold(mutex);
    if (over) return false;
    context = std::make_unique<grpc::ClientContext>();
    hold.unlock();
    const auto reader = stub->ListAndWatch(context.get(), v1beta1::Empty());
    v1beta1::ListAndWatchResponse said;
    while (reader->Read(&said)) {
      const std::lock_guard<std::mutex> heard(mutex);
      well.clear();
      for (const v1beta1::Device& device : said.devices())
        if (device.health() == "Healthy") well.insert(device.id());
      changed.notify_all();
    }
    hold.lock();
    well.clear();
    changed.notify_all();
    return !changed.wait_for(hold, kAgain, [this] { return over; });
  }

  std::set<std::string> taken() const {
    std::set<std::string> all;
    for (const auto& [uid, living] : pods)
      for (const auto& [name, given] : living.given) all.insert(given.ids.begin(), given.ids.end());
    return all;
  }

  std::vector<std::string> available() const {
    const std::set<std::string> held = taken();
    std::vector<std::string> ids;
    std::set_difference(well.begin(), well.end(), held.begin(), held.end(),
                        std::back_inserter(ids));
    return ids;
  }

  // `had`: what init containers of this pod have, first.
  bool allocate(const ContainerAsk& one, const std::set<std::string>& had, bool heeds, Rng* rng,
                Allocated* given) {
    std::vector<std::string> chosen, others;
    {
      const std::lock_guard<std::mutex> hold(mutex);
      for (const std::string& id : had)
        if (chosen.size() < one.devices) chosen.push_back(id);
      others = available();
    }
    if (chosen.size() + others.size() < one.devices) return false;
    rng->shuffle(others);
    std::vector<std::string> preferred = others;
    if (options.get_preferred_allocation_available() && chosen.size() < one.devices) {
      if (!prefer(one.devices, chosen, &preferred)) return false;
      if (heeds) others = std::move(preferred);
    }
    for (const std::string& id : others)
      if (chosen.size() < one.devices) chosen.push_back(id);
    std::sort(chosen.begin(), chosen.end());
    v1beta1::AllocateRequest request;
    for (const std::string& id : chosen)
      (request.container_requests_size() > 0 ? request.mutable_container_requests(0)
                                             : request.add_container_requests())
          ->add_devices_ids(id);
    v1beta1::AllocateResponse response;
    grpc::ClientContext call;
    if (!stub->Allocate(&call, request, &response).ok()) return false;
    *given = {std::move(chosen), response.container_responses(0)};
    return true;
  }

  bool prefer(unsigned count, const std::vector<std::string>& must,
              std::vector<std::string>* others) {
    v1beta1::PreferredAllocationRequest request;
    auto* ask = request.add_container_requests();
    ask->set_allocation_size(static_cast<int>(count));
    for (const std::string& id : must) {
      ask->add_must_include_deviceids(id);
      ask->add_available_deviceids(id);
    }
    for (const std::string& id : *others) ask->add_available_deviceids(id);
    v1beta1::PreferredAllocationResponse response;
    grpc::ClientContext call;
    if (!stub->GetPreferredAllocation(&call, request, &response).ok()) return false;
    const auto& preferred = response.container_responses(0).deviceids();
    std::stable_partition(others->begin(), others->end(), [&](const std::string& id) {
      return std::find(preferred.begin(), preferred.end(), id) != preferred.end();
    });
    return true;
  }

  void writeCheckpoint() {
    json::array entries;
    for (const auto& [uid, living] : pods) {
      for (const auto& [name, given] : living.given) {
        json::array ids(given.ids.begin(), given.ids.end());
        entries.push_back(json::object{{"PodUID", uid},
                                       {"ContainerName", name},
                                       {"ResourceName", resource},
                                       {"DeviceIDs", {{"-1", std::move(ids)}}},
                                       {"AllocResp", ""}});
      }
    }
    const json::value data{{"PodDeviceEntries", std::move(entries)},
                           {"RegisteredDevices", json::object()}};
    const json::object whole{{"Data", data}, {"Checksum", *kubelet::checksumOf(data)}};
    const std::string path = kubelet.folder() + "/kubelet_internal_checkpoint";
    if (spoil) {
      fs::remove(path);
      return spoil(path, json::serialize(whole));
    }
    std::ofstream(path + ".new") << json::serialize(whole);
    fs::rename(path + ".new", path);
  }

  const std::string resource;
  kubelet::testing::FakeKubelet kubelet;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<v1beta1::DevicePlugin::Stub> stub;
  std::unique_ptr<grpc::ClientContext> context;
  v1beta1::DevicePluginOptions options;
  std::thread watcher;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::set<std::string> well;
  std::map<std::string, Living> pods;  // by UID
  Spoil spoil;
  bool hidden = false;
  bool late = false;
  unsigned counts_asked = 0;
  bool over = false;
};

FakeDeviceManager::FakeDeviceManager(std::string resource)
    : inside_(std::make_unique<PodResources>(std::move(resource))) {}
FakeDeviceManager::~FakeDeviceManager() = default;

const std::string& FakeDeviceManager::root() const {
  return inside_->kubelet.root();
}

bool FakeDeviceManager::offered(std::size_t units) {
  if (inside_->kubelet.registration(1).endpoint().empty()) return false;
  if (!inside_->stub) inside_->watch();
  std::unique_lock<std::mutex> hold(inside_->mutex);
  return inside_->changed.wait_for(hold, kBound, [&] { return inside_->well.size() == units; });
}

bool FakeDeviceManager::lost() {
  std::unique_lock<std::mutex> hold(inside_->mutex);
  return inside_->changed.wait_for(hold, kBound, [&] { return inside_->well.empty(); });
}

std::vector<std::string> FakeDeviceManager::cards() const {
  const std::lock_guard<std::mutex> hold(inside_->mutex);
  std::set<std::string> cards;
  for (const std::string& id : inside_->well) cards.insert(id.substr(0, id.find("::")));
  return {cards.begin(), cards.end()};
}

bool FakeDeviceManager::admit(const PodAsk& pod, bool heeds, Rng* rng) {
  {
    // Of who is over units are taken back when the next one comes.
    const std::lock_guard<std::mutex> hold(inside_->mutex);
    std::erase_if(inside_->pods, [](const auto& one) { return one.second.over; });
    inside_->pods[pod.uid].ask = pod;
  }
  std::set<std::string> reusable;
  for (const ContainerAsk& one : pod.containers) {
    if (one.devices == 0) continue;
    Allocated given;
    const bool done = inside_->allocate(one, reusable, heeds, rng, &given);
    const std::lock_guard<std::mutex> hold(inside_->mutex);
    if (!done) {
      inside_->pods.erase(pod.uid);
      inside_->writeCheckpoint();
      return false;
    }
    for (const std::string& id : given.ids) {
      if (one.init)
        reusable.insert(id);
      else
        reusable.erase(id);
    }
    inside_->pods.at(pod.uid).given[one.name] = std::move(given);
    inside_->writeCheckpoint();
  }
  return true;
}

Allocated FakeDeviceManager::of(const std::string& uid, const std::string& container) const {
  const std::lock_guard<std::mutex> hold(inside_->mutex);
  return inside_->pods.at(uid).given.at(container);
}

grpc::Status FakeDeviceManager::prepare(const std::string& uid, const std::string& container) {
  if (!inside_->options.pre_start_required()) return grpc::Status::OK;
  v1beta1::PreStartContainerRequest request;
  for (const std::string& id : of(uid, container).ids) request.add_devices_ids(id);
  v1beta1::PreStartContainerResponse response;
  grpc::ClientContext call;
  return inside_->stub->PreStartContainer(&call, request, &response);
}

void FakeDeviceManager::end(const std::string& uid) {
  const std::lock_guard<std::mutex> hold(inside_->mutex);
  inside_->pods.at(uid).over = true;
}

void FakeDeviceManager::gaveBefore(const PodAsk& pod, const std::vector<std::string>& ids) {
  const std::lock_guard<std::mutex> hold(inside_->mutex);
  inside_->pods[pod.uid].ask = pod;
  inside_->pods[pod.uid].given[pod.containers.front().name].ids = ids;
  inside_->writeCheckpoint();
}

void FakeDeviceManager::spoilCheckpoint(Spoil spoil) {
  const std::lock_guard<std::mutex> hold(inside_->mutex);
  // A folder in its place is in a file's way.
  fs::remove(inside_->kubelet.folder() + "/kubelet_internal_checkpoint");
  inside_->spoil = std::move(spoil);
  inside_->writeCheckpoint();
}

void FakeDeviceManager::hidePods(bool hidden) {
  const std::lock_guard<std::mutex> hold(inside_->mutex);
  inside_->hidden = hidden;
}

void FakeDeviceManager::countLate(bool late) {
  const std::lock_guard<std::mutex> hold(inside_->mutex);
  inside_->late = late;
}

unsigned FakeDeviceManager::countsAsked() const {
  const std::lock_guard<std::mutex> hold(inside_->mutex);
  return inside_->counts_asked;
}

}  // namespace divvy::test
