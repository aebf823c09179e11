#include "device/open_driver.h"

#include <cstdlib>

#include "driver/library.h"

namespace divvy::agent {

std::string cudaOf(const Node& node, const InstallLayout& install) {
  return node.simulated() ? driver::findIn({install.sim_dir}, "libcuda.so.1") : std::string();
}

Result<driver::Nvml> openDriver(const Node& node, const NodePaths& paths,
                                const InstallLayout& install) {
  std::string nvml_path = "libnvidia-ml.so.1";
  if (node.simulated()) {
    nvml_path = driver::findIn({install.sim_dir}, nvml_path);
    if (nvml_path[0] != '/' || cudaOf(node, install)[0] != '/') {
      return Error{ErrorCode::kUnavailable, "the simulated driver is missing: " + install.sim_dir +
                                                " should hold libcuda.so.1 and libnvidia-ml.so.1"};
    }
    setenv("SIMGPU_PROFILE", node.profile().c_str(), 1);
    setenv("SIMGPU_DIR", paths.cards().c_str(), 1);
  }
  Result<driver::Nvml> nvml = driver::Nvml::open(nvml_path);
  if (!nvml && !node.simulated()) {
    return Error{nvml.error().code(),
                 nvml.error().message() +
                     "; install the NVIDIA driver, or use a simulated card (option --sim h100 of a "
                     "command, divvy agent --node sim-h100)"};
  }
  return nvml;
}

}  // namespace divvy::agent
