// Which of our functions stands for an address that the driver's cuGetProcAddress gave out.
#pragma once

#include <cstdint>

#include "loader/driver_table.h"

namespace divvy::interposer {

// The entry point that `address` is, given that the driver returned it for `family` at this version
// and with these flags. An exported entry of the family with that address decides; where there is
// none (the driver may hand out functions that it does not export), or several (versions that share
// their code), the list does: the newest `since` not above the version, in the mode of the flags.
abi::Cu identify(const abi::Family& family, int version, cuuint64_t flags, const void* address);

// The entry point that the list chooses; kCount if the name is younger than the version.
abi::Cu chooseByList(const abi::Family& family, int version, cuuint64_t flags);

}  // namespace divvy::interposer
