#include "yaml/reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <utility>

namespace divvy {
namespace {

std::string placeOf(const YAML::Mark& mark) {
  if (mark.is_null()) return "";
  return ":" + std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1);
}

// Its line; 0: there is none. The library looks at the first only, and never ends on some texts
// when it is asked for all.
std::size_t secondDocument(const std::string& text) {
  bool content = false;
  std::size_t line = 1;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const bool marker = text.compare(at, 3, "---") == 0;
    if (marker && content) return line;
    content = content || marker || (end > at && text[at] != '#');
    at = end + 1;
  }
  return 0;
}

// "0.5", "100"
std::string plain(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", value);
  return text.data();
}

// Nothing that a terminal would obey.
std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c >= 0x7f; }, '?');
  return text;
}

// For a message: short.
std::string shown(const std::string& text) {
  constexpr std::size_t kMax = 40;
  return text.size() > kMax ? text.substr(0, kMax) + "..." : text;
}

}  // namespace

void YamlReader::fail(const YAML::Node& at, const std::string& what) {
  if (error_) return;
  error_ = Error(ErrorCode::kUsage, source_ + placeOf(at.Mark()) + ": " + printable(what));
}

std::optional<YAML::Node> YamlReader::parse(const std::string& text) {
  if (const std::size_t line = secondDocument(text); line != 0) {
    error_ = Error(ErrorCode::kUsage, source_ + ":" + std::to_string(line) +
                                          ":1: another document begins; accepted: one");
    return std::nullopt;
  }
  try {
    return YAML::Load(text);
  } catch (const YAML::Exception& wrong) {
    error_ = Error(ErrorCode::kUsage, source_ + placeOf(wrong.mark) + ": " + printable(wrong.msg));
  }
  return std::nullopt;
}

bool YamlReader::map(const YAML::Node& node, std::initializer_list<std::string_view> keys) {
  if (error_) return false;
  std::string accepted;
  for (const std::string_view key : keys)
    accepted += (accepted.empty() ? "" : ", ") + std::string(key);
  if (!node.IsMap()) {
    fail(node, "is not a map; accepted: a map with " + accepted);
    return false;
  }
  std::vector<std::string> seen;
  for (const auto& entry : node) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      fail(entry.first, "unknown key \"" + shown(key) + "\"; accepted: " + accepted);
    if (std::find(seen.begin(), seen.end(), key) != seen.end())
      fail(entry.first, "\"" + shown(key) + "\" is given twice");
    seen.push_back(key);
  }
  return !error_;
}

std::optional<std::string> YamlReader::scalar(const YAML::Node& node, const char* wanted) {
  if (error_) return std::nullopt;
  if (node.IsScalar() && !node.Scalar().empty()) return node.Scalar();
  fail(node, std::string("accepted: ") + wanted);
  return std::nullopt;
}

void YamlReader::text(const YAML::Node& map, const char* key, std::string* out) {
  if (error_ || !map[key]) return;
  if (auto found = scalar(map[key], "a text")) *out = std::move(*found);
}

std::uint64_t YamlReader::numberOf(const YAML::Node& item, std::uint64_t least,
                                   std::uint64_t most) {
  const std::string wanted =
      "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  const auto found = scalar(item, wanted.c_str());
  if (!found) return least;
  std::uint64_t value = 0;
  const char* end = found->data() + found->size();
  const auto [at, failed] = std::from_chars(found->data(), end, value);
  if (failed != std::errc{} || at != end || value < least || value > most) {
    fail(item, "\"" + shown(*found) + "\"; accepted: " + wanted);
    return least;
  }
  return value;
}

void YamlReader::number(const YAML::Node& map, const char* key, std::uint64_t least,
                        std::uint64_t most, std::uint64_t* out) {
  if (!error_ && map[key]) *out = numberOf(map[key], least, most);
}

void YamlReader::number(const YAML::Node& map, const char* key, std::uint32_t least,
                        std::uint32_t most, std::uint32_t* out) {
  if (!error_ && map[key]) *out = static_cast<std::uint32_t>(numberOf(map[key], least, most));
}

double YamlReader::decimalOf(const YAML::Node& item, double least, double most) {
  const std::string wanted = "a number from " + plain(least) + " to " + plain(most);
  const auto found = scalar(item, wanted.c_str());
  if (!found) return least;
  double value = 0;
  const char* end = found->data() + found->size();
  const auto [at, failed] = std::from_chars(found->data(), end, value, std::chars_format::fixed);
  // Written so that what is no number at all is refused too.
  if (failed == std::errc{} && at == end && value >= least && value <= most) return value;
  fail(item, "\"" + shown(*found) + "\"; accepted: " + wanted);
  return least;
}

void YamlReader::decimal(const YAML::Node& map, const char* key, double least, double most,
                         double* out) {
  if (!error_ && map[key]) *out = decimalOf(map[key], least, most);
}

void YamlReader::word(const YAML::Node& map, const char* key,
                      std::initializer_list<std::string_view> words, std::size_t* out) {
  if (error_ || !map[key]) return;
  std::string accepted;
  for (const std::string_view word : words)
    accepted += (accepted.empty() ? "" : ", ") + std::string(word);
  const auto found = scalar(map[key], accepted.c_str());
  if (!found) return;
  const auto at = std::find(words.begin(), words.end(), *found);
  if (at == words.end())
    fail(map[key], "\"" + shown(*found) + "\"; accepted: " + accepted);
  else
    *out = static_cast<std::size_t>(at - words.begin());
}

Bytes YamlReader::bytesOf(const YAML::Node& item) {
  const auto found = scalar(item, "bytes, as 512Mi");
  if (!found) return {};
  const auto parsed = parseBytes(*found);
  if (parsed) return *parsed;
  fail(item, parsed.error().message());
  return {};
}

void YamlReader::bytes(const YAML::Node& map, const char* key, Bytes* out) {
  if (!error_ && map[key]) *out = bytesOf(map[key]);
}

void YamlReader::flag(const YAML::Node& map, const char* key, bool* out) {
  if (error_ || !map[key]) return;
  const auto found = scalar(map[key], "true or false");
  if (!found) return;
  if (*found != "true" && *found != "false")
    fail(map[key], "\"" + shown(*found) + "\"; accepted: true or false");
  *out = *found == "true";
}

void YamlReader::list(const YAML::Node& map, const char* key,
                      const std::function<void(const YAML::Node&)>& each) {
  if (error_ || !map[key]) return;
  if (!map[key].IsSequence() || map[key].size() == 0) {
    fail(map[key], std::string(key) + " is not a list; accepted: a list that is not empty");
    return;
  }
  for (const auto& item : map[key]) {
    each(item);
    if (error_) return;
  }
}

std::optional<YAML::Node> YamlReader::child(const YAML::Node& parent, const char* key,
                                            std::initializer_list<std::string_view> keys) {
  if (error_ || !parent[key] || !map(parent[key], keys)) return std::nullopt;
  return parent[key];
}

void YamlReader::require(const YAML::Node& map, const char* key) {
  if (!error_ && !map[key]) fail(map, std::string("lacks ") + key);
}

}  // namespace divvy
