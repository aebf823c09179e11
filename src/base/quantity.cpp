#include "base/quantity.h"

#include <array>
#include <cctype>
#include <utility>

namespace divvy {
namespace {

constexpr __int128 kNano = 1'000'000'000;
constexpr __int128 kMax = static_cast<__int128>(INT64_MAX) * kNano;

struct Suffix {
  std::string_view text;
  __int128 nano;  // of one
  bool binary;
};

constexpr std::array<Suffix, 16> kSuffixes{{{"", kNano, false},
                                            {"n", 1, false},
                                            {"u", 1000, false},
                                            {"m", 1'000'000, false},
                                            {"k", kNano * 1000, false},
                                            {"M", kNano * 1'000'000, false},
                                            {"G", kNano* kNano, false},
                                            {"T", kNano* kNano * 1000, false},
                                            {"P", kNano* kNano * 1'000'000, false},
                                            {"E", kNano* kNano* kNano, false},
                                            {"Ki", kNano << 10, true},
                                            {"Mi", kNano << 20, true},
                                            {"Gi", kNano << 30, true},
                                            {"Ti", kNano << 40, true},
                                            {"Pi", kNano << 50, true},
                                            {"Ei", kNano << 60, true}}};

Error bad(std::string_view text, const char* why) {
  return {ErrorCode::kUsage,
          "\"" + std::string(text.substr(0, 40)) + "\": " + why +
              "; accepted: a number, with n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, "
              "Ti, Pi, Ei or an exponent (4, 250m, 16Gi, 1e3)"};
}

bool digit(char c) {
  return c >= '0' && c <= '9';
}

// What one is worth: by suffix or exponent. 0: neither.
std::pair<__int128, bool> worth(std::string_view suffix) {
  for (const Suffix& known : kSuffixes)
    if (known.text == suffix) return {known.nano, known.binary};
  if (suffix.size() < 2 || (suffix[0] != 'e' && suffix[0] != 'E')) return {0, false};
  suffix.remove_prefix(1);
  const bool below = suffix[0] == '-';
  if (below || suffix[0] == '+') suffix.remove_prefix(1);
  if (suffix.empty() || suffix.size() > 2) return {0, false};
  int exponent = 0;
  for (const char c : suffix) {
    if (!digit(c)) return {0, false};
    exponent = exponent * 10 + (c - '0');
  }
  if (exponent > (below ? 9 : 18)) return {0, false};
  __int128 nano = kNano;
  for (; exponent > 0; --exponent) nano = below ? nano / 10 : nano * 10;
  return {nano, false};
}

}  // namespace

Result<Quantity> Quantity::parse(std::string_view text) {
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest[0] == '-';
  if (negative || (!rest.empty() && rest[0] == '+')) rest.remove_prefix(1);
  __int128 value = 0;
  __int128 scale = 1;
  bool digits = false;
  bool point = false;
  while (!rest.empty() && (digit(rest[0]) || (rest[0] == '.' && !point))) {
    if (rest[0] == '.') {
      point = true;
    } else {
      if (value > INT64_MAX || scale > kNano) return bad(text, "too many digits");
      value = value * 10 + (rest[0] - '0');
      if (point) scale *= 10;
      digits = true;
    }
    rest.remove_prefix(1);
  }
  if (!digits) return bad(text, "not a number");
  const auto [nano, binary] = worth(rest);
  if (nano == 0) return bad(text, "no such suffix");
  // Both sides stay below 2^127: kMax is below 10^28, nano below 2 * 10^27, scale at most 10^10.
  if (value > (kMax / nano + 1) * scale) return bad(text, "too large");
  const __int128 product = value * nano;
  if (product % scale != 0) return bad(text, "too fine");
  Quantity result;
  result.nano_ = product / scale;
  if (result.nano_ > kMax) return bad(text, "too large");
  if (negative) result.nano_ = -result.nano_;
  result.binary_ = binary;
  return result;
}

std::optional<std::int64_t> Quantity::whole() const {
  if (nano_ % kNano != 0) return std::nullopt;
  return static_cast<std::int64_t>(nano_ / kNano);
}

std::int64_t Quantity::ceil() const {
  return static_cast<std::int64_t>(nano_ / kNano + (nano_ % kNano > 0 ? 1 : 0));
}

std::int64_t Quantity::milli() const {
  constexpr __int128 kPart = kNano / 1000;
  const __int128 down = nano_ / kPart;
  const __int128 up = nano_ % kPart > 0 ? down + 1 : down;
  return static_cast<std::int64_t>(up > INT64_MAX ? INT64_MAX : up < INT64_MIN ? INT64_MIN : up);
}

}  // namespace divvy
