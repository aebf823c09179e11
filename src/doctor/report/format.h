// Formats lists, counts and sizes for sentences.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace divvy::doctor {

// Returns "a, b and 3 more"; empty for no words.
std::string joined(const std::vector<std::string>& words, std::size_t most = 6);
// Returns "1 card", "2 cards".
std::string counted(std::size_t count, const std::string& noun);
// Returns permission bits as "0755".
std::string modeText(unsigned mode);
// Compares numbers between dots, as long as both have one. Returns less than, equal to or more than
// 0: "535.54" is below "535.129".
int compareVersions(const std::string& a, const std::string& b);
// Returns the first word that is numbers separated by dots; empty: none.
std::string versionIn(const std::string& text);

}  // namespace divvy::doctor
