// How small a share may become while it is had, and what is to be said of one that becomes so.
// Pure. Private.
#pragma once

#include <string>

#include "agent/placement.h"
#include "base/result.h"
#include "tenant/tenant_record.h"

namespace divvy::agent {

// As where it is asked for at first: kUsage where it becomes less than one context costs there and
// contexts count inside (`inside`), so that no program could start in it again.
Result<void> checkContext(const Card& card, const ShareRecord& old, const ShareRecord& wanted,
                          bool inside);

// What a pod's container has already stays: of memory that cannot be swapped nothing is taken away.
// `used`: all of the share that is in use; `pinned`: of that, where the rest can be swapped, what
// cannot. kNoRoom: it is more than is wanted.
Result<void> checkUse(const ShareRecord& wanted, Bytes used, Bytes pinned);

// For whoever made a share smaller than what is in use of it; empty: there is nothing to say.
std::string overuseNote(const Card& card, const ShareRecord& wanted, Bytes used);

}  // namespace divvy::agent
