#include "http/trusted_proxies.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace divvy::http {
namespace {

constexpr unsigned kBits = 128;
// Bits in front of an address of IPv4 in IPv6 (RFC 4291, 2.5.5.2).
constexpr unsigned kMapped = 96;

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char one) { return one == ' ' || one == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// Some proxies append a port: "192.0.2.1:4711", "[2001:db8::1]:4711".
std::string_view withoutPort(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    return end == std::string_view::npos ? text : text.substr(1, end - 1);
  }
  const std::size_t colon = text.find(':');
  const bool one = colon != std::string_view::npos && colon == text.rfind(':');
  return one ? text.substr(0, colon) : text;
}

template <typename Bytes>
std::string textOf(const Bytes& address) {
  char text[INET6_ADDRSTRLEN] = {};
  constexpr std::uint8_t prefix[kMapped / 8] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::memcmp(address.data(), prefix, sizeof prefix) == 0)
    inet_ntop(AF_INET, address.data() + sizeof prefix, text, sizeof text);
  else
    inet_ntop(AF_INET6, address.data(), text, sizeof text);
  return text;
}

}  // namespace

bool TrustedProxies::read(std::string_view text, Bytes* address) {
  const std::string plain(text);
  if (inet_pton(AF_INET6, plain.c_str(), address->data()) == 1) return true;
  *address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return inet_pton(AF_INET, plain.c_str(), address->data() + kMapped / 8) == 1;
}

Result<TrustedProxies> TrustedProxies::parse(const std::vector<std::string>& ranges) {
  TrustedProxies proxies;
  for (const std::string& text : ranges) {
    const Error bad{ErrorCode::kUsage,
                    "\"" + text.substr(0, 64) +
                        "\" is not accepted; an IP address or a range as 10.0.0.0/8 is"};
    const std::size_t slash = text.find('/');
    Range range;
    if (!read(text.substr(0, slash), &range.first)) return bad;
    const unsigned before = text.find(':') == std::string::npos ? kMapped : 0;
    unsigned bits = kBits - before;
    if (slash != std::string::npos) {
      const char* const end = text.data() + text.size();
      const auto [at, fault] = std::from_chars(text.data() + slash + 1, end, bits);
      if (fault != std::errc() || at != end || bits > kBits - before) return bad;
    }
    range.bits = before + bits;
    proxies.ranges_.push_back(range);
  }
  return proxies;
}

bool TrustedProxies::Range::holds(const Bytes& address) const {
  const std::size_t whole = bits / 8;
  if (std::memcmp(first.data(), address.data(), whole) != 0) return false;
  const unsigned rest = bits % 8;
  return rest == 0 || (first[whole] ^ address[whole]) >> (8 - rest) == 0;
}

bool TrustedProxies::holds(const Bytes& address) const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [&](const Range& range) { return range.holds(address); });
}

bool TrustedProxies::hasWideRange() const {
  constexpr unsigned widest = 8;
  constexpr Bytes mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& range) {
    const bool of_four = Range{range.first, std::min(range.bits, kMapped)}.holds(mapped);
    return range.bits < widest || (of_four && range.bits < kMapped + widest);
  });
}

bool TrustedProxies::contains(std::string_view address) const {
  Bytes bytes;
  return read(address, &bytes) && holds(bytes);
}

std::string TrustedProxies::clientOf(const std::string& peer,
                                     const std::vector<std::string_view>& forwarded) const {
  std::string client = peer;
  Bytes bytes;
  if (ranges_.empty() || !read(peer, &bytes) || !holds(bytes)) return client;
  std::size_t hops = 0;
  for (auto value = forwarded.rbegin(); value != forwarded.rend(); ++value) {
    for (std::string_view rest = *value; hops < kMaxHops; ++hops) {
      const std::size_t comma = rest.rfind(',');
      const std::string_view hop =
          trimmed(comma == std::string_view::npos ? rest : rest.substr(comma + 1));
      if (!read(withoutPort(hop), &bytes)) return client;
      client = textOf(bytes);
      if (!holds(bytes)) return client;
      if (comma == std::string_view::npos) break;
      rest = rest.substr(0, comma);
    }
  }
  return client;
}

}  // namespace divvy::http
