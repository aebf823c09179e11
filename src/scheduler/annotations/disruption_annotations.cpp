#include "annotations/disruption_annotations.h"

#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "kube/labels.h"

namespace divvy::scheduler {
namespace {

Error refused(const char* key, const std::string& value, const std::string& accepted) {
  return {ErrorCode::kUsage,
          std::string("annotation ") + key + ": \"" + value + "\" is not accepted; " + accepted};
}

}  // namespace

const std::string* annotationOf(const kube::Labels& labels, const char* key) {
  const std::string* found = kube::valueOf(labels, key);
  return found == nullptr || found->empty() ? nullptr : found;
}

Result<std::int64_t> secondsOf(const std::string& text) {
  const Error bad(ErrorCode::kUsage, "\"" + text + "\" is not accepted; 90s, 10m, 2h and 1d are");
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, fault] = std::from_chars(text.data(), end, value);
  const std::string_view unit(at, static_cast<std::size_t>(end - at));
  constexpr std::int64_t kMaxDays = 36'500;
  constexpr std::int64_t kDay = 86'400;
  std::int64_t each = 0;
  for (const auto& [word, seconds] : {std::pair<std::string_view, std::int64_t>{"", 1},
                                      {"s", 1},
                                      {"m", 60},
                                      {"h", 3'600},
                                      {"d", kDay}})
    if (unit == word) each = seconds;
  if (fault != std::errc{} || each == 0 || value < 0 || value > kMaxDays * kDay / each) return bad;
  return value * each;
}

Result<void> checkProtection(const kube::Labels& annotations) {
  if (const std::string* text = annotationOf(annotations, kEvictable))
    if (*text != "true" && *text != "false")
      return refused(kEvictable, *text, "true and false are");
  if (const std::string* text = annotationOf(annotations, kMinRuntime)) {
    const Result<std::int64_t> read = secondsOf(*text);
    if (!read) return refused(kMinRuntime, *text, "90s, 10m, 2h and 1d are");
  }
  return {};
}

}  // namespace divvy::scheduler
