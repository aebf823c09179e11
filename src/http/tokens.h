// Parts of header fields. Source: RFC 9110, 5.6. Private.
#pragma once

#include <algorithm>
#include <string_view>

namespace divvy::http {

inline bool isTokenByte(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         kMarks.find(c) != kMarks.npos;
}

inline bool isToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), isTokenByte);
}

// Returns the text without spaces and tabs at both ends.
inline std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Removes the text up to the next mark, and the mark, and returns the text without spaces.
inline std::string_view takeUntil(std::string_view* text, char mark) {
  const std::size_t end = std::min(text->find(mark), text->size());
  const std::string_view part = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return trimmed(part);
}

}  // namespace divvy::http
