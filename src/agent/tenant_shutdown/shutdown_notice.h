// The file that announces a tenant's shutdown to the tenant and to operators. Private.
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
  std::uint64_t grace_ms = 0;  // from SIGTERM to SIGKILL
};

std::string noticePath(const std::string& tenant_dir);
// Writes the notice atomically. Replaces an existing file.
Result<void> writeNotice(const std::string& tenant_dir, const ShutdownNotice& notice);
void removeNotice(const std::string& tenant_dir);

}  // namespace divvy::agent
