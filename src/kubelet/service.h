// What the kubelet calls on us.
#pragma once

#include <list>
#include <mutex>
#include <vector>

#include "deviceplugin_v1beta1.grpc.pb.h"
#include "kubelet/device_plugin.h"

namespace divvy::kubelet {

// What Register and GetDevicePluginOptions both say.
v1beta1::DevicePluginOptions pluginOptions(const PluginHandlers& questions);

// One server's. Any thread.
class Service final : public v1beta1::DevicePlugin::CallbackService {
 public:
  Service(std::vector<Device> devices, const PluginHandlers& questions)
      : questions_(questions), devices_(std::move(devices)) {}

  void setDevices(std::vector<Device> devices);
  // A kubelet is being told of the devices.
  bool isWatched();
  // Streams end, those that begin later, too: without it a server would wait for them.
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

  const PluginHandlers& questions_;
  std::mutex mutex_;  // of all below, and of what streams know
  std::vector<Device> devices_;
  std::uint64_t version_ = 1;  // of the devices
  bool ending_ = false;
  std::list<Stream*> streams_;
};

}  // namespace divvy::kubelet
