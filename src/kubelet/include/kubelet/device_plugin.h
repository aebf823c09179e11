// A device plugin: serves one extended resource to the node's kubelet. Source: the kubelet's device
// plugin API v1beta1.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "kubelet/kubelet_dirs.h"

namespace divvy::kubelet {

// One device ID of the resource. A device that several containers may share has several of them.
struct Device {
  std::string id;  // 63 characters at most
  bool healthy = true;
  int numa = -1;  // NUMA node; -1: unknown
  friend bool operator==(const Device&, const Device&) = default;
};

struct Mount {
  std::string container_path;
  std::string host_path;  // must exist when the container is created, not before
  bool read_only = true;
  friend bool operator==(const Mount&, const Mount&) = default;
};

// Environment, mounts and CDI devices for a container. A mount below another one comes after it.
struct Injection {
  std::map<std::string, std::string> environment;
  std::vector<Mount> mounts;
  // CDI names, "VENDOR/CLASS=NAME", which must exist when the container is created. Kubelets before
  // 1.29 and runtimes without CDI ignore them without an error.
  std::vector<std::string> cdi_devices = {};
  friend bool operator==(const Injection&, const Injection&) = default;
};

// Query for the device IDs that a container should be given.
struct PreferredAllocationQuery {
  std::vector<std::string> available;  // healthy and not allocated
  std::vector<std::string> required;   // among `available`; allocated to it already
  std::size_t count = 0;
  friend bool operator==(const PreferredAllocationQuery&,
                         const PreferredAllocationQuery&) = default;
};

template <typename T>
using ReplyCallback = std::function<void(Result<T>)>;

// Called on gRPC's threads, several at once; they must not block. Each Answer is called exactly
// once, from any thread; the kubelet waits for it. Objects that the handlers use outlive stop().
struct PluginHandlers {
  // A container is given these device IDs; its pod is not stated. An error: the pod never runs.
  std::function<void(std::vector<std::string> ids, ReplyCallback<Injection>)> allocate;
  // The container with these device IDs is about to be created, for the first time or again. An
  // error: it is not created, and the kubelet tries again later.
  std::function<void(std::vector<std::string> ids, ReplyCallback<void>)> start;
  // Chooses device IDs. The kubelet need not follow the choice, and waits for it without a time
  // limit. An error: the kubelet chooses itself. Null: the kubelet does not ask.
  std::function<void(PreferredAllocationQuery, ReplyCallback<std::vector<std::string>>)> prefer;
  // Notification, without an answer: a kubelet received our devices, or another plugin serves them.
  // It may be repeated. Null: not called.
  std::function<void()> known = {};
};

struct PluginOptions {
  std::shared_ptr<KubeletDirs> sockets;
  std::string socket;    // our socket's file name in that folder
  std::string resource;  // "nvidia.com/gpu"
  // Called with a line for the log, on a thread of the plugin.
  std::function<void(const std::string&)> say;
  // File names of sockets by which other plugins serve the same resource or devices. The kubelet
  // uses the plugin that registered last, so we do not register while another one listens there.
  std::vector<std::string> rivals = {};
};

// Serves and registers on its own threads. It registers again when the kubelet restarts, and when
// its socket is removed (a kubelet clears the folder at its start). It also does so when the
// kubelet stops watching, because the kubelet does not resume by itself. Member functions may be
// called from any thread.
class DevicePlugin {
 public:
  // Starts the plugin. It waits for a kubelet that does not run yet. kUsage: `socket` is no valid
  // name of a socket.
  static Result<std::unique_ptr<DevicePlugin>> begin(PluginOptions options,
                                                     std::vector<Device> devices,
                                                     PluginHandlers handlers);
  ~DevicePlugin();  // as stop()

  // Returns whether the kubelet knows this plugin, or another plugin serves the resource.
  bool settled() const;
  // Replaces the devices, and sends them to kubelets that watch.
  void setDevices(std::vector<Device> devices);
  // Stops the plugin and waits for its threads. Calls in progress still need their answers.
  void stop();

 private:
  struct Impl;
  explicit DevicePlugin(std::unique_ptr<Impl> inside);
  std::unique_ptr<Impl> impl_;
};

}  // namespace divvy::kubelet
