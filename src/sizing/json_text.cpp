#include "json_text.h"

#include <algorithm>

#include "base/bytes.h"

namespace divvy::sizing {
namespace {

// Python writes Infinity and NaN, which JSON has not. No field that is read here has them; what
// stands there keeps its length, so that places stay right.
std::string withoutPython(std::string_view text) {
  std::string json(text);
  bool quoted = false;
  for (std::size_t at = 0; at < json.size(); ++at) {
    if (json[at] == '"') quoted = !quoted;
    if (quoted && json[at] == '\\') ++at;
    if (quoted) continue;
    for (const auto& [word, instead] :
         {std::pair("-Infinity", "\"\"       "), std::pair("Infinity", "\"\"      "),
          std::pair("NaN", "\"\" ")}) {
      if (json.compare(at, std::string_view(word).size(), word) != 0) continue;
      json.replace(at, std::string_view(word).size(), instead);
      at += 1;
      break;
    }
  }
  return json;
}

Error syntaxError(std::string_view text, std::size_t at, const std::string& what) {
  const std::string_view before = text.substr(0, std::min(at, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n');
  const std::size_t column = at - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return {ErrorCode::kCorrupt, "line " + std::to_string(line) + ", column " +
                                   std::to_string(column) + ": not JSON (" + what + ")"};
}

}  // namespace

Result<bj::value> parseText(std::string_view text, std::size_t most) {
  // Editors of Windows begin a file with it.
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return Error{ErrorCode::kCorrupt, "is UTF-16; accepted: UTF-8"};
  if (text.size() > most) {
    return Error{ErrorCode::kCorrupt,
                 "larger than " + formatBytes({most}) + ": not a model's configuration file"};
  }
  const std::string json = withoutPython(text);
  boost::system::error_code fault;
  bj::parser parser;
  const std::size_t used = parser.write_some(json.data(), json.size(), fault);
  if (fault) return syntaxError(text, used, fault.message());
  const std::size_t rest = json.find_first_not_of(" \t\r\n", used);
  if (rest != std::string::npos) return syntaxError(text, rest, "something follows the object");
  return parser.release();
}

}  // namespace divvy::sizing
