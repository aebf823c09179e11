// What people are told about memory that is promised more than once. Pure.
#pragma once

#include <string>
#include <vector>

#include "agent/protocol.h"

namespace divvy::cli {

// Some device of these nodes is promised more than once, or some tenant takes turns on one.
bool oversubscribed(const agent::Snapshot& node);

// "waits for its turn", "paused: memory lent to web", "idle 3h": what stands in NOTES of `divvy
// ls`.
std::vector<std::string> memoryNotes(const agent::TenantView& tenant, const agent::Snapshot& node);

// Why its memory makes it slow; one sentence each.
std::vector<std::string> whyWithoutMemory(const agent::TenantView& tenant,
                                          const agent::Snapshot& node);

// "1.5x".
std::string ratioWord(unsigned permille);
// "swaps 1.2s, turns 500ms", "thrash risk: ..."; empty: nothing worth a word.
std::string deviceNote(const agent::DeviceView& device);

}  // namespace divvy::cli
