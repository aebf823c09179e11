// Why a tenant is slow, in plain words. Pure: what the agent told in, sentences out.
#pragma once

#include <string>
#include <vector>

#include "agent/protocol.h"

namespace divvy::cli {

// One reason each, the weightiest first, about 76 columns at most with names of usual length. Empty
// when nothing holds `tenant` (one of `node`'s) back that Divvy knows of.
std::vector<std::string> whySlow(const agent::TenantView& tenant, const agent::Snapshot& node);

}  // namespace divvy::cli
