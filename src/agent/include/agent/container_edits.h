// The edits that give a container its share: the one list behind a runtime's command line, a CDI
// spec and the reply to the kubelet.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace divvy::agent {

struct ContainerMount {
  std::string host_path;
  std::string container_path;
  bool read_only = true;
  friend bool operator==(const ContainerMount&, const ContainerMount&) = default;
};

struct ContainerEdits {
  std::map<std::string, std::string> environment;
  std::vector<ContainerMount> mounts;  // plain bind mounts; a mount below another follows it
  std::vector<std::string> devices;    // device nodes, with the same path on host and in container
  friend bool operator==(const ContainerEdits&, const ContainerEdits&) = default;
};

// Paths in a container that Divvy uses: the user may mount nothing there.
inline constexpr const char* kOursInside = "/run/divvy";
inline constexpr const char* kPreloadInside = "/etc/ld.so.preload";

}  // namespace divvy::agent
