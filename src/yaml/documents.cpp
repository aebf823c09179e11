#include "yaml/documents.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include <yaml-cpp/yaml.h>
#include <boost/json.hpp>

#include "base/utf8.h"

namespace divvy {
namespace {

namespace json = boost::json;

constexpr int kMaxDepth = 100;
constexpr std::size_t kFreeSize = std::size_t{1} << 20;
constexpr std::size_t kMaxGrowth = 4;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool isOneOf(std::initializer_list<std::string_view> words, std::string_view text) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// Of either sign; 0x and 0b, and 0 or 0o for octal numbers, as file modes are written.
std::optional<std::int64_t> wholeOf(std::string_view text) {
  std::string digits;
  if (text.starts_with('-')) digits = "-";
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    base = text[1] == 'x' ? 16 : text[1] == 'b' ? 2 : 8;
    text.remove_prefix(isOneOf({"0x", "0b", "0o"}, text.substr(0, 2)) ? 2 : 1);
  }
  if (text.empty() || text[0] == '-') return std::nullopt;
  digits += text;
  std::int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [at, fault] = std::from_chars(digits.data(), end, value, base);
  return fault == std::errc{} && at == end ? std::optional(value) : std::nullopt;
}

// Neither "nan" nor "inf": JSON has no such numbers.
std::optional<double> numberOf(std::string_view text) {
  const std::size_t first = text.find_first_not_of("+-");
  if (first == std::string_view::npos || first > 1) return std::nullopt;
  if (text[first] != '.' && (text[first] < '0' || text[first] > '9')) return std::nullopt;
  if (text[0] == '+') text.remove_prefix(1);
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [at, fault] = std::from_chars(text.data(), end, value);
  return fault == std::errc{} && at == end ? std::optional(value) : std::nullopt;
}

bool isQuoted(const YAML::Node& node) {
  return node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str";
}

json::value scalarOf(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (isQuoted(node)) return json::string(text);
  if (isOneOf({"", "~", "null", "Null", "NULL"}, text)) return nullptr;
  if (isOneOf({"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"}, text)) return true;
  if (isOneOf({"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"}, text))
    return false;
  if (const auto whole = wholeOf(text)) return *whole;
  if (const auto number = numberOf(text)) return *number;
  return json::string(text);
}

// One document's nodes as JSON. Throws YAML::RepresentationException.
class Expansion {
 public:
  explicit Expansion(std::size_t budget) : budget_(budget) {}

  json::value valueOf(const YAML::Node& node, int depth) {
    charge(node, depth);
    if (node.IsScalar()) return scalarOf(node);
    if (node.IsSequence()) {
      json::array list;
      for (const YAML::Node& item : node) list.push_back(valueOf(item, depth + 1));
      return list;
    }
    if (!node.IsMap()) return nullptr;
    json::object object;
    fill(node, depth, &object);
    return object;
  }

 private:
  [[noreturn]] static void fail(const YAML::Node& node, const char* what) {
    throw YAML::RepresentationException(node.Mark(), what);
  }

  void charge(const YAML::Node& node, int depth) {
    if (depth > kMaxDepth) fail(node, "nested too deeply; accepted: 100 levels");
    const std::size_t size = 1 + (node.IsScalar() ? node.Scalar().size() : 0);
    if (size > budget_)
      fail(node, "its aliases stand for too much; accepted: four times the file, and 1 MiB");
    if (node.IsScalar() && !isUtf8(node.Scalar())) fail(node, "it is not UTF-8");
    budget_ -= size;
  }

  void fill(const YAML::Node& map, int depth, json::object* object) {
    for (const auto& entry : map) {
      if (!entry.first.IsScalar()) fail(entry.first, "a key is not text; accepted: text");
      charge(entry.first, depth);
      if (!isMerge(entry.first)) (*object)[entry.first.Scalar()] = valueOf(entry.second, depth + 1);
    }
    for (const auto& entry : map)
      if (isMerge(entry.first)) merge(entry.second, depth + 1, object);
  }

  static bool isMerge(const YAML::Node& key) { return key.Scalar() == "<<" && !isQuoted(key); }

  // Of several maps an earlier one goes before a later one.
  void merge(const YAML::Node& from, int depth, json::object* into) {
    charge(from, depth);
    if (from.IsSequence()) {
      for (const YAML::Node& map : from) {
        if (!map.IsMap()) fail(map, "\"<<\" merges maps; accepted: a map, or a list of maps");
        merge(map, depth + 1, into);
      }
      return;
    }
    if (!from.IsMap()) fail(from, "\"<<\" merges maps; accepted: a map, or a list of maps");
    json::object merged;
    fill(from, depth, &merged);
    for (auto& [key, value] : merged)
      if (!into->contains(key)) (*into)[key] = std::move(value);
  }

  std::size_t budget_;
};

bool isMarker(std::string_view line) {
  return line.starts_with("---") &&
         (line.size() == 3 || isOneOf({" ", "\t", "\r"}, line.substr(3, 1)));
}

bool hasContent(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t\r");
  return first != std::string_view::npos && line[first] != '#' && line[0] != '%';
}

struct Piece {
  std::string text;
  std::size_t line = 1;
};

// As kubectl splits them: at lines that begin with "---". The library's own LoadAll() never ends on
// some texts.
std::vector<Piece> piecesOf(std::string_view text) {
  std::vector<Piece> pieces(1);
  bool content = false;
  for (std::size_t at = 0, number = 1; at < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (isMarker(line)) {
      if (content) {
        pieces.emplace_back().line = number;
      } else {
        // Directives belong to what follows; the library needs none of them.
        pieces.back() = {{}, number};
      }
      content = false;
    }
    content = content || isMarker(line) || hasContent(line);
    pieces.back().text += text.substr(at, std::min(end + 1, text.size()) - at);
    at = end + 1;
  }
  if (!content) pieces.pop_back();
  return pieces;
}

std::size_t linesIn(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// None: it is no JSON. Objects and lists one after the other.
std::optional<std::vector<YamlDocument>> jsonOf(std::string_view text) {
  std::vector<YamlDocument> documents;
  std::size_t at = 0;
  for (;;) {
    at = std::min(text.find_first_not_of(" \t\r\n", at), text.size());
    if (at == text.size()) return documents;
    if (text[at] != '{' && text[at] != '[') return std::nullopt;
    json::parser parser;
    json::error_code fault;
    const std::size_t used = parser.write_some(text.data() + at, text.size() - at, fault);
    if (fault) return std::nullopt;
    documents.push_back({parser.release(), linesIn(text.substr(0, at)) + 1});
    at += used;
  }
}

Error wrong(const std::string& source, std::size_t line, const std::string& what) {
  return {ErrorCode::kUsage, source + ":" + std::to_string(line) + ": " + what};
}

}  // namespace

Result<std::vector<YamlDocument>> readYamlDocuments(std::string_view text,
                                                    const std::string& source) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return wrong(source, 1, "is UTF-16; accepted: UTF-8");
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (auto documents = jsonOf(text)) return std::move(*documents);
  std::vector<YamlDocument> documents;
  Expansion expansion(kFreeSize + kMaxGrowth * text.size());
  for (const Piece& piece : piecesOf(text)) {
    try {
      documents.push_back({expansion.valueOf(YAML::Load(piece.text), 0), piece.line});
    } catch (const YAML::Exception& fault) {
      const std::size_t line = fault.mark.is_null() ? 0 : static_cast<std::size_t>(fault.mark.line);
      return wrong(source, piece.line + line, fault.msg);
    }
  }
  return documents;
}

}  // namespace divvy
