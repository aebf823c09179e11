// Options of an agent that serves a node of Kubernetes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/access.h"

namespace divvy::agent {

// How a container's edits reach the node's runtime.
enum class InjectionMode : std::uint8_t {
  kAuto,    // CDI where all its requirements are met, else mounts
  kMounts,  // plain mounts, which every runtime supports
  kCdi,     // CDI; after a container started without its edits, no more are prepared
};

// "auto", "mounts", "cdi".
const char* injectingName(InjectionMode injecting);
Result<InjectionMode> parseInjecting(std::string_view text);

// The scheduler of the node's pods, and the annotations that it reads and writes.
enum class Dialect : std::uint8_t {
  kHami,     // Divvy's, or HAMi's
  kVolcano,  // Volcano's, with its vGPU resources
};

// "hami", "volcano".
Result<Dialect> parseDialect(std::string_view text);

// A resource that counts the devices of some models.
struct ModelCount {
  std::string resource;
  std::vector<std::string> models, not_models;  // engine::ModelMatch::kWords
};

struct ClusterNode {
  std::string name;  // the name of this machine's Node object
  kube::Access access;
  std::string kubelet_dir = "/var/lib/kubelet";  // holds device-plugins/ and pod-resources/
  Dialect dialect = Dialect::kHami;
  // Each counts all devices; at least one.
  std::vector<std::string> resources = {"nvidia.com/gpu"};
  std::vector<ModelCount> of_models;
  // Prefix of resources that count instances (MIG); the name of the profile follows. Empty: none.
  std::string instances_prefix;
  // Resources by which the node's status publishes memory (MiB) and compute (percent) of all
  // devices together; empty: none.
  std::vector<std::string> memory_resources, cores_resources;
  // Resources for percent of a device's memory: the sum that tenants may request; empty: none.
  std::vector<std::string> percent_resources;
  unsigned per_device = 10;  // containers that may share a device, 1 to 100
  unsigned cores = 100;      // promisable compute of each device: percent, 1 to 100
  // Publishes each device's NUMA node to the kubelet. Only useful if the kubelet aligns processors
  // to devices. The alignment is to the device IDs that the kubelet picks, which may differ from
  // the scheduler's.
  bool announce_numa = false;
  InjectionMode injecting = InjectionMode::kAuto;
  std::string cdi_dir = "/var/run/cdi";  // the runtime's CDI directory; empty: none
  // This process lacks privileges on the node; `divvy agent-helper`, which runs beside it, has
  // them.
  bool by_helper = false;
  // The node has the annotations of the release before, too.
  bool deprecated_names = true;
  std::string install_dir;  // copies of the files that containers mount; empty: mounted in place
};

}  // namespace divvy::agent
