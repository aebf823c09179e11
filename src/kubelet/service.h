// gRPC service of the device plugin API.
#pragma once

#include <list>
#include <mutex>
#include <vector>

#include "deviceplugin_v1beta1.grpc.pb.h"
#include "kubelet/device_plugin.h"

namespace divvy::kubelet {

// Returns the options for Register and GetDevicePluginOptions.
v1beta1::DevicePluginOptions pluginOptions(const PluginHandlers& handlers);

// Service of one gRPC server. Used from any thread.
class Service final : public v1beta1::DevicePlugin::CallbackService {
 public:
  Service(std::vector<Device> devices, const PluginHandlers& handlers)
      : handlers_(handlers), devices_(std::move(devices)) {}

  void setDevices(std::vector<Device> devices);
  // Returns whether a kubelet watches the devices.
  bool isWatched();
  // Ends all ListAndWatch streams, later ones too. Without this a server waits for them at its end.
  void endStreams();

  grpc::ServerUnaryReactor* GetDevicePluginOptions(grpc::CallbackServerContext* context,
                                                   const v1beta1::Empty*,
                                                   v1beta1::DevicePluginOptions* reply) override;
  grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* ListAndWatch(
      grpc::CallbackServerContext* context, const v1beta1::Empty*) override;
  grpc::ServerUnaryReactor* GetPreferredAllocation(
      grpc::CallbackServerContext* context, const v1beta1::PreferredAllocationRequest* request,
      v1beta1::PreferredAllocationResponse* reply) override;
  grpc::ServerUnaryReactor* Allocate(grpc::CallbackServerContext* context,
                                     const v1beta1::AllocateRequest* request,
                                     v1beta1::AllocateResponse* reply) override;
  grpc::ServerUnaryReactor* PreStartContainer(grpc::CallbackServerContext* context,
                                              const v1beta1::PreStartContainerRequest* request,
                                              v1beta1::PreStartContainerResponse* reply) override;

 private:
  class Stream;

  const PluginHandlers& handlers_;
  std::mutex mutex_;  // guards the members below, and the streams' state
  std::vector<Device> devices_;
  std::uint64_t version_ = 1;  // of the devices
  bool ending_ = false;
  std::list<Stream*> streams_;
};

}  // namespace divvy::kubelet
