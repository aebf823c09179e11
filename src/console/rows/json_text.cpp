#include "rows/json_text.h"

#include <boost/json/serialize.hpp>

#include "base/utf8.h"

namespace divvy::console {

std::string jsonText(const boost::json::value& value) {
  std::string text = boost::json::serialize(value);
  if (isUtf8(text)) return text;
  std::string valid;
  for (std::size_t at = 0; at < text.size();) {
    // The shortest valid sequence that begins here, of 1 to 4 bytes.
    std::size_t size = 1;
    while (size <= 4 && !isUtf8(std::string_view(text).substr(at, size))) ++size;
    valid += size <= 4 ? text.substr(at, size) : "?";
    at += size <= 4 ? size : 1;
  }
  return valid;
}

}  // namespace divvy::console
