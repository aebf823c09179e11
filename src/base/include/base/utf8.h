// Texts that JSON can have.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace divvy {

// Valid UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF. Source: RFC 3629.
inline bool isUtf8(std::string_view text) {
  constexpr std::array<char32_t, 4> kLeast{0, 0x80, 0x800, 0x10000};
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    if (lead < 0x80) {
      ++at;
      continue;
    }
    if (lead < 0xc2 || lead > 0xf4) return false;
    const std::size_t more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (text.size() - at <= more) return false;
    char32_t rune = lead & (0x3fu >> more);
    for (std::size_t i = 1; i <= more; ++i) {
      const auto next = static_cast<unsigned char>(text[at + i]);
      if ((next & 0xc0) != 0x80) return false;
      rune = rune << 6 | (next & 0x3fu);
    }
    const bool surrogate = rune >= 0xd800 && rune < 0xe000;
    if (rune < kLeast[more] || surrogate || rune > 0x10ffff) return false;
    at += more + 1;
  }
  return true;
}

}  // namespace divvy
