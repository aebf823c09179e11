#include "report/format.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <sstream>

namespace divvy::doctor {
namespace {

// A version has no longer numbers.
constexpr std::size_t kMaxDigits = 9;

std::uint64_t takeNumber(const std::string& text, std::size_t* at) {
  std::uint64_t number = 0;
  for (std::size_t digits = 0; *at < text.size() && digits < kMaxDigits; ++*at, ++digits) {
    const char c = text[*at];
    if (c < '0' || c > '9') break;
    number = number * 10 + static_cast<unsigned>(c - '0');
  }
  return number;
}

bool isVersion(const std::string& word) {
  bool dot = false, digit = false;
  for (const char c : word) {
    if (c == '.' && !digit) return false;
    if (c != '.' && (c < '0' || c > '9')) return false;
    dot = dot || c == '.';
    digit = c != '.';
  }
  return dot && digit;
}

}  // namespace

std::string joined(const std::vector<std::string>& words, std::size_t most) {
  std::string text;
  const std::size_t shown = words.size() > most + 1 ? most : words.size();
  for (std::size_t at = 0; at < shown; ++at) {
    const bool last = at + 1 == shown && shown == words.size();
    text += (at == 0 ? "" : last ? " and " : ", ") + words[at];
  }
  if (shown < words.size()) text += " and " + std::to_string(words.size() - shown) + " more";
  return text;
}

std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string modeText(unsigned mode) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%04o", mode & 07777u);
  return text.data();
}

int compareVersions(const std::string& a, const std::string& b) {
  std::size_t in_a = 0, in_b = 0;
  while (in_a < a.size() && in_b < b.size()) {
    const std::uint64_t left = takeNumber(a, &in_a), right = takeNumber(b, &in_b);
    if (left != right) return left < right ? -1 : 1;
    if (in_a >= a.size() || in_b >= b.size() || a[in_a] != '.' || b[in_b] != '.') break;
    ++in_a;
    ++in_b;
  }
  return 0;
}

std::string versionIn(const std::string& text) {
  std::istringstream words(text);
  std::string word;
  while (words >> word)
    if (isVersion(word)) return word;
  return "";
}

}  // namespace divvy::doctor
