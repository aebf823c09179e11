// libdivvy-timeslice.so: detects the creation of the driver's channel groups and sets their time
// slices.
//
// The driver reaches the kernel module through libc's ioctl. Every call is passed on to the next
// library. Only successful calls are examined, so that no pointer is read that the kernel refused.
#include "interposer/timeslice.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "abi/rm_ioctl.h"
#include "support/syscalls.h"
#include "timeslice/channel_groups.h"

namespace divvy::interposer {
namespace {

namespace rm = abi::rm;

using Ioctl = int(int, unsigned long, ...);

constexpr unsigned kLongestSlice = 1'000'000;
// A group may refuse until the driver has set its engine.
constexpr std::uint32_t kMaxTries = 16;
constexpr unsigned kErrnoFault = 0x10000;

// All zero at the start: nothing here has a constructor.
constinit ChannelGroups groups{};
constinit std::atomic<Ioctl*> next_ioctl{nullptr};
constinit std::atomic<unsigned> wanted_slice{0};  // 1 + microseconds; 0: not read yet
constinit std::atomic<unsigned> last_fault{0};

int kernelIoctl(int fd, unsigned long request, ...) {
  va_list rest;
  va_start(rest, request);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  return static_cast<int>(::syscall(SYS_ioctl, fd, request, argument));
}

Ioctl* nextIoctl() {
  Ioctl* next = next_ioctl.load(std::memory_order_relaxed);
  if (__builtin_expect(next != nullptr, 1)) return next;
  const ErrnoKeeper keeper;
  next = reinterpret_cast<Ioctl*>(::dlsym(RTLD_NEXT, "ioctl"));
  if (next == nullptr) next = kernelIoctl;
  next_ioctl.store(next, std::memory_order_relaxed);
  return next;
}

// 0: no slice is wanted.
unsigned wantedSlice() {
  const unsigned known = wanted_slice.load(std::memory_order_relaxed);
  if (known != 0) return known - 1;
  unsigned micros = 0;
  const char* text = ::getauxval(AT_SECURE) != 0 ? nullptr : ::getenv("DIVVY_TIMESLICE_US");
  for (; text != nullptr && *text != '\0'; ++text) {
    const bool good = *text >= '0' && *text <= '9' && micros <= kLongestSlice;
    micros = good ? micros * 10 + static_cast<unsigned>(*text - '0') : 0;
    if (!good) break;
  }
  if (micros > kLongestSlice) micros = kLongestSlice;
  wanted_slice.store(micros + 1, std::memory_order_relaxed);
  return micros;
}

bool setSlice(unsigned number, unsigned micros) {
  ChannelGroup group;
  if (!groups.get(number, &group)) return false;
  const ErrnoKeeper keeper;
  rm::TimesliceParams params{micros};
  rm::Control control{
      group.client,  group.object, rm::kSetTimeslice, 0, reinterpret_cast<std::uint64_t>(&params),
      sizeof params, rm::kOk};
  const int result = nextIoctl()(group.fd, rm::request(rm::kControl, sizeof control), &control);
  if (result == 0 && control.status == rm::kOk) return true;
  last_fault.store(result == 0 ? control.status : kErrnoFault + static_cast<unsigned>(errno),
                   std::memory_order_relaxed);
  return false;
}

void trySlice(unsigned number) {
  const unsigned micros = wantedSlice();
  if (micros == 0 || number >= ChannelGroups::kCapacity) return;
  std::atomic<std::uint32_t>& tries = groups.tries(number);
  if (setSlice(number, micros)) {
    tries.store(ChannelGroups::kDone, std::memory_order_relaxed);
  } else {
    tries.fetch_add(1, std::memory_order_relaxed);
  }
}

void allocated(int fd, std::uint32_t client, std::uint32_t object, std::uint32_t object_class,
               std::uint32_t status) {
  if (object_class != rm::kChannelGroupClass || status != rm::kOk) return;
  groups.remove(client, object);  // a name that is used again was freed without a visible call
  if (groups.add({fd, client, object})) trySlice(groups.find(client, object));
}

void controlled(const rm::Control& control) {
  const unsigned number = groups.find(control.client, control.object);
  if (number == ChannelGroups::kCapacity) return;
  const std::uint32_t tries = groups.tries(number).load(std::memory_order_relaxed);
  // The driver's own slice follows ours, so ours is set again.
  const bool again = control.command == rm::kSetTimeslice;
  if (again || (tries != ChannelGroups::kDone && tries < kMaxTries)) trySlice(number);
}

// Examines a request that the kernel carried out.
void watch(int fd, unsigned number, unsigned long size, const void* argument) {
  if (number == rm::kAlloc && size == sizeof(rm::AllocWithRights)) {
    const auto& alloc = *static_cast<const rm::AllocWithRights*>(argument);
    allocated(fd, alloc.client, alloc.object, alloc.object_class, alloc.status);
  } else if (number == rm::kAlloc && size == sizeof(rm::Alloc)) {
    const auto& alloc = *static_cast<const rm::Alloc*>(argument);
    allocated(fd, alloc.client, alloc.object, alloc.object_class, alloc.status);
  } else if (number == rm::kControl && size == sizeof(rm::Control)) {
    controlled(*static_cast<const rm::Control*>(argument));
  } else if (number == rm::kFree && size == sizeof(rm::Free)) {
    const auto& freed = *static_cast<const rm::Free*>(argument);
    if (freed.status == rm::kOk) groups.remove(freed.client, freed.object);
  }
}

}  // namespace
}  // namespace divvy::interposer

extern "C" __attribute__((visibility("default"))) int ioctl(int fd, unsigned long request,
                                                            ...) noexcept {
  using namespace divvy::interposer;
  va_list rest;
  va_start(rest, request);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  const int result = nextIoctl()(fd, request, argument);
  if (__builtin_expect(!rm::isOurs(request), 1) || result != 0 || argument == nullptr)
    return result;
  if (rm::numberOf(request) != rm::kTransfer) {
    watch(fd, rm::numberOf(request), rm::sizeOf(request), argument);
  } else if (rm::sizeOf(request) == sizeof(rm::Transfer)) {
    const auto& inner = *static_cast<const rm::Transfer*>(argument);
    watch(fd, inner.number, inner.size, reinterpret_cast<const void*>(inner.pointer));
  }
  return result;
}

unsigned divvy_timeslice_groups() noexcept {
  return divvy::interposer::groups.count();
}

unsigned divvy_timeslice_set(unsigned first, unsigned end, unsigned micros) noexcept {
  unsigned taken = 0;
  for (unsigned i = first; i < end && i < divvy::interposer::ChannelGroups::kCapacity; ++i)
    taken += divvy::interposer::setSlice(i, micros);
  return taken;
}

unsigned divvy_timeslice_fault() noexcept {
  return divvy::interposer::last_fault.load(std::memory_order_relaxed);
}
