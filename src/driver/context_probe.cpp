#include "driver/context_probe.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <optional>

#include "abi/cuda_enums.h"
#include "abi/cuda_protos.h"
#include "driver/library.h"
#include "driver/nvml.h"

namespace divvy::driver {
namespace {

using abi::Cu;
template <Cu id>
using Function = typename abi::CuFn<id>::type;

std::string uuidText(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    std::array<char, 3> hex{};
    std::snprintf(hex.data(), hex.size(), "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += hex.data();
  }
  return text;
}

Error refused(const char* call, CUresult status) {
  return {ErrorCode::kUnavailable, std::string(call) + ": CUDA error " + std::to_string(status)};
}

// The CUDA device with this UUID; the driver's order need not be NVML's.
Result<CUdevice> findDevice(const Library& cuda, const std::string& uuid) {
  auto* count_of = cuda.find<Function<Cu::cuDeviceGetCount>>("cuDeviceGetCount");
  auto* get = cuda.find<Function<Cu::cuDeviceGet>>("cuDeviceGet");
  auto* uuid_of = cuda.find<Function<Cu::cuDeviceGetUuid>>("cuDeviceGetUuid");
  if (count_of == nullptr || get == nullptr || uuid_of == nullptr) {
    return Error{ErrorCode::kUnsupported, cuda.path() + " lacks the device calls"};
  }
  int count = 0;
  if (const CUresult status = count_of(&count); status != CUDA_SUCCESS)
    return refused("cuDeviceGetCount", status);
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    CUdevice device = 0;
    CUuuid found{};
    if (get(&device, ordinal) == CUDA_SUCCESS && uuid_of(&found, device) == CUDA_SUCCESS &&
        uuidText(found) == uuid)
      return device;
  }
  return Error{ErrorCode::kNotFound, "the CUDA driver does not know " + uuid};
}

struct Sample {
  Bytes device;
  std::optional<Bytes> process;
};

Result<Sample> sample(const Nvml& nvml, unsigned index) {
  Result<DeviceUse> use = nvml.use(index);
  if (!use) return use.error();
  Sample result{use->used, std::nullopt};
  for (const ProcessUse& process : use->processes) {
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
  if (const CUresult status = init(0); status != CUDA_SUCCESS) return refused("cuInit", status);
  Result<CUdevice> device = findDevice(*cuda, uuid);
  if (!device) return device.error();
  Result<Sample> before = sample(*nvml, index);
  if (!before) return before.error();
  CUcontext context = nullptr;
  if (const CUresult status = retain(&context, *device); status != CUDA_SUCCESS) {
    return refused("cuDevicePrimaryCtxRetain", status);
  }
  Result<Sample> after = sample(*nvml, index);
  if (release != nullptr) release(*device);
  if (!after) return after.error();
  return after->process ? *after->process : after->device - before->device;
}

}  // namespace divvy::driver
