// A device plugin: what a node's kubelet asks about one extended resource, and what we answer.
// Source: the kubelet's device plugin API v1beta1.
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

// One unit of the resource. A card that several containers may share is several of them.
struct Device {
  std::string id;  // 63 characters at most
  bool healthy = true;
  int numa = -1;  // NUMA node; -1: not known
  friend bool operator==(const Device&, const Device&) = default;
};

struct Mount {
  std::string container_path;
  std::string host_path;  // has to be there when the container is made, not before
  bool read_only = true;
  friend bool operator==(const Mount&, const Mount&) = default;
};

// What a container gets with its devices. Mounts below others come after them.
struct Injection {
  std::map<std::string, std::string> environment;
  std::vector<Mount> mounts;
  // "VENDOR/CLASS=NAME", which have to be there when the container is made. Kubelets before 1.29
  // and runtimes without CDI do not read them, and say nothing.
  std::vector<std::string> cdi_devices = {};
  friend bool operator==(const Injection&, const Injection&) = default;
};

// Which units a container should be given that is to have so many.
struct PreferredAllocationQuery {
  std::vector<std::string> available;  // healthy, and nobody's
  std::vector<std::string> required;   // of these; it has them already
  std::size_t count = 0;
  friend bool operator==(const PreferredAllocationQuery&,
                         const PreferredAllocationQuery&) = default;
};

template <typename T>
using Answer = std::function<void(Result<T>)>;

// All are called on threads of gRPC's, several at once, and must not block. Each answer is given
// exactly once, from any thread; until then the kubelet waits. What they use outlives stop().
struct PluginHandlers {
  // A container is to have these units; which pod's is not said. An error: the pod is never run.
  std::function<void(std::vector<std::string> ids, Answer<Injection>)> allocate;
  // The container that has these units is about to be made, for the first time or again. An error:
  // it is not, and the kubelet tries again later.
  std::function<void(std::vector<std::string> ids, Answer<void>)> start;
  // Which units it should be; the kubelet is not held to it, and waits without a limit of its own.
  // An error: it chooses itself. Null: it is not to ask.
  std::function<void(PreferredAllocationQuery, Answer<std::vector<std::string>>)> prefer;
  // No question: a kubelet was told of our devices, or has them of another plugin; maybe again and
  // again. Null: nobody wants to hear of it.
  std::function<void()> known = {};
};

struct PluginOptions {
  std::shared_ptr<KubeletDirs> sockets;
  std::string socket;    // a name among them, of our own
  std::string resource;  // "nvidia.com/gpu"
  // What happened, for the diary; from a thread of the plugin's.
  std::function<void(const std::string&)> say;
  // Names in the folder of sockets by which others serve the same resource, or the same devices.
  // The kubelet heeds who registered last: while somebody listens at one of them, we do not.
  std::vector<std::string> rivals = {};
};

// Serves and registers on threads of its own, again whenever the kubelet begins anew, somebody
// takes our socket away (the kubelet clears its folder when it starts), or the kubelet watches our
// devices no longer: it does not come back by itself. Members may be called from any thread.
class DevicePlugin {
 public:
  // Begins; a kubelet that is not there yet is waited for. kUsage: a path that is no socket's.
  static Result<std::unique_ptr<DevicePlugin>> begin(PluginOptions terms,
                                                     std::vector<Device> devices,
                                                     PluginHandlers questions);
  ~DevicePlugin();  // as stop()

  // The kubelet knows us, or is to know another plugin while that is there.
  bool settled() const;
  // From now on these. Kubelets that watch are told.
  void setDevices(std::vector<Device> devices);
  // Returns when nobody is asked any more. Questions that are being answered have to be answered.
  void stop();

 private:
  struct Impl;
  explicit DevicePlugin(std::unique_ptr<Impl> inside);
  std::unique_ptr<Impl> impl_;
};

}  // namespace divvy::kubelet
