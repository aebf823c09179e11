// Where a program of ours is to be reached. Private.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace divvy::cli {

// "HOST:PORT", where an IPv6 address is in brackets; empty text changes nothing. kUsage names the
// option and says what is accepted.
Result<void> readListen(const std::string& text, const char* option, std::string* host,
                        std::uint16_t* port);

}  // namespace divvy::cli
