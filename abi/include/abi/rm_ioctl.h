// The few ioctls of NVIDIA's kernel module that concern channel groups, as its open sources lay
// them out (open-gpu-kernel-modules: nv_escape.h, nv-ioctl-numbers.h, nv-ioctl.h, nvos.h, cla06c.h,
// ctrla06c.h; the same in the branches 515 to 580). A context's work is scheduled by channel group.
#pragma once

#include <cstdint>

namespace divvy::abi::rm {

inline constexpr unsigned kMagic = 'F';  // type byte of the request

// Number byte of the request.
inline constexpr unsigned kFree = 0x29;
inline constexpr unsigned kControl = 0x2a;
inline constexpr unsigned kAlloc = 0x2b;
inline constexpr unsigned kTransfer = 211;  // holds a Transfer: another request, by number and size

inline constexpr std::uint32_t kChannelGroupClass = 0xa06c;
inline constexpr std::uint32_t kSetTimeslice = 0xa06c0103;  // parameter: TimesliceParams
inline constexpr std::uint32_t kOk = 0;
inline constexpr std::uint32_t kInsufficientPermissions = 0x1b;
inline constexpr std::uint32_t kInvalidArgument = 0x1f;

struct Transfer {
  std::uint32_t number;
  std::uint32_t size;
  std::uint64_t pointer;
};

struct Free {
  std::uint32_t client;
  std::uint32_t parent;
  std::uint32_t object;
  std::uint32_t status;
};

// An allocation comes in two sizes.
struct Alloc {
  std::uint32_t client;
  std::uint32_t parent;
  std::uint32_t object;
  std::uint32_t object_class;
  std::uint64_t params;
  std::uint32_t params_size;
  std::uint32_t status;
};

struct AllocWithRights {
  std::uint32_t client;
  std::uint32_t parent;
  std::uint32_t object;
  std::uint32_t object_class;
  std::uint64_t params;
  std::uint64_t rights;
  std::uint32_t params_size;
  std::uint32_t flags;
  std::uint32_t status;
  std::uint32_t padding;
};

struct Control {
  std::uint32_t client;
  std::uint32_t object;
  std::uint32_t command;
  std::uint32_t flags;
  std::uint64_t params;
  std::uint32_t params_size;
  std::uint32_t status;
};

struct TimesliceParams {
  std::uint64_t micros;
};

static_assert(sizeof(Transfer) == 16 && sizeof(Free) == 16 && sizeof(Alloc) == 32);
static_assert(sizeof(AllocWithRights) == 48 && sizeof(Control) == 32);
static_assert(sizeof(TimesliceParams) == 8);

// As _IOC composes them, both directions.
constexpr unsigned long request(unsigned number, unsigned long size) {
  return 3ul << 30 | size << 16 | kMagic << 8 | number;
}
constexpr unsigned numberOf(unsigned long request) {
  return request & 0xff;
}
constexpr unsigned sizeOf(unsigned long request) {
  return static_cast<unsigned>(request >> 16) & 0x3fff;
}
constexpr bool isOurs(unsigned long request) {
  const unsigned number = numberOf(request);
  return (request >> 8 & 0xff) == kMagic &&
         (number == kFree || number == kControl || number == kAlloc || number == kTransfer);
}

}  // namespace divvy::abi::rm
