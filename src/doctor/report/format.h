// Lists, counts and sizes as sentences want them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace divvy::doctor {

// "a, b and 3 more"; empty of none.
std::string joined(const std::vector<std::string>& words, std::size_t most = 6);
// "1 card", "2 cards".
std::string counted(std::size_t count, const std::string& noun);
// What of a path's mode people know: "0755".
std::string modeText(unsigned mode);
// Numbers between dots, as long as both have one: below, equal, above 0. "535.54" is below
// "535.129".
int compareVersions(const std::string& a, const std::string& b);
// The first word of a text that is numbers with dots between them; empty: there is none.
std::string versionIn(const std::string& text);
// Milliseconds since 1970 as "2026-01-01T00:00:00Z".
std::string instantText(std::int64_t ms);

}  // namespace divvy::doctor
