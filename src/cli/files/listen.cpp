#include "files/listen.h"

#include <charconv>

namespace divvy::cli {

Result<void> readListen(const std::string& text, const char* option, std::string* host,
                        std::uint16_t* port) {
  if (text.empty()) return {};
  const Error bad(ErrorCode::kUsage, std::string(option) + " \"" + text +
                                         "\" is not accepted; HOST:PORT is, like 127.0.0.1:9396");
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return bad;
  *host = text.substr(0, colon);
  if (host->front() == '[' && host->back() == ']') *host = host->substr(1, host->size() - 2);
  const char* end = text.data() + text.size();
  const auto [at, fault] = std::from_chars(text.data() + colon + 1, end, *port);
  if (fault != std::errc{} || at != end) return bad;
  return {};
}

}  // namespace divvy::cli
