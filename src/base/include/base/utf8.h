// Validation of UTF-8, which JSON requires.
#pragma once

#include <string_view>

#include <boost/locale/utf.hpp>

namespace divvy {

// Returns whether `text` is valid UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
// Source: RFC 3629.
inline bool isUtf8(std::string_view text) {
  using Traits = boost::locale::utf::utf_traits<char>;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    if (static_cast<unsigned char>(*at) < 0x80) {
      ++at;
    } else if (!boost::locale::utf::is_valid_codepoint(Traits::decode(at, end))) {
      return false;
    }
  }
  return true;
}

}  // namespace divvy
