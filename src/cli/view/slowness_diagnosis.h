// Reasons why a tenant is slow. Pure.
#pragma once

#include <string>
#include <vector>

#include "agent/protocol.h"

namespace divvy::cli {

// Returns one reason each, the most important first, of about 76 columns with usual names. Empty:
// no known reason holds back `tenant`, which is on `node`.
std::vector<std::string> whySlow(const agent::TenantView& tenant, const agent::Snapshot& node);

}  // namespace divvy::cli
