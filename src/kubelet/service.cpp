#include "service.h"

#include <algorithm>
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
  for (const std::string& name : injection.cdi_devices) response.add_cdi_devices()->set_name(name);
}

void write(const std::vector<std::string>& ids,
           v1beta1::ContainerPreferredAllocationResponse& response) {
  for (const std::string& id : ids) response.add_deviceids(id);
}

// Collects the answers of one call; the last one ends the call.
template <typename Reply, typename One>
struct ResponseCollector {
  std::mutex mutex;
  int left = 0;
  bool refuses = true;  // an error fails the call; otherwise that container has no answer
  std::optional<Error> fault;
  Reply* reply = nullptr;
  grpc::ServerUnaryReactor* reactor = nullptr;

  // All containers are added before the first answer arrives.
  ResponseCollector(int count, Reply* into, grpc::ServerUnaryReactor* whose)
      : left(count), reply(into), reactor(whose) {
    for (int at = 0; at < count; ++at) reply->add_container_responses();
    if (count == 0) reactor->Finish(grpc::Status::OK);
  }

  void add(int at, const Result<One>& answer) {
    const std::lock_guard<std::mutex> hold(mutex);
    if (answer) {
      write(*answer, *reply->mutable_container_responses(at));
    } else if (refuses && !fault) {
      fault = answer.error();
    }
    if (--left == 0) reactor->Finish(fault ? statusOf(*fault) : grpc::Status::OK);
  }
};

}  // namespace

v1beta1::DevicePluginOptions pluginOptions(const PluginHandlers& handlers) {
  v1beta1::DevicePluginOptions options;
  options.set_pre_start_required(true);
  options.set_get_preferred_allocation_available(handlers.prefer != nullptr);
  return options;
}

// A kubelet's watch. All members except the callbacks require the service's mutex.
class Service::Stream final : public grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse> {
 public:
  explicit Stream(Service& service) : service_(service) {}

  // Writes what has changed, or ends; one write at a time.
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
    if (good && service_.handlers_.known) service_.handlers_.known();
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

bool Service::isWatched() {
  const std::lock_guard<std::mutex> hold(mutex_);
  return !streams_.empty();
}

void Service::endStreams() {
  const std::lock_guard<std::mutex> hold(mutex_);
  ending_ = true;
  for (Stream* stream : streams_) stream->proceed();
}

grpc::ServerUnaryReactor* Service::GetDevicePluginOptions(grpc::CallbackServerContext* context,
                                                          const v1beta1::Empty*,
                                                          v1beta1::DevicePluginOptions* reply) {
  *reply = pluginOptions(handlers_);
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

grpc::ServerUnaryReactor* Service::GetPreferredAllocation(
    grpc::CallbackServerContext* context, const v1beta1::PreferredAllocationRequest* request,
    v1beta1::PreferredAllocationResponse* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  using DeviceIds = std::vector<std::string>;
  const auto collector =
      std::make_shared<ResponseCollector<v1beta1::PreferredAllocationResponse, DeviceIds>>(
          request->container_requests_size(), reply, reactor);
  // An error would make the kubelet fail the pod; without an answer the kubelet chooses itself.
  collector->refuses = false;
  // The last answer ends the call and destroys the request.
  std::vector<PreferredAllocationQuery> queries;
  for (const auto& one : request->container_requests())
    queries.push_back({{one.available_deviceids().begin(), one.available_deviceids().end()},
                       {one.must_include_deviceids().begin(), one.must_include_deviceids().end()},
                       static_cast<std::size_t>(std::max(one.allocation_size(), 0))});
  for (int at = 0; std::cmp_less(at, queries.size()); ++at) {
    const auto add = [collector, at](const Result<DeviceIds>& answer) {
      collector->add(at, answer);
    };
    if (!handlers_.prefer) add(Error{ErrorCode::kUnsupported, "no unit is better than another"});
    if (handlers_.prefer) handlers_.prefer(std::move(queries[static_cast<std::size_t>(at)]), add);
  }
  return reactor;
}

grpc::ServerUnaryReactor* Service::Allocate(grpc::CallbackServerContext* context,
                                            const v1beta1::AllocateRequest* request,
                                            v1beta1::AllocateResponse* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto collector = std::make_shared<ResponseCollector<v1beta1::AllocateResponse, Injection>>(
      request->container_requests_size(), reply, reactor);
  // The last answer ends the call and destroys the request.
  std::vector<std::vector<std::string>> queries;
  for (const auto& one : request->container_requests())
    queries.emplace_back(one.devices_ids().begin(), one.devices_ids().end());
  for (int at = 0; std::cmp_less(at, queries.size()); ++at)
    handlers_.allocate(
        std::move(queries[static_cast<std::size_t>(at)]),
        [collector, at](const Result<Injection>& answer) { collector->add(at, answer); });
  return reactor;
}

grpc::ServerUnaryReactor* Service::PreStartContainer(
    grpc::CallbackServerContext* context, const v1beta1::PreStartContainerRequest* request,
    v1beta1::PreStartContainerResponse*) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  handlers_.start({request->devices_ids().begin(), request->devices_ids().end()},
                  [reactor](const Result<void>& answer) {
                    reactor->Finish(answer ? grpc::Status::OK : statusOf(answer.error()));
                  });
  return reactor;
}

}  // namespace divvy::kubelet
