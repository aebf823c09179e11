#include "cuda_device.h"

#include <array>
#include <cstdio>

namespace divvy::driver {
namespace {

using abi::Cu;

constexpr std::size_t kPrefix = 4;

// The text after "GPU-" or "MIG-".
std::string uuidText(const CUuuid& uuid) {
  std::string text;
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    std::array<char, 3> hex{};
    std::snprintf(hex.data(), hex.size(), "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += hex.data();
  }
  return text;
}

}  // namespace

Error refused(const char* call, CUresult status) {
  return {ErrorCode::kUnavailable, std::string(call) + ": CUDA error " + std::to_string(status)};
}

Result<CUdevice> findDevice(const Library& cuda, const std::string& uuid) {
  auto* count_of = cuda.find<Function<Cu::cuDeviceGetCount>>("cuDeviceGetCount");
  auto* get = cuda.find<Function<Cu::cuDeviceGet>>("cuDeviceGet");
  // The newer call returns the UUID of a MIG instance.
  auto* uuid_of = cuda.find<Function<Cu::cuDeviceGetUuid>>("cuDeviceGetUuid_v2");
  if (uuid_of == nullptr) uuid_of = cuda.find<Function<Cu::cuDeviceGetUuid>>("cuDeviceGetUuid");
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
        uuid.size() > kPrefix && uuidText(found) == uuid.substr(kPrefix))
      return device;
  }
  return Error{ErrorCode::kNotFound, "the CUDA driver does not know " + uuid};
}

}  // namespace divvy::driver
