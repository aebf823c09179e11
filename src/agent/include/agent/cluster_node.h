// What an agent is told that serves a node of Kubernetes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/access.h"

namespace divvy::agent {

// How the node's runtime is told what a container gets.
enum class InjectionMode : std::uint8_t {
  kAuto,    // by CDI where all that takes is there, else by mounts
  kMounts,  // by plain mounts, which every runtime has
  kCdi,     // by CDI: nothing is made any more once a container went without
};

// "auto", "mounts", "cdi".
const char* injectingName(InjectionMode injecting);
Result<InjectionMode> parseInjecting(std::string_view text);

// Whose scheduler places the node's pods, and what it is told and tells.
enum class Dialect : std::uint8_t {
  kHami,     // ours, or HAMi's
  kVolcano,  // Volcano's, with its vGPU resources
};

// "hami", "volcano".
Result<Dialect> parseDialect(std::string_view text);

// A name by which devices of some models are counted.
struct ModelCount {
  std::string resource;
  std::vector<std::string> models, not_models;  // as engine::ModelMatch::kWords
};

struct ClusterNode {
  std::string name;  // of the Node that this machine is
  kube::Access access;
  std::string kubelet_dir = "/var/lib/kubelet";  // its device-plugins/ and pod-resources/
  Dialect dialect = Dialect::kHami;
  // Each counts all devices; at least one.
  std::vector<std::string> resources = {"nvidia.com/gpu"};
  std::vector<ModelCount> of_models;
  // Behind it the name of an instance's profile: such instances are counted by that. Empty: not.
  std::string instances_prefix;
  // Under each of these names the node's status says how much memory (MiB) and compute (percent)
  // its devices have together; empty: not.
  std::vector<std::string> memory_resources, cores_resources;
  // Likewise, percent of a device's memory: as much as all its tenants may ask for.
  std::vector<std::string> percent_resources;
  unsigned per_device = 10;  // containers that may share one, 1 to 100
  unsigned cores = 100;      // of each device's compute, what may be promised: percent, 1 to 100
  // The kubelet is told where each device is. Only of use where it aligns processors to devices,
  // and then it is to the units that it picks itself: to others than the scheduler's, sometimes.
  bool announce_numa = false;
  InjectionMode injecting = InjectionMode::kAuto;
  std::string cdi_dir = "/var/run/cdi";  // where the runtime looks for devices; empty: nowhere
  // This process has no rights on the node: `divvy agent-helper`, which runs beside it, has them.
  bool by_helper = false;
  std::string install_dir;  // what is mounted into containers is copied there; empty: used as it is
};

}  // namespace divvy::agent
