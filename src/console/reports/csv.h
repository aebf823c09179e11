// Fields of CSV. Pure.
#pragma once

#include <string>

namespace divvy::console {

// Returns a text as a field of CSV (RFC 4180), in quotes. A leading sign would make a spreadsheet
// evaluate the field: it gets an apostrophe.
std::string csvField(const std::string& text);

}  // namespace divvy::console
