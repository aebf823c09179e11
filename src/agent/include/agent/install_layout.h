// Where this program is installed, and what lies beside it.
#pragma once

#include <string>

#include "base/result.h"

namespace divvy::agent {

// Found relative to the running executable: <prefix>/bin/divvy, <prefix>/lib, <prefix>/simgpu.
struct InstallLayout {
  std::string executable;
  std::string lib_dir;  // libdivvy-cuda.so, libdivvy-nvml.so
  std::string sim_dir;  // the simulated libcuda.so.1 and libnvidia-ml.so.1

  // LD_PRELOAD for tenants. kIo when a library is missing or the path cannot be said in LD_PRELOAD.
  Result<std::string> preload() const;
};

Result<InstallLayout> findInstall();

}  // namespace divvy::agent
