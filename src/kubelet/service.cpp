#include "service.h"

#include <memory>
#include <optional>
#include <utility>

namespace divvy::kubelet {
namespace {

grpc::Status statusOf(const Error& error) {
  const bool later = error.code() == ErrorCode::kUnavailable || error.code() == ErrorCode::kNoRoom;
  return {later ? grpc::StatusCode::UNAVAILABLE : grpc::StatusCode::FAILED_PRECONDITION,
          error.message()};
}

void write(const std::vector<Device>& devices, v1beta1::ListAndWatchResponse& response) {
  response.Clear();
  for (const Device& device : devices) {
    v1beta1::Device* one = response.add_devices();
    one->set_id(device.id);
    one->set_health(device.healthy ? "Healthy" : "Unhealthy");
    if (device.numa >= 0) one->mutable_topology()->add_nodes()->set_id(device.numa);
  }
}

void write(const Injection& injection, v1beta1::ContainerAllocateResponse& response) {
  for (const auto& [name, value] : injection.environment) (*response.mutable_envs())[name] = value;
  for (const Mount& mount : injection.mounts) {
    v1beta1::Mount* one = response.add_mounts();
    one->set_container_path(mount.container_path);
    one->set_host_path(mount.host_path);
    one->set_read_only(mount.read_only);
  }
}

// The answers of one call, which is over with the last of them.
struct Gathering {
  std::mutex mutex;
  int left = 0;
  std::optional<Error> fault;
  v1beta1::AllocateResponse* reply = nullptr;
  grpc::ServerUnaryReactor* reactor = nullptr;

  void take(int at, const Result<Injection>& answer) {
    const std::lock_guard<std::mutex> hold(mutex);
    if (answer) {
      write(*answer, *reply->mutable_container_responses(at));
    } else if (!fault) {
      fault = answer.error();
    }
    if (--left == 0) reactor->Finish(fault ? statusOf(*fault) : grpc::Status::OK);
  }
};

}  // namespace

v1beta1::DevicePluginOptions pluginOptions() {
  v1beta1::DevicePluginOptions options;
  options.set_pre_start_required(true);
  return options;
}

// One kubelet that watches. All members but the callbacks are called with the service's mutex.
class Service::Stream final : public grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse> {
 public:
  explicit Stream(Service& service) : service_(service) {}

  // Says what was not said yet, or ends; one write at a time.
  void proceed() {
    if (writing_ || finished_) return;
    if (cancelled_ || service_.ending_) {
      finished_ = true;
      return Finish(grpc::Status::OK);
    }
    if (told_ == service_.version_) return;
    told_ = service_.version_;
    write(service_.devices_, response_);
    writing_ = true;
    StartWrite(&response_);
  }

  void OnWriteDone(bool good) override {
    const std::lock_guard<std::mutex> hold(service_.mutex_);
    writing_ = false;
    cancelled_ |= !good;
    proceed();
  }

  void OnCancel() override {
    const std::lock_guard<std::mutex> hold(service_.mutex_);
    cancelled_ = true;
    proceed();
  }

  void OnDone() override {
    {
      const std::lock_guard<std::mutex> hold(service_.mutex_);
      service_.streams_.remove(this);
    }
    delete this;
  }

 private:
  Service& service_;
  v1beta1::ListAndWatchResponse response_;
  std::uint64_t told_ = 0;
  bool writing_ = false;
  bool cancelled_ = false;
  bool finished_ = false;
};

void Service::setDevices(std::vector<Device> devices) {
  const std::lock_guard<std::mutex> hold(mutex_);
  devices_ = std::move(devices);
  ++version_;
  for (Stream* stream : streams_) stream->proceed();
}

void Service::endStreams() {
  const std::lock_guard<std::mutex> hold(mutex_);
  ending_ = true;
  for (Stream* stream : streams_) stream->proceed();
}

grpc::ServerUnaryReactor* Service::GetDevicePluginOptions(grpc::CallbackServerContext* context,
                                                          const v1beta1::Empty*,
                                                          v1beta1::DevicePluginOptions* reply) {
  *reply = pluginOptions();
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* Service::ListAndWatch(
    grpc::CallbackServerContext*, const v1beta1::Empty*) {
  const std::lock_guard<std::mutex> hold(mutex_);
  auto* stream = new Stream(*this);  // deletes itself: OnDone
  streams_.push_back(stream);
  stream->proceed();
  return stream;
}

grpc::ServerUnaryReactor* Service::Allocate(grpc::CallbackServerContext* context,
                                            const v1beta1::AllocateRequest* request,
                                            v1beta1::AllocateResponse* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto gathering = std::make_shared<Gathering>();
  gathering->left = request->container_requests_size();
  gathering->reply = reply;
  gathering->reactor = reactor;
  if (gathering->left == 0) reactor->Finish(grpc::Status::OK);
  // All are there before the first is filled in.
  for (int at = 0; at < request->container_requests_size(); ++at) reply->add_container_responses();
  // The last answer ends the call, and the request with it.
  std::vector<std::vector<std::string>> asked;
  for (const auto& one : request->container_requests())
    asked.emplace_back(one.devices_ids().begin(), one.devices_ids().end());
  for (int at = 0; std::cmp_less(at, asked.size()); ++at)
    questions_.allocate(
        std::move(asked[static_cast<std::size_t>(at)]),
        [gathering, at](const Result<Injection>& answer) { gathering->take(at, answer); });
  return reactor;
}

grpc::ServerUnaryReactor* Service::PreStartContainer(
    grpc::CallbackServerContext* context, const v1beta1::PreStartContainerRequest* request,
    v1beta1::PreStartContainerResponse*) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  questions_.start({request->devices_ids().begin(), request->devices_ids().end()},
                   [reactor](const Result<void>& answer) {
                     reactor->Finish(answer ? grpc::Status::OK : statusOf(answer.error()));
                   });
  return reactor;
}

}  // namespace divvy::kubelet
