// What a container is given so that it has a share: the one list, of which a runtime's command
// line, a CDI spec and the answer to a kubelet are made.
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
  std::vector<ContainerMount> mounts;  // plain bind mounts; those below others come after them
  std::vector<std::string> devices;    // nodes, by the path that they have on both sides
  friend bool operator==(const ContainerEdits&, const ContainerEdits&) = default;
};

// Names in a container that are ours: nothing of the user's may be mounted there.
inline constexpr const char* kOursInside = "/run/divvy";
inline constexpr const char* kPreloadInside = "/etc/ld.so.preload";

}  // namespace divvy::agent
