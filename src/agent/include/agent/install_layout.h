// Where this program is installed, and the files beside it.
#pragma once

#include <string>

#include "base/result.h"

namespace divvy::agent {

// Paths relative to the running executable: <prefix>/bin/divvy, <prefix>/lib, <prefix>/simgpu.
struct InstallLayout {
  std::string executable;
  std::string lib_dir;  // libdivvy-cuda.so, libdivvy-nvml.so
  std::string sim_dir;  // the simulated libcuda.so.1 and libnvidia-ml.so.1

  // LD_PRELOAD for tenants. kIo: a library is missing, or LD_PRELOAD cannot express its path.
  Result<std::string> preload() const;
};

Result<InstallLayout> findInstall();

}  // namespace divvy::agent
