#include "ledger/pages.h"

namespace divvy::ledger {
namespace {

struct SizeSuffix {
  char text[4];
  std::uint64_t factor;
};

constexpr SizeSuffix kSuffixes[] = {
    {"", 1},
    {"Ki", 1ull << 10},
    {"Mi", 1ull << 20},
    {"Gi", 1ull << 30},
    {"Ti", 1ull << 40},
    {"KiB", 1ull << 10},
    {"MiB", 1ull << 20},
    {"GiB", 1ull << 30},
    {"TiB", 1ull << 40},
    {"k", 1000},
    {"K", 1000},
    {"M", 1000000},
    {"G", 1000000000},
    {"T", 1000000000000},
};

bool equal(const char* a, const char* b) {
  while (*a != 0 && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

}  // namespace

bool parseByteLimit(const char* text, std::uint64_t* bytes) {
  std::uint64_t value = 0;
  if (*text < '0' || *text > '9') return false;
  for (; *text >= '0' && *text <= '9'; ++text) {
    if (__builtin_mul_overflow(value, 10u, &value)) return false;
    if (__builtin_add_overflow(value, static_cast<unsigned>(*text - '0'), &value)) return false;
  }
  for (const SizeSuffix& suffix : kSuffixes) {
    if (!equal(text, suffix.text)) continue;
    if (__builtin_mul_overflow(value, suffix.factor, &value)) return false;
    if (value == 0 || value > INT64_MAX) return false;
    *bytes = value;
    return true;
  }
  return false;
}

}  // namespace divvy::ledger
