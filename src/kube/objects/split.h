// Splits strings at a character, and reads numbers. Private.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace divvy::kube {

// Splits at every `at`: "a,b," has three parts, the last one empty.
inline std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Splits a text of parts that all end with `by`: "a:b:" has two parts. Returns nothing if the last
// part has no end.
inline std::optional<std::vector<std::string_view>> ended(std::string_view text, char by) {
  std::vector<std::string_view> parts = split(text, by);
  if (!parts.back().empty()) return std::nullopt;
  parts.pop_back();
  return parts;
}

// Reads decimal digits only. Returns nothing for anything else, and beyond 64 bits.
inline std::optional<std::uint64_t> wholeOf(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace divvy::kube
