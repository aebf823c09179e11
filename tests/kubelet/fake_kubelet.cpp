#include "fake_kubelet.h"

#include <stdlib.h>

#include <chrono>
#include <filesystem>

#include "kubelet/kubelet_dirs.h"

namespace divvy::kubelet::testing {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::seconds kBound{20};
// Source: dial() of the kubelet's device plugin client, which blocks.
constexpr std::chrono::seconds kReachBound{10};
constexpr std::chrono::milliseconds kLook{10};

}  // namespace

class FakeKubelet::Registry final : public v1beta1::Registration::Service {
 public:
  explicit Registry(const std::string& root) : sockets(root) {}

  grpc::Status Register(grpc::ServerContext* context, const v1beta1::RegisterRequest* request,
                        v1beta1::Empty*) override {
    std::unique_lock<std::mutex> hold(mutex);
    ++attempts;
    changed.notify_all();
    if (refusing) return {grpc::StatusCode::UNKNOWN, "not now"};
    if (!sockets.isListenedTo(request->endpoint())) {
      ++unreached;
      const auto end = std::chrono::steady_clock::now() + kReachBound;
      while (!context->IsCancelled() && std::chrono::steady_clock::now() < end)
        changed.wait_for(hold, kLook);
      return {grpc::StatusCode::UNKNOWN, "failed to dial device plugin"};
    }
    registered.push_back(*request);
    return grpc::Status::OK;
  }

  LocalKubeletDirs sockets;
  std::mutex mutex;  // of all below
  std::condition_variable changed;
  std::vector<v1beta1::RegisterRequest> registered;
  std::size_t attempts = 0;
  std::size_t unreached = 0;
  bool refusing = false;
};

FakeKubelet::FakeKubelet() {
  std::string pattern = (fs::temp_directory_path() / "kubelet-XXXXXX").string();
  root_ = mkdtemp(pattern.data());
  registry_ = std::make_unique<Registry>(root_);
  folder_ = root_ + "/device-plugins";
  fs::create_directory(folder_);
}

FakeKubelet::~FakeKubelet() {
  end();
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

void FakeKubelet::begin() {
  end();
  for (const auto& entry : fs::directory_iterator(folder_)) fs::remove(entry.path());
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + folder_ + "/kubelet.sock", grpc::InsecureServerCredentials());
  builder.RegisterService(registry_.get());
  server_ = builder.BuildAndStart();
}

void FakeKubelet::end() {
  if (server_) server_->Shutdown(std::chrono::system_clock::now());
  server_.reset();
}

void FakeKubelet::refuse(bool refusing) {
  const std::lock_guard<std::mutex> hold(registry_->mutex);
  registry_->refusing = refusing;
}

v1beta1::RegisterRequest FakeKubelet::registration(std::size_t number) {
  std::unique_lock<std::mutex> hold(registry_->mutex);
  const bool came = registry_->changed.wait_for(
      hold, kBound, [&] { return registry_->registered.size() >= number; });
  return came ? registry_->registered[number - 1] : v1beta1::RegisterRequest();
}

std::size_t FakeKubelet::registrations() const {
  const std::lock_guard<std::mutex> hold(registry_->mutex);
  return registry_->registered.size();
}

bool FakeKubelet::attempted() {
  std::unique_lock<std::mutex> hold(registry_->mutex);
  return registry_->changed.wait_for(hold, kBound, [&] { return registry_->attempts > 0; });
}

std::size_t FakeKubelet::unreached() const {
  const std::lock_guard<std::mutex> hold(registry_->mutex);
  return registry_->unreached;
}

std::unique_ptr<v1beta1::DevicePlugin::Stub> FakeKubelet::plugin() {
  const std::lock_guard<std::mutex> hold(registry_->mutex);
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Who ended may be there again at once.
  for (const char* name : {GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
                           GRPC_ARG_MAX_RECONNECT_BACKOFF_MS})
    arguments.SetInt(name, 20);
  const std::string socket = folder_ + "/" + registry_->registered.back().endpoint();
  return v1beta1::DevicePlugin::NewStub(
      grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments));
}

}  // namespace divvy::kubelet::testing
