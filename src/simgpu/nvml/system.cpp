// Init, versions, error texts: calls without a card.
#include <cstdio>
#include <string>

#include "nvml/machine.h"

namespace divvy::simgpu {
namespace {

// Driver branch that brought each CUDA release, from NVIDIA's release notes' compatibility table.
std::string branchOf(int cuda) {
  struct Row {
    int cuda;
    const char* driver;
  };
  constexpr Row kRows[] = {{13050, "620.40"},    {13040, "615.71"},    {13030, "610.43"},
                           {13020, "595.45"},    {13010, "590.44"},    {13000, "580.65.06"},
                           {12090, "575.51.03"}, {12080, "570.86.10"}, {12060, "560.28.03"},
                           {12040, "550.54.14"}, {12020, "535.54.03"}, {12000, "525.60.13"},
                           {11080, "520.61.05"}, {11070, "515.43.04"}, {11060, "510.39.01"},
                           {11050, "495.29.05"}, {11040, "470.42.01"}};
  for (const Row& row : kRows) {
    if (cuda >= row.cuda) return row.driver;
  }
  return "450.36.06";
}

struct ErrorText {
  nvmlReturn_t code;
  const char* text;
};

constexpr ErrorText kErrors[] = {
    {NVML_SUCCESS, "Success"},
    {NVML_ERROR_UNINITIALIZED, "Uninitialized"},
    {NVML_ERROR_INVALID_ARGUMENT, "Invalid Argument"},
    {NVML_ERROR_NOT_SUPPORTED, "Not Supported"},
    {NVML_ERROR_NO_PERMISSION, "Insufficient Permissions"},
    {NVML_ERROR_ALREADY_INITIALIZED, "Already Initialized"},
    {NVML_ERROR_NOT_FOUND, "Not Found"},
    {NVML_ERROR_INSUFFICIENT_SIZE, "Insufficient Size"},
    {NVML_ERROR_INSUFFICIENT_POWER, "Insufficient External Power"},
    {NVML_ERROR_DRIVER_NOT_LOADED, "Driver Not Loaded"},
    {NVML_ERROR_TIMEOUT, "Timeout"},
    {NVML_ERROR_LIBRARY_NOT_FOUND, "NVML Shared Library Not Found"},
    {NVML_ERROR_FUNCTION_NOT_FOUND, "Function Not Found"},
    {NVML_ERROR_GPU_IS_LOST, "GPU is lost"},
    {NVML_ERROR_MEMORY, "Insufficient Memory"},
    {NVML_ERROR_ARGUMENT_VERSION_MISMATCH, "Argument Version Mismatch"},
    {NVML_ERROR_UNKNOWN, "Unknown Error"},
};

}  // namespace

SIMGPU_IMPL(nvmlInit)() {
  return NvmlMachine::get().init();
}
SIMGPU_IMPL(nvmlInit_v2)() {
  return NvmlMachine::get().init();
}
SIMGPU_IMPL(nvmlInitWithFlags)(unsigned int) {
  return NvmlMachine::get().init();
}
SIMGPU_IMPL(nvmlShutdown)() {
  return NvmlMachine::get().shutdown();
}

SIMGPU_IMPL(nvmlErrorString)(nvmlReturn_t result) {
  for (const ErrorText& row : kErrors) {
    if (row.code == result) return row.text;
  }
  return "Unknown Error";
}

SIMGPU_IMPL(nvmlSystemGetDriverVersion)(char* version, unsigned int length) {
  return withNvml([&](NvmlMachine& machine) {
    return copyText(branchOf(machine.driverVersion()), version, length);
  });
}

SIMGPU_IMPL(nvmlSystemGetNVMLVersion)(char* version, unsigned int length) {
  return withNvml([&](NvmlMachine& machine) {
    const std::string major = std::to_string(machine.driverVersion() / 1000);
    return copyText(major + "." + branchOf(machine.driverVersion()), version, length);
  });
}

SIMGPU_IMPL(nvmlSystemGetCudaDriverVersion)(int* version) {
  return withNvml([&](NvmlMachine& machine) {
    if (version == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *version = machine.driverVersion();
    return NVML_SUCCESS;
  });
}
SIMGPU_IMPL(nvmlSystemGetCudaDriverVersion_v2)(int* version) {
  return sim_nvmlSystemGetCudaDriverVersion(version);
}

SIMGPU_IMPL(nvmlSystemGetProcessName)(unsigned int pid, char* name, unsigned int length) {
  return withNvml([&](NvmlMachine&) {
    const std::string path = "/proc/" + std::to_string(pid) + "/cmdline";
    std::FILE* file = std::fopen(path.c_str(), "re");
    if (file == nullptr) return NVML_ERROR_NOT_FOUND;
    std::string text;
    for (int c = std::fgetc(file); c > 0; c = std::fgetc(file)) text += static_cast<char>(c);
    std::fclose(file);
    if (text.empty()) return NVML_ERROR_NOT_FOUND;
    if (name == nullptr || length == 0) return NVML_ERROR_INVALID_ARGUMENT;
    // The real one truncates.
    if (text.size() >= length) text.resize(length - 1);
    return copyText(text, name, length);
  });
}

}  // namespace divvy::simgpu
