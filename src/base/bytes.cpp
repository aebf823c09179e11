#include "base/bytes.h"

#include <array>
#include <cstdio>

namespace divvy {
namespace {

struct Unit {
  std::string_view suffix;
  std::uint64_t factor;
};

constexpr std::array<Unit, 15> kUnits{{{"", 1},
                                       {"B", 1},
                                       {"Ki", 1ull << 10},
                                       {"Mi", 1ull << 20},
                                       {"Gi", 1ull << 30},
                                       {"Ti", 1ull << 40},
                                       {"KiB", 1ull << 10},
                                       {"MiB", 1ull << 20},
                                       {"GiB", 1ull << 30},
                                       {"TiB", 1ull << 40},
                                       {"k", 1000ull},
                                       {"K", 1000ull},
                                       {"M", 1000000ull},
                                       {"G", 1000000000ull},
                                       {"T", 1000000000000ull}}};

Error bad(std::string_view text, const char* why) {
  return {ErrorCode::kUsage, "memory \"" + std::string(text) + "\": " + why +
                                 "; accepted: a positive number with Ki, Mi, Gi or Ti (4Gi, 512Mi, "
                                 "1.5Gi), k, M, G or T, or plain bytes"};
}

}  // namespace

Result<Bytes> parseBytes(std::string_view text) {
  constexpr std::uint64_t kMax = (1ull << 63) - 1;
  std::size_t i = 0;
  unsigned __int128 whole = 0;
  unsigned __int128 fraction = 0;
  unsigned __int128 scale = 1;
  bool digits = false;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
    whole = whole * 10 + static_cast<unsigned>(text[i] - '0');
    digits = true;
    if (whole > kMax) return bad(text, "too large");
  }
  if (i < text.size() && text[i] == '.') {
    for (++i; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
      if (scale >= 1000000000u) return bad(text, "too many decimals");
      fraction = fraction * 10 + static_cast<unsigned>(text[i] - '0');
      scale *= 10;
      digits = true;
    }
  }
  if (!text.empty() && text[0] == '-') return bad(text, "negative");
  if (!digits) return bad(text, "not a number");
  const std::string_view suffix = text.substr(i);
  for (const Unit& unit : kUnits) {
    if (unit.suffix != suffix) continue;
    const unsigned __int128 scaled = (whole * scale + fraction) * unit.factor;
    if (scaled % scale != 0) return bad(text, "not a whole number of bytes");
    const unsigned __int128 count = scaled / scale;
    if (count == 0) return bad(text, "zero");
    if (count > kMax) return bad(text, "too large");
    return Bytes{static_cast<std::uint64_t>(count)};
  }
  return bad(text, "unknown unit");
}

std::string formatBytes(Bytes bytes) {
  constexpr std::array<const char*, 6> kNames{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  double value = static_cast<double>(bytes.count);
  while (value >= 1024.0 && unit + 1 < kNames.size()) {
    value /= 1024.0;
    ++unit;
  }
  std::array<char, 32> text{};
  const bool whole = value == static_cast<double>(static_cast<std::uint64_t>(value));
  std::snprintf(text.data(), text.size(), whole ? "%.0f %s" : "%.1f %s", value, kNames[unit]);
  return text.data();
}

}  // namespace divvy
