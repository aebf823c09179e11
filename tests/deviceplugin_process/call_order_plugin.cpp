#include "call_order_plugin.h"

#include <stdlib.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>

#include "ledger/tenant_ledger.h"

namespace divvy::test {
namespace {

namespace fs = std::filesystem;
constexpr const char* kSocket = "by-order.sock";

}  // namespace

class CallOrderPlugin::Plugin final : public v1beta1::DevicePlugin::Service {
 public:
  Plugin(const std::string& kubelet_root, const std::vector<std::string>& cards, unsigned each)
      : cards_(cards), each_(each) {
    std::string pattern = "/dev/shm/by-order-XXXXXX";
    root_ = mkdtemp(pattern.data());
    const std::string folder = kubelet_root + "/device-plugins/";
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + folder + kSocket, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    const auto kubelet = v1beta1::Registration::NewStub(
        grpc::CreateChannel("unix:" + folder + "kubelet.sock", grpc::InsecureChannelCredentials()));
    v1beta1::RegisterRequest request;
    request.set_version("v1beta1");
    request.set_endpoint(kSocket);
    request.set_resource_name(kResource);
    v1beta1::Empty ignored;
    grpc::ClientContext call;
    kubelet->Register(&call, request, &ignored);
  }

  ~Plugin() override {
    {
      const std::lock_guard<std::mutex> hold(mutex_);
      over_ = true;
      changed_.notify_all();
    }
    server_->Shutdown(std::chrono::system_clock::now());
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  void bound(const AssignedPod& pod) {
    const std::lock_guard<std::mutex> hold(mutex_);
    for (const ExpectedShare& portion : pod.portions)
      if (!portion.uuids.empty()) waiting_.push_back(portion);
  }

  grpc::Status ListAndWatch(grpc::ServerContext*, const v1beta1::Empty*,
                            grpc::ServerWriter<v1beta1::ListAndWatchResponse>* writer) override {
    v1beta1::ListAndWatchResponse all;
    for (const std::string& card : cards_) {
      for (unsigned at = 0; at < each_; ++at) {
        v1beta1::Device* device = all.add_devices();
        device->set_id(card + "::" + std::to_string(at));
        device->set_health("Healthy");
      }
    }
    writer->Write(all);
    std::unique_lock<std::mutex> hold(mutex_);
    changed_.wait(hold, [this] { return over_; });
    return grpc::Status::OK;
  }

  grpc::Status Allocate(grpc::ServerContext*, const v1beta1::AllocateRequest* request,
                        v1beta1::AllocateResponse* response) override {
    const std::lock_guard<std::mutex> hold(mutex_);
    for (const auto& one : request->container_requests()) {
      const auto count = static_cast<std::size_t>(one.devices_ids_size());
      const auto first =
          std::find_if(waiting_.begin(), waiting_.end(),
                       [&](const ExpectedShare& portion) { return portion.uuids.size() == count; });
      if (first == waiting_.end()) return {grpc::StatusCode::UNAVAILABLE, "no pod waits"};
      const std::string dir = root_ + "/" + std::to_string(++made_);
      const Result<void> done = writePages(dir, *first);
      if (!done) return {grpc::StatusCode::INTERNAL, done.error().message()};
      waiting_.erase(first);
      v1beta1::Mount* mount = response->add_container_responses()->add_mounts();
      mount->set_container_path("/run/divvy/tenant/control");
      mount->set_host_path(dir + "/control");
    }
    return grpc::Status::OK;
  }

 private:
  static Result<void> writePages(const std::string& dir, const ExpectedShare& portion) {
    ledger::TenantSpec spec;
    spec.id = "by-order";
    spec.name = "by-order";
    spec.slots = 1;
    for (const std::string& uuid : portion.uuids) {
      ledger::DeviceSpec& device = spec.devices.emplace_back();
      device.uuid = uuid;
      device.pci_bus_id = "00000000:00:00.0";
      device.guarantee = device.ceiling = mib(portion.mebibytes);
      device.physical = gib(80);
    }
    const Result<ledger::TenantLedger> made = ledger::TenantLedger::create(dir, spec);
    if (!made) return made.error();
    return {};
  }

  const std::vector<std::string> cards_;
  const unsigned each_;
  std::string root_;
  std::unique_ptr<grpc::Server> server_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<ExpectedShare> waiting_;  // in the order in which they were bound
  unsigned made_ = 0;
  bool over_ = false;
};

CallOrderPlugin::CallOrderPlugin(const std::string& kubelet_root,
                                 const std::vector<std::string>& cards, unsigned each)
    : plugin_(std::make_unique<Plugin>(kubelet_root, cards, each)) {}
CallOrderPlugin::~CallOrderPlugin() = default;

void CallOrderPlugin::bound(const AssignedPod& pod) {
  plugin_->bound(pod);
}

}  // namespace divvy::test
