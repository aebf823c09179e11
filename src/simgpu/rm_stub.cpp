// libsimgpu-rm.so: simulates the part of NVIDIA's kernel module that sets time slices. Preloaded
// after any library that wraps ioctl. If it is loaded, the simulated driver announces its channel
// groups through it (cuda/engine/channel_group.h).
//
// SIMGPU_RM: "refuse": only the administrator may set time slices; "ignore": they are accepted
// without effect; otherwise they are applied.
#include "rm_stub.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "abi/rm_ioctl.h"

namespace {

namespace rm = divvy::abi::rm;

using Ioctl = int(int, unsigned long, ...);

// The range that the real module accepts, in microseconds.
constexpr std::uint64_t kLongestSlice = 1'000'000;

std::atomic<int> device{-1};
std::atomic<SimgpuSetSlice*> set_slice{nullptr};

std::uint32_t setTimeslice(const rm::Control& control) {
  const char* mode = ::getenv("SIMGPU_RM");
  if (mode != nullptr && ::strcmp(mode, "refuse") == 0) return rm::kInsufficientPermissions;
  rm::TimesliceParams params{};
  if (control.params_size != sizeof params) return rm::kInvalidArgument;
  ::memcpy(&params, reinterpret_cast<const void*>(control.params), sizeof params);
  if (params.micros == 0 || params.micros > kLongestSlice) return rm::kInvalidArgument;
  if (mode != nullptr && ::strcmp(mode, "ignore") == 0) return rm::kOk;
  const bool known =
      set_slice.load()(control.object, static_cast<std::uint32_t>(params.micros)) == 0;
  return known ? rm::kOk : rm::kInvalidArgument;
}

void serve(unsigned long request, void* argument) {
  if (rm::numberOf(request) == rm::kAlloc) static_cast<rm::AllocWithRights*>(argument)->status = 0;
  if (rm::numberOf(request) == rm::kFree) static_cast<rm::Free*>(argument)->status = 0;
  if (rm::numberOf(request) != rm::kControl) return;
  auto& control = *static_cast<rm::Control*>(argument);
  control.status = control.command == rm::kSetTimeslice ? setTimeslice(control) : rm::kOk;
}

}  // namespace

int simgpu_rm_open(SimgpuSetSlice* callback) noexcept {
  set_slice.store(callback);
  device.store(static_cast<int>(::syscall(SYS_memfd_create, "simgpu-rm", MFD_CLOEXEC)));
  return device.load();
}

extern "C" __attribute__((visibility("default"))) int ioctl(int fd, unsigned long request,
                                                            ...) noexcept {
  va_list rest;
  va_start(rest, request);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  if (fd >= 0 && fd == device.load() && rm::isOurs(request)) {
    serve(request, argument);
    return 0;
  }
  auto* next = reinterpret_cast<Ioctl*>(::dlsym(RTLD_NEXT, "ioctl"));
  return next(fd, request, argument);
}
