#include "driver/context_probe.h"

#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "cuda_device.h"
#include "driver/nvml.h"

namespace divvy::driver {
namespace {

using abi::Cu;

struct MemoryReading {
  Bytes device;
  std::optional<Bytes> process;
};

Result<MemoryReading> readMemory(const Nvml& nvml, unsigned index) {
  Result<DeviceUse> use = nvml.use(index);
  if (!use) return use.error();
  MemoryReading result{use->used, std::nullopt};
  for (const ProcessUse& process : nvml.processes(index)) {
    if (process.pid == getpid() && process.bytes.count != 0) result.process = process.bytes;
  }
  return result;
}

}  // namespace

Result<Bytes> probeContext(const std::string& cuda_path, const std::string& nvml_path,
                           const std::string& uuid) {
  Result<Nvml> nvml = Nvml::open(nvml_path);
  if (!nvml) return nvml.error();
  Result<Library> cuda = Library::open(cuda_path);
  if (!cuda) return cuda.error();
  Result<std::vector<DeviceInfo>> devices = nvml->devices();
  if (!devices) return devices.error();
  unsigned index = 0;
  while (index < devices->size() && (*devices)[index].uuid != uuid) ++index;
  if (index == devices->size()) return Error{ErrorCode::kNotFound, "NVML does not know " + uuid};
  index = (*devices)[index].index;
  auto* init = cuda->find<Function<Cu::cuInit>>("cuInit");
  auto* retain = cuda->find<Function<Cu::cuDevicePrimaryCtxRetain>>("cuDevicePrimaryCtxRetain");
  auto* release =
      cuda->find<Function<Cu::cuDevicePrimaryCtxRelease_v2>>("cuDevicePrimaryCtxRelease_v2");
  if (init == nullptr || retain == nullptr)
    return Error{ErrorCode::kUnsupported, cuda->path() + " lacks cuInit"};
  // A process can use a MIG instance only if it is named here.
  if (uuid.starts_with("MIG-")) setenv("CUDA_VISIBLE_DEVICES", uuid.c_str(), 1);
  if (const CUresult status = init(0); status != CUDA_SUCCESS) return refused("cuInit", status);
  Result<CUdevice> device = findDevice(*cuda, uuid);
  if (!device) return device.error();
  Result<MemoryReading> before = readMemory(*nvml, index);
  if (!before) return before.error();
  CUcontext context = nullptr;
  if (const CUresult status = retain(&context, *device); status != CUDA_SUCCESS) {
    return refused("cuDevicePrimaryCtxRetain", status);
  }
  Result<MemoryReading> after = readMemory(*nvml, index);
  if (release != nullptr) release(*device);
  if (!after) return after.error();
  return after->process ? *after->process : after->device - before->device;
}

}  // namespace divvy::driver
