// Checks of the first 64 bytes of any page: processes that map a page and those that only read it
// refuse the same files.
#pragma once

#include "ledger/pages.h"

namespace divvy::ledger {

// Returns kOk, or why a file of `file_size` bytes that begins with `id` must not be used.
OpenStatus checkIdentification(const Identification& id, std::uint64_t magic,
                               std::uint64_t page_size, std::uint64_t file_size);

// Returns kOk or kStaleBoot. A machine without a readable boot ID is not checked.
OpenStatus checkBoot(const Identification& id);

// Returns kOk or kBadValues: counts and limits of a control page, as found at opening.
OpenStatus checkControl(const ControlPage& page);

}  // namespace divvy::ledger
