#include "kube/assignment_text.h"

#include <utility>

#include <boost/json.hpp>

namespace divvy::kube {

namespace json = boost::json;

std::string encodeDecided(const Labels& words) {
  json::object object;
  for (const auto& [key, value] : words) object[key] = value;
  return json::serialize(object);
}

Result<std::optional<Labels>> decidedIn(const Labels& annotations) {
  const auto found = annotations.find(kDecidedKey);
  if (found == annotations.end()) return std::optional<Labels>();
  const auto bad = [&](const std::string& what) {
    return Error{ErrorCode::kCorrupt, "the words that the scheduler decided cannot be read (" +
                                          std::string(kDecidedKey) + ": " + what + ')'};
  };
  boost::system::error_code fault;
  const json::value read = json::parse(found->second, fault);
  if (fault) return bad("not JSON: " + fault.message());
  if (!read.is_object()) return bad("not an object of strings");
  Labels words;
  for (const auto& [key, value] : read.get_object()) {
    if (!value.is_string()) return bad(std::string(key) + " is not a string");
    words.emplace(std::string(key), std::string(value.get_string()));
  }
  return std::optional(std::move(words));
}

Result<void> decideWord(const std::string& key, const std::string& value, Labels* annotations) {
  Result<std::optional<Labels>> words = decidedIn(*annotations);
  if (!words) return words.error();
  (*annotations)[key] = value;
  if (!*words) return {};
  (**words)[key] = value;
  (*annotations)[kDecidedKey] = encodeDecided(**words);
  return {};
}

}  // namespace divvy::kube
