#include "cuda/engine/channel_group.h"

#include <dlfcn.h>
#include <sys/ioctl.h>

#include <map>
#include <mutex>

#include "abi/rm_ioctl.h"
#include "cuda/engine/engine.h"
#include "rm_stub.h"

namespace divvy::simgpu {

namespace {

namespace rm = abi::rm;

// Any number works; real ones have this form.
constexpr std::uint32_t kClient = 0xc1d00001;
constexpr std::uint32_t kFirstObject = 0x5c000001;

// The groups of this process, by name.
struct Groups {
  std::mutex mutex;
  std::map<std::uint32_t, ExecContext*> by_object;
  std::uint32_t next = kFirstObject;
  int device = -1;
  bool looked = false;
};

Groups& groups() {
  static auto* all = new Groups;  // contexts may end while the process exits
  return *all;
}

int setSlice(std::uint32_t object, std::uint32_t micros) {
  Groups& all = groups();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_object.find(object);
  if (found == all.by_object.end()) return 1;
  EngineLock engine(found->second->device.engine);
  engine.line().setTimeslice(found->second->lane, Nanos{micros} * 1000);
  return 0;
}

// -1: no library simulates the kernel module.
int openDevice(Groups& all) {
  if (all.looked) return all.device;
  all.looked = true;
  auto* open = reinterpret_cast<decltype(&simgpu_rm_open)>(dlsym(RTLD_DEFAULT, "simgpu_rm_open"));
  if (open != nullptr) all.device = open(setSlice);
  return all.device;
}

}  // namespace

// The lock is not held around the ioctl, because its answer may arrive as setSlice().
void announceChannelGroup(ExecContext& exec) {
  Groups& all = groups();
  rm::AllocWithRights alloc{};
  int device = -1;
  {
    const std::lock_guard lock(all.mutex);
    device = openDevice(all);
    if (device < 0) return;
    alloc.object = all.next++;
    all.by_object[alloc.object] = &exec;
  }
  alloc.client = kClient;
  alloc.object_class = rm::kChannelGroupClass;
  ioctl(device, rm::request(rm::kAlloc, sizeof alloc), &alloc);
}

void withdrawChannelGroup(ExecContext& exec) {
  Groups& all = groups();
  rm::Free freed{kClient, 0, 0, 0};
  int device = -1;
  {
    const std::lock_guard lock(all.mutex);
    device = all.device;
    for (const auto& [object, context] : all.by_object) {
      if (context == &exec) freed.object = object;
    }
    if (freed.object == 0) return;
    all.by_object.erase(freed.object);
  }
  ioctl(device, rm::request(rm::kFree, sizeof freed), &freed);
}

}  // namespace divvy::simgpu
