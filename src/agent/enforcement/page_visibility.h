// Whether the processes of containers see the pages of their own share where the library looks for
// them. A volume that lies over them, say by a link in the image, has limits of the tenant's own.
// Private.
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
  kUntold,  // the process has another root, too many mounts, or it has gone
};

// `control`: the tenant's control page, as placeOf() has it; its other pages lie beside it. Pure.
PageVisibility pageVisibility(std::string_view mountinfo, const MountedFile& control);
// Of a living process; kOurs for tenants that are not in a container.
PageVisibility pageVisibilityOf(const Tenant& tenant, int pid);

// Asks about each process again and again, a bounded number in each look. On the agent's one
// thread.
class PageVisibilityMonitor {
 public:
  static constexpr unsigned kPerLook = 32;
  using ShareRequest = std::function<PageVisibility(const Tenant&, int pid)>;
  explicit PageVisibilityMonitor(ShareRequest ask) : ask_(std::move(ask)) {}

  // Forgets processes that were not asked about since the last call.
  void begin();
  // False: it sees others'. A process that never saw ours has to; later on it may take another
  // root, in which nothing can be told.
  bool good(const Tenant& tenant, int pid, std::uint64_t start_time);

 private:
  struct Known {
    std::uint64_t start_time = 0;
    std::uint64_t asked = 0;   // the look in which it was last looked at; 0: never
    std::uint64_t wanted = 0;  // in which it was last asked about
    bool saw_ours = false;
    bool good = true;
  };
  ShareRequest ask_;
  std::map<int, Known> known_;
  std::uint64_t look_ = 0;
  unsigned left_ = 0;
};

}  // namespace divvy::agent
