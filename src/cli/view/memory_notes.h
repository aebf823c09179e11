// Texts about oversubscribed memory. Pure.
#pragma once

#include <string>
#include <vector>

#include "agent/protocol.h"

namespace divvy::cli {

// Returns whether a device of the node is oversubscribed, or a tenant takes turns on one.
bool oversubscribed(const agent::Snapshot& node);

// Returns the NOTES of `divvy ls`: "waits for its turn", "paused: memory lent to web", "idle 3h".
std::vector<std::string> memoryNotes(const agent::TenantView& tenant, const agent::Snapshot& node);

// Returns why a tenant's memory makes it slow; one sentence each.
std::vector<std::string> whyWithoutMemory(const agent::TenantView& tenant,
                                          const agent::Snapshot& node);

// Returns "1.5x".
std::string ratioWord(unsigned permille);
// Returns "swaps 1.2s, turns 500ms", "thrash risk: ..."; empty: nothing notable.
std::string deviceNote(const agent::DeviceView& device);

}  // namespace divvy::cli
