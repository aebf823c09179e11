// Judging the first 64 bytes of any page: who maps one and who only looks refuse the same files.
#pragma once

#include "ledger/pages.h"

namespace divvy::ledger {

// kOk, or why a file that begins with `id` and is `file_size` bytes long must not be used.
OpenStatus checkIdentification(const Identification& id, std::uint64_t magic,
                               std::uint64_t page_size, std::uint64_t file_size);

// kOk, kStaleBoot. A machine whose boot id cannot be read is not checked.
OpenStatus checkBoot(const Identification& id);

// kOk or kBadValues: counts and limits of a control page, as found at opening.
OpenStatus checkControl(const ControlPage& page);

}  // namespace divvy::ledger
