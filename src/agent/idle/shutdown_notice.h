// The file that tells a tenant, and whoever looks after it, that it is about to be ended. Private.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace divvy::agent {

struct ShutdownNotice {
  std::string tenant;
  std::string name;
  std::uint64_t idle_ms = 0;
  std::int64_t deadline = 0;  // of SIGTERM; seconds since 1970
  std::uint64_t notice_ms = 0;
  std::uint64_t grace_ms = 0;  // from there to SIGKILL
};

std::string noticePath(const std::string& tenant_dir);
// Whole or not at all; what stands there is replaced.
Result<void> writeNotice(const std::string& tenant_dir, const ShutdownNotice& notice);
void removeNotice(const std::string& tenant_dir);

}  // namespace divvy::agent
