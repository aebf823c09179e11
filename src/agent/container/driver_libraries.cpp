#include "container/driver_libraries.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <iterator>

#include "base/plain_file.h"

namespace divvy::agent {
namespace {

namespace fs = std::filesystem;

// Graphics libraries are left out: they need host files other than libraries.
constexpr std::string_view kComputes[] = {"libcuda",
                                          "libcudadebugger",
                                          "libnvcuvid",
                                          "libnvidia-allocator",
                                          "libnvidia-cfg",
                                          "libnvidia-encode",
                                          "libnvidia-gpucomp",
                                          "libnvidia-ml",
                                          "libnvidia-nvvm",
                                          "libnvidia-nvvm70",
                                          "libnvidia-opencl",
                                          "libnvidia-opticalflow",
                                          "libnvidia-pkcs11",
                                          "libnvidia-pkcs11-openssl3",
                                          "libnvidia-ptxjitcompiler"};

// For every container, with any device.
constexpr const char* kForAll[] = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"};

std::string_view stemOf(std::string_view name) {
  const std::size_t at = name.find(".so");
  return at == std::string_view::npos ? std::string_view() : name.substr(0, at);
}

Error missing(const std::string& what) {
  return {ErrorCode::kUnavailable, "the driver's files for containers: " + what};
}

}  // namespace

bool isOfDriver(std::string_view name, std::string_view target, std::string_view version) {
  const std::string_view stem = stemOf(target);
  if (version.empty() ||
      std::find(std::begin(kComputes), std::end(kComputes), stem) == std::end(kComputes))
    return false;
  return stemOf(name) == stem && target == std::string(stem) + ".so." + std::string(version);
}

int minorIn(std::string_view information) {
  constexpr std::string_view kKey = "Device Minor:";
  std::size_t at = information.find(kKey);
  if (at == std::string_view::npos) return -1;
  at = information.find_first_not_of(" \t", at + kKey.size());
  if (at == std::string_view::npos) return -1;
  int minor = -1;
  const auto read =
      std::from_chars(information.data() + at, information.data() + information.size(), minor);
  return read.ec == std::errc() ? minor : -1;
}

std::string procNameOf(std::string_view pci) {
  // NVML writes eight digits of the PCI domain, the kernel four.
  constexpr std::size_t kKernels = 12;
  std::string name(pci.size() > kKernels ? pci.substr(pci.size() - kKernels) : pci);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

Result<DriverLibraries> findDriverFiles(const std::string& nvml,
                                        const std::vector<std::string>& pci,
                                        const std::string& root) {
  std::error_code fault;
  const fs::path library = fs::canonical(root + nvml, fault);
  constexpr std::string_view kNvml = "libnvidia-ml.so.";
  const std::string name = library.filename().string();
  if (fault || !name.starts_with(kNvml)) return missing(nvml + " has no version");
  const std::string version = name.substr(kNvml.size());
  DriverLibraries found;
  for (const fs::directory_entry& entry : fs::directory_iterator(library.parent_path(), fault)) {
    std::error_code ignored;
    const fs::path target = fs::canonical(entry.path(), ignored);
    const std::string called = entry.path().filename().string();
    if (ignored || !isOfDriver(called, target.filename().string(), version)) continue;
    found.libraries[called] = target.string();
  }
  if (!found.libraries.contains("libcuda.so.1"))
    return missing("no libcuda.so.1 of " + version + " beside " + library.string());
  for (const char* node : kForAll)
    if (fs::exists(root + node, fault)) found.devices.emplace_back(node);
  for (const std::string& card : pci) {
    const std::string folder = "/proc/driver/nvidia/gpus/" + procNameOf(card) + "/information";
    constexpr std::size_t kMax = 64u << 10;
    const Result<std::string> text = readPlainFile(root + folder, kMax);
    const int minor = text ? minorIn(*text) : -1;
    const std::string node = "/dev/nvidia" + std::to_string(minor);
    if (minor < 0) return missing(folder + " has no device minor number");
    if (!fs::exists(root + node, fault)) return missing(node + " is not there");
    found.devices.push_back(node);
  }
  return found;
}

}  // namespace divvy::agent
