// Snapshots as JSON (docs/reference/snapshot.md). Pure: text in, values out.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "snapshot/snapshot.h"

namespace divvy::snapshot {

// Parses a whole snapshot. An engine accepts the result without further checks. `name` is that of
// the file, for messages. kUsage, with "NAME:LINE:COLUMN: PATH: cause; accepted input":
// - text that is not JSON; another schema; another version, with both in the message;
// - members that are unknown, repeated, missing, or of a wrong type or size;
// - contents that no engine accepts: two nodes or requests of one name, an allocation on a missing
//   node, impossible nodes and requests.
Result<Snapshot> parse(std::string_view text, const std::string& name);

// Returns the snapshot as JSON. Omits members with default values. Control characters, and bytes
// that are not UTF-8, become '?'. parse(write(s)) equals s. write(parse(t)) equals t if this
// version wrote t.
std::string write(const Snapshot& snapshot);

}  // namespace divvy::snapshot
