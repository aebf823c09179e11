// Reverse proxies whose word about clients counts. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace divvy::http {

// Addresses and ranges of proxies. A value type.
class TrustedProxies {
 public:
  // No proxy.
  TrustedProxies() = default;
  // Reads IP addresses and ranges ("10.0.0.7", "10.0.0.0/8", "fd00::/8"). kUsage: one cannot be
  // read; the message names it.
  static Result<TrustedProxies> parse(const std::vector<std::string>& ranges);

  bool empty() const { return ranges_.empty(); }
  // Returns whether a range is wider than /8, or contains all addresses of IPv4.
  bool hasWideRange() const;
  // Returns whether `address` is of a proxy. False for a text that is no IP address.
  bool contains(std::string_view address) const;

  // Returns the address of the client of a connection from `peer`. That is `peer`, or if it is a
  // proxy, the last address of X-Forwarded-For that is none: each proxy appends its own peer, and
  // what a client wrote comes first. `forwarded` has the field's values in order. A text that is no
  // address ends the search at the proxy that appended it. At most kMaxHops are read.
  std::string clientOf(const std::string& peer,
                       const std::vector<std::string_view>& forwarded) const;
  static constexpr std::size_t kMaxHops = 32;

 private:
  // Of IPv6; an address of IPv4 is mapped into it.
  using Bytes = std::array<std::uint8_t, 16>;
  struct Range {
    Bytes first{};
    unsigned bits = 0;

    bool holds(const Bytes& address) const;
  };
  static bool read(std::string_view text, Bytes* address);
  bool holds(const Bytes& address) const;

  std::vector<Range> ranges_;
};

}  // namespace divvy::http
