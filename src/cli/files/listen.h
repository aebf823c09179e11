// Addresses that a program listens on. Private.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace divvy::cli {

// Parses "HOST:PORT"; an IPv6 address is in brackets. Empty text changes nothing. kUsage: the
// message names the option and the accepted form.
Result<void> readListen(const std::string& text, const char* option, std::string* host,
                        std::uint16_t* port);

}  // namespace divvy::cli
