#include "driver/context_probe.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <optional>

#include "driver/library.h"
#include "driver/nvml.h"

namespace divvy::driver {
namespace {

using Status = int;  // CUresult; 0 is success

struct Uuid {
  std::array<unsigned char, 16> bytes;
};

std::string uuidText(const Uuid& uuid) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    std::array<char, 3> hex{};
    std::snprintf(hex.data(), hex.size(), "%02x", uuid.bytes[i]);
    text += hex.data();
  }
  return text;
}

Error refused(const char* call, Status status) {
  return {ErrorCode::kUnavailable, std::string(call) + ": CUDA error " + std::to_string(status)};
}

// The CUDA device with this UUID; the driver's order need not be NVML's.
Result<int> findDevice(const Library& cuda, const std::string& uuid) {
  auto* count_of = cuda.find<Status(int*)>("cuDeviceGetCount");
  auto* get = cuda.find<Status(int*, int)>("cuDeviceGet");
  auto* uuid_of = cuda.find<Status(Uuid*, int)>("cuDeviceGetUuid");
  if (count_of == nullptr || get == nullptr || uuid_of == nullptr) {
    return Error{ErrorCode::kUnsupported, cuda.path() + " lacks the device calls"};
  }
  int count = 0;
  if (const Status status = count_of(&count); status != 0)
    return refused("cuDeviceGetCount", status);
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    int device = 0;
    Uuid found{};
    if (get(&device, ordinal) == 0 && uuid_of(&found, device) == 0 && uuidText(found) == uuid)
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
  auto* init = cuda->find<Status(unsigned)>("cuInit");
  auto* retain = cuda->find<Status(void**, int)>("cuDevicePrimaryCtxRetain");
  auto* release = cuda->find<Status(int)>("cuDevicePrimaryCtxRelease_v2");
  if (init == nullptr || retain == nullptr)
    return Error{ErrorCode::kUnsupported, cuda->path() + " lacks cuInit"};
  if (const Status status = init(0); status != 0) return refused("cuInit", status);
  Result<int> device = findDevice(*cuda, uuid);
  if (!device) return device.error();
  Result<Sample> before = sample(*nvml, index);
  if (!before) return before.error();
  void* context = nullptr;
  if (const Status status = retain(&context, *device); status != 0) {
    return refused("cuDevicePrimaryCtxRetain", status);
  }
  Result<Sample> after = sample(*nvml, index);
  if (release != nullptr) release(*device);
  if (!after) return after.error();
  return after->process ? *after->process : after->device - before->device;
}

}  // namespace divvy::driver
