// How small a share in use may become, and the notes for that. Pure. Private.
#pragma once

#include <string>

#include "agent/placement.h"
#include "base/result.h"
#include "tenant/tenant_record.h"

namespace divvy::agent {

// Applies the rule of new shares. kUsage: the limit changes to less than one context costs, and
// contexts count inside (`inside`); no program could start in it again.
Result<void> checkContext(const Card& card, const ShareRecord& old, const ShareRecord& wanted,
                          bool inside);

// Checks that a pod's container keeps its memory that cannot be swapped. `used`: all use of the
// share. `pinned`: the unswappable part of it, if the rest can be swapped. kNoRoom: more than
// `wanted` permits.
Result<void> checkUse(const ShareRecord& wanted, Bytes used, Bytes pinned);

// The note for a share that became smaller than its use; empty: none.
std::string overuseNote(const Card& card, const ShareRecord& wanted, Bytes used);

}  // namespace divvy::agent
