#include "http/answer.h"

#include <utility>

#include "tokens.h"

namespace divvy::http {
namespace {

std::string_view opaquePart(std::string_view tag) {
  if (tag.starts_with("W/")) tag.remove_prefix(2);
  return tag;
}

}  // namespace

Answer plainText(unsigned status, std::string text) {
  return {status, std::move(text) + '\n', "text/plain"};
}

// A tag may have a comma, so the list is read tag by tag.
bool matchesTag(std::string_view if_none_match, std::string_view tag) {
  if (trimmed(if_none_match) == "*") return true;
  const std::string_view wanted = opaquePart(tag);
  while (!if_none_match.empty()) {
    const std::size_t begin = if_none_match.find('"');
    if (begin == if_none_match.npos) return false;
    const std::size_t end = if_none_match.find('"', begin + 1);
    if (end == if_none_match.npos) return false;
    if (if_none_match.substr(begin, end + 1 - begin) == wanted) return true;
    if_none_match.remove_prefix(end + 1);
  }
  return false;
}

}  // namespace divvy::http
