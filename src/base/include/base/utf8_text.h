// Shortens UTF-8 without half a character at its end, which JSON would not accept.
#pragma once

#include <cstddef>
#include <string>

namespace divvy {

// Returns `text`, or its beginning of at most `most` bytes if it is longer. `text` is UTF-8; other
// bytes are cut anywhere.
inline std::string utf8Prefix(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  // Bytes 10xxxxxx continue a character (RFC 3629).
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  text.resize(most);
  return text;
}

}  // namespace divvy
