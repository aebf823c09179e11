// Snapshots as JSON (docs/reference/snapshot.md). Pure: text in, values out.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "snapshot/snapshot.h"

namespace divvy::snapshot {

// All of it or nothing. kUsage says "NAME:LINE:COLUMN: PATH: what is wrong; what is accepted":
// of no JSON, of another schema or a newer version (both are told), of members that are unknown,
// there twice, missing, of a wrong type or size; and of what no engine takes: two nodes or requests
// of one name, an allocation on a node that is not there, nodes and requests that can never be.
// What was read can be given to an engine as it is.
Result<Snapshot> parse(std::string_view text, const std::string& name);

// Members that are as they are by default are left out. Control characters, and bytes that are no
// UTF-8, become '?'. parse(write(s)) is s, and write(parse(t)) is t where t was written by this
// version.
std::string write(const Snapshot& snapshot);

}  // namespace divvy::snapshot
