// Encodes requests and parses replies. Private.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <boost/json.hpp>

namespace divvy::kube {

// Deeper values are no objects of an API.
inline constexpr std::size_t kMaxDepth = 512;

inline boost::json::value parsed(std::string_view text, boost::system::error_code* fault,
                                 boost::json::storage_ptr storage = {}) {
  boost::json::parse_options options;
  options.max_depth = kMaxDepth;
  return boost::json::parse(boost::json::string_view(text.data(), text.size()), *fault,
                            std::move(storage), options);
}

inline std::string joined(const std::string& path, const std::string& query) {
  return query.empty() ? path : path + '?' + query;
}

inline std::string with(std::string query, const std::string& more) {
  if (!query.empty()) query += '&';
  return query + more;
}

// Percent-encodes a token of a next page: base64, in which only '=' and '/' are reserved in URLs.
inline std::string encoded(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += '%';
      out += kDigits[(static_cast<unsigned char>(c) >> 4) & 15];
      out += kDigits[static_cast<unsigned char>(c) & 15];
    }
  }
  return out;
}

}  // namespace divvy::kube
