// Whether the processes of a container see the pages of their own share at the library's paths. A
// volume mounted over them, for example through a link in the image, would have the tenant's own
// limits. Private.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>

#include "os/mountinfo.h"

namespace divvy::agent {

struct Tenant;

enum class PageVisibility : std::uint8_t {
  kOurs,
  kOthers,  // another file is there
  kUntold,  // unknown: the process has another root, too many mounts, or it has ended
};

// `control`: the tenant's control page, as placeOf() has it; its other pages lie beside it. Pure.
PageVisibility pageVisibility(std::string_view mountinfo, const MountedFile& control);
// For a running process; kOurs for tenants that are not in a container.
PageVisibility pageVisibilityOf(const Tenant& tenant, int pid);

// Checks each process repeatedly, a bounded number in each look. On the agent's one thread.
class PageVisibilityMonitor {
 public:
  static constexpr unsigned kPerLook = 32;
  using ShareRequest = std::function<PageVisibility(const Tenant&, int pid)>;
  explicit PageVisibilityMonitor(ShareRequest ask) : ask_(std::move(ask)) {}

  // Begins a look. Drops processes that good() was not called for since the last one.
  void begin();
  // Returns false if the process sees other files. A process must have seen our pages once. Later
  // it may change its root, after which nothing can be determined.
  bool good(const Tenant& tenant, int pid, std::uint64_t start_time);

 private:
  struct Known {
    std::uint64_t start_time = 0;
    std::uint64_t asked = 0;   // the look in which it was last checked; 0: never
    std::uint64_t wanted = 0;  // the look in which good() was last called for it
    bool saw_ours = false;
    bool good = true;
  };
  ShareRequest ask_;
  std::map<int, Known> known_;
  std::uint64_t look_ = 0;
  unsigned left_ = 0;
};

}  // namespace divvy::agent
