#include "parser/cursor.h"

namespace divvy::ptx {

std::optional<std::uint64_t> integerOf(std::string_view text) {
  int base = 10;
  if (text.ends_with('U')) text.remove_suffix(1);
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.starts_with("0b") || text.starts_with("0B")) {
    base = 2;
    text.remove_prefix(2);
  } else if (text.starts_with('0') && text.size() > 1) {
    base = 8;
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::int64_t Cursor::integer() {
  const bool minus = accept("-");
  const auto value = integerOf(peek().text);
  if (peek().kind != TokenKind::kNumber || !value) {
    fail("expected an integer before " + shown(peek()));
  }
  next();
  return static_cast<std::int64_t>(minus ? 0 - *value : *value);
}

}  // namespace divvy::ptx
