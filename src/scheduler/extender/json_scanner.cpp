#include "extender/json_scanner.h"

#include <cstring>
#include <optional>

#include <boost/json.hpp>

namespace divvy::scheduler {
namespace {

namespace json = boost::json;

// A place in a text. Functions that move it return whether they could.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool done() const { return at_ == end_; }
  const char* at() const { return at_; }

  void space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }
  // That one, after any space.
  bool take(char wanted) {
    space();
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }
  // Behind its opening quote: up to the closing one, which is passed.
  bool text(std::string_view* out) {
    const char* from = at_;
    for (;;) {
      const char* quote = find('"');
      if (quote == nullptr) return false;
      const bool last = !escaped(from, quote);
      at_ = quote + 1;
      if (!last) continue;
      *out = {from, static_cast<std::size_t>(quote - from)};
      return true;
    }
  }
  bool value(std::string_view* out) {
    space();
    const char* from = at_;
    if (!pass()) return false;
    *out = {from, static_cast<std::size_t>(at_ - from)};
    return true;
  }

 private:
  const char* find(char wanted) const {
    return static_cast<const char*>(std::memchr(at_, wanted, static_cast<std::size_t>(end_ - at_)));
  }
  // After an odd number of backslashes.
  static bool escaped(const char* from, const char* at) {
    std::size_t before = 0;
    while (at != from && at[-1] == '\\') {
      --at;
      ++before;
    }
    return before % 2 == 1;
  }
  bool pass() {
    if (at_ == end_ || *at_ == ',' || *at_ == ':') return false;
    std::size_t depth = 0;
    std::string_view ignored;
    do {
      if (at_ == end_) return false;
      const char c = *at_++;
      if (c == '"' && !text(&ignored)) return false;
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') {
        if (depth == 0) return false;
        --depth;
      }
      if (depth == 0 && c != '"' && c != '}' && c != ']') word();
    } while (depth > 0);
    return true;
  }
  // The rest of a number, of true, false or null.
  void word() {
    while (at_ != end_ && std::strchr(",}] \n\r\t", *at_) == nullptr) ++at_;
  }

  const char* at_;
  const char* end_;
};

// Printable ASCII without backslashes needs no decoding.
bool plain(std::string_view text) {
  unsigned char bad = 0;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    bad |= static_cast<unsigned char>((code < 0x20) | (code >= 0x7f) | (code == '\\'));
  }
  return bad == 0;
}

// None: it is to be read with more care.
std::optional<std::vector<std::string_view>> plainTexts(std::string_view value) {
  if (!plain(value)) return std::nullopt;
  std::vector<std::string_view> texts;
  texts.reserve(value.size() / 16);
  Cursor cursor(value);
  if (!cursor.take('[')) return std::nullopt;
  if (cursor.take(']')) return cursor.done() ? std::optional(texts) : std::nullopt;
  for (;;) {
    if (!cursor.take('"') || !cursor.text(&texts.emplace_back())) return std::nullopt;
    if (cursor.take(',')) continue;
    if (cursor.take(']') && cursor.done()) return texts;
    return std::nullopt;
  }
}

Error corrupt(const std::string& what) {
  return {ErrorCode::kCorrupt, what};
}

}  // namespace

Result<std::vector<RawMember>> outlineOf(std::string_view text) {
  Cursor cursor(text);
  std::vector<RawMember> members;
  if (!cursor.take('{')) return corrupt("is not an object");
  if (!cursor.take('}')) {
    do {
      RawMember one;
      if (!cursor.take('"') || !cursor.text(&one.name) || !cursor.take(':') ||
          !cursor.value(&one.value))
        return corrupt("is not JSON: at byte " + std::to_string(cursor.at() - text.data()));
      members.push_back(one);
    } while (cursor.take(','));
    if (!cursor.take('}')) return corrupt("is not JSON: the object does not end");
  }
  cursor.space();
  if (!cursor.done()) return corrupt("is not JSON: data after the object");
  return members;
}

Result<std::vector<std::string_view>> itemsOf(std::string_view value) {
  Cursor cursor(value);
  std::vector<std::string_view> items;
  if (!cursor.take('[')) return corrupt("is not a list");
  if (!cursor.take(']')) {
    do {
      if (!cursor.value(&items.emplace_back()))
        return corrupt("is not JSON: item " + std::to_string(items.size() - 1));
    } while (cursor.take(','));
    if (!cursor.take(']')) return corrupt("is not JSON: the list does not end");
  }
  if (!cursor.done()) return corrupt("is not JSON: data after the list");
  return items;
}

Result<std::vector<std::string_view>> textsOf(std::string_view value,
                                              std::deque<std::string>* kept) {
  if (std::optional<std::vector<std::string_view>> texts = plainTexts(value)) return *texts;
  boost::system::error_code fault;
  const json::value list = json::parse(json::string_view(value.data(), value.size()), fault);
  if (fault) return corrupt("is not JSON: " + fault.message());
  if (!list.is_array()) return corrupt("is not a list");
  std::vector<std::string_view> texts;
  for (const json::value& one : list.get_array()) {
    if (!one.is_string()) return corrupt("contains a value that is not a string");
    texts.push_back(kept->emplace_back(one.get_string()));
  }
  return texts;
}

}  // namespace divvy::scheduler
