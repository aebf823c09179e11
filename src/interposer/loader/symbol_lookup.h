// The hook for an address that the driver's cuGetProcAddress returned.
#pragma once

#include <cstdint>

#include "loader/driver_table.h"

namespace divvy::interposer {

// Returns the entry point of `address`, which the driver returned for `family` at this version and
// with these flags. An exported entry of the family with that address decides. There may be none,
// because the driver may return functions that it does not export. There may be several, because
// versions may share code. Then the list decides: the newest `since` not above the version, in the
// mode of the flags.
abi::Cu identify(const abi::Family& family, int version, cuuint64_t flags, const void* address);

// Returns the entry point that the list chooses; kCount if the name is newer than the version.
abi::Cu chooseByList(const abi::Family& family, int version, cuuint64_t flags);

}  // namespace divvy::interposer
