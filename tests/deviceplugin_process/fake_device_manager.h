// What a kubelet does with device plugins when pods come, start and go: a peer that follows its
// device manager (pkg/kubelet/cm/devicemanager of 1.34: Allocate, devicesToAllocate, checkpoint)
// and its pod resources, so that orders can be chosen which a real one takes by chance.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>
#include <boost/json.hpp>

#include "base/rng.h"
#include "deviceplugin_v1beta1.grpc.pb.h"

namespace divvy::test {

struct ContainerAsk {
  std::string name;
  bool init = false;     // ends before the next one begins
  unsigned devices = 0;  // units of the resource; 0: none
};

struct PodAsk {
  std::string namespace_name, name, uid;
  std::vector<ContainerAsk> containers;  // init containers first
};

// What a container was given: its units, and what the plugin answered when they were allocated.
struct Allocated {
  std::vector<std::string> ids;  // ascending
  v1beta1::ContainerAllocateResponse response;
  // Of the host where the container has this; empty: it has it not.
  std::string mounted(const std::string& inside) const;
};

// Pods come and go from one thread; they are prepared from any.
class FakeDeviceManager {
 public:
  explicit FakeDeviceManager(std::string resource);
  ~FakeDeviceManager();

  // Its folder, to be given to who serves as a plugin. kubelet.sock is there from the beginning.
  const std::string& root() const;
  // Until somebody has registered, and has so many units that are well; 20 s at most.
  bool offered(std::size_t units);
  // Until it is seen that whoever was registered has ended: units of his are there until then; 20 s
  // at most.
  bool lost();
  // Before "::" in what it was offered.
  std::vector<std::string> cards() const;
  // Takes units for each container, as devices are asked for: those that init containers had first,
  // then of what the plugin says it prefers, or (not `heeds`: it is advice) of any. False: there
  // are too few, or the plugin refused.
  bool admit(const PodAsk& pod, bool heeds, Rng* rng);
  Allocated of(const std::string& uid, const std::string& container) const;
  // A container is about to be made.
  grpc::Status prepare(const std::string& uid, const std::string& container);
  // It is over: pod resources do not tell of it any more; the checkpoint does until somebody comes.
  void end(const std::string& uid);

  // That pod got these of another plugin that served the resource before.
  void gaveBefore(const PodAsk& pod, const std::vector<std::string>& ids);

  // From now on whoever writes the checkpoint leaves it so; null: as it should be. It is written.
  using Spoil = std::function<void(const std::string& path, const std::string& whole)>;
  void spoilCheckpoint(Spoil spoil);

  // While set, pod resources are not answered.
  void hidePods(bool hidden);
  // While set, what it was told of units waits to be counted, as it does with a busy one.
  void countLate(bool late);
  // How often it was asked what it counts.
  unsigned countsAsked() const;

 private:
  class PodResources;
  std::unique_ptr<PodResources> inside_;
};

}  // namespace divvy::test
