#include "base/rfc3339.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <ctime>

namespace divvy {
namespace {

// Reads a time from its beginning. After the first error it stays bad.
class TimeReader {
 public:
  explicit TimeReader(std::string_view text) : rest_(text) {}

  int number(std::size_t digits, int most) {
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const char digit = i < rest_.size() ? rest_[i] : ' ';
      good_ = good_ && digit >= '0' && digit <= '9';
      if (good_) value = value * 10 + (digit - '0');
    }
    good_ = good_ && value <= most;
    if (good_) rest_.remove_prefix(digits);
    return value;
  }
  void expect(char letter) { good_ = take(letter) && good_; }
  std::chrono::milliseconds fraction() {
    if (!take('.')) return {};
    const std::size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    good_ = good_ && digits > 0;
    int ms = 0, unit = 100;
    for (std::size_t i = 0; i < digits; ++i, unit /= 10) ms += (rest_[i] - '0') * unit;
    rest_.remove_prefix(digits);
    return std::chrono::milliseconds(ms);
  }
  // What is to be added to a local time.
  std::chrono::minutes offset() {
    if (take('Z')) return {};
    const bool west = take('-');
    if (!west) expect('+');
    const int hours = number(2, 23);
    expect(':');
    const std::chrono::minutes offset(hours * 60 + number(2, 59));
    return west ? offset : -offset;
  }
  bool whole() const { return good_ && rest_.empty(); }

 private:
  bool take(char letter) {
    const bool there = rest_.starts_with(letter);
    if (there) rest_.remove_prefix(1);
    return there;
  }

  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

std::string formatRfc3339(std::int64_t seconds) {
  const auto at = static_cast<std::time_t>(seconds);
  std::tm parts{};
  if (::gmtime_r(&at, &parts) == nullptr) return "";
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::optional<Rfc3339Instant> parseRfc3339(std::string_view text, Rfc3339Form form) {
  TimeReader reader(text);
  const int year = reader.number(4, 9999);
  reader.expect('-');
  const int month = reader.number(2, 12);
  reader.expect('-');
  const int day = reader.number(2, 31);
  reader.expect('T');
  const std::chrono::hours hours(reader.number(2, 23));
  reader.expect(':');
  const std::chrono::minutes minutes(reader.number(2, 59));
  reader.expect(':');
  const std::chrono::seconds seconds(reader.number(2, 60));  // a leap second
  std::chrono::milliseconds fraction{};
  std::chrono::minutes offset{};
  if (form != Rfc3339Form::kUtcSeconds) fraction = reader.fraction();
  if (form == Rfc3339Form::kAnyOffset) {
    offset = reader.offset();
  } else {
    reader.expect('Z');
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!reader.whole() || !date.ok()) return std::nullopt;
  return std::chrono::sys_days(date) + hours + minutes + seconds + fraction + offset;
}

std::int64_t rfc3339Seconds(std::string_view text, Rfc3339Form form) {
  const Rfc3339Instant at = parseRfc3339(text, form).value_or(Rfc3339Instant());
  return std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
}

std::int64_t rfc3339Ms(std::string_view text, Rfc3339Form form) {
  return parseRfc3339(text, form).value_or(Rfc3339Instant()).time_since_epoch().count();
}

}  // namespace divvy
