#include "config/price_file.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "base/model_name.h"
#include "base/rfc3339.h"
#include "files/simulate_files.h"
#include "yaml/reader.h"

namespace divvy::cli {
namespace {

constexpr std::int64_t kMicro = 1'000'000;
constexpr std::size_t kDecimals = 6;
constexpr std::size_t kMaxPrices = 1000;

// Digits as a number of at most `most`.
std::optional<std::int64_t> numberOf(std::string_view digits, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool plain = !digits.empty() && std::isdigit(static_cast<unsigned char>(digits[0])) != 0;
  if (!plain || fault != std::errc() || end != digits.data() + digits.size() || value > most)
    return std::nullopt;
  return value;
}

// "2.90" as 2'900'000, exactly.
std::optional<std::int64_t> microOf(std::string_view text) {
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  std::string fraction(point == std::string_view::npos ? "0" : text.substr(point + 1));
  if (fraction.size() > kDecimals) return std::nullopt;
  fraction.resize(std::max(fraction.size(), kDecimals), '0');
  const auto units = numberOf(whole, console::kMaxPrice / kMicro);
  // Without a digit behind the point, the first character is no digit.
  const auto parts = point != std::string_view::npos && point + 1 == text.size()
                         ? std::nullopt
                         : numberOf(fraction, kMicro - 1);
  if (!units || !parts || *units * kMicro + *parts > console::kMaxPrice) return std::nullopt;
  return *units * kMicro + *parts;
}

void readPrice(YamlReader& reader, const YAML::Node& item, console::PriceTable& table) {
  if (!reader.map(item, {"model", "perHour", "from"})) return;
  reader.require(item, "model");
  reader.require(item, "perHour");
  if (reader.error()) return;
  console::DevicePrice price;
  reader.text(item, "model", &price.model);
  if (!isModelPattern(price.model))
    reader.fail(item["model"], "accepted: " + std::string(kModelPatterns));
  std::string text;
  reader.text(item, "perHour", &text);
  const std::optional<std::int64_t> micro = microOf(text);
  if (!micro)
    reader.fail(item["perHour"], "\"" + text.substr(0, 64) +
                                     "\"; accepted: 0 to 10000 with up to 6 decimals, as 2.90");
  price.per_hour_micro = micro.value_or(0);
  text.clear();
  reader.text(item, "from", &text);
  if (!text.empty()) {
    const auto from = parseRfc3339(text + "T00:00:00Z", Rfc3339Form::kUtcSeconds);
    if (!from) reader.fail(item["from"], "accepted: a date, as 2026-07-01; it begins in UTC");
    if (from) price.from_ms = from->time_since_epoch().count();
  }
  if (table.prices.size() >= kMaxPrices)
    reader.fail(item, "accepted: up to " + std::to_string(kMaxPrices) + " prices");
  table.prices.push_back(std::move(price));
}

}  // namespace

Result<console::PriceTable> parsePrices(const std::string& text, const std::string& source) {
  YamlReader reader(source);
  console::PriceTable table;
  const std::optional<YAML::Node> document = reader.parse(text);
  if (document && reader.map(*document, {"currency", "prices"})) {
    reader.require(*document, "currency");
    reader.require(*document, "prices");
    reader.text(*document, "currency", &table.currency);
    const bool code = table.currency.size() == 3 &&
                      std::all_of(table.currency.begin(), table.currency.end(),
                                  [](char one) { return one >= 'A' && one <= 'Z'; });
    if (!reader.error() && !code)
      reader.fail((*document)["currency"], "accepted: a code of ISO 4217, as EUR or CNY");
    if (!reader.error())
      reader.list(*document, "prices",
                  [&](const YAML::Node& item) { readPrice(reader, item, table); });
  }
  if (reader.error()) return *reader.error();
  return table;
}

Result<console::PriceTable> readPriceFile(const std::string& file) {
  if (file.empty()) return console::PriceTable{};
  const Result<std::string> text = readFile(file, "prices");
  if (!text) return Error(text.error()).context("--prices");
  Result<console::PriceTable> table = parsePrices(*text, file);
  if (!table) return Error(table.error()).context("--prices");
  return table;
}

}  // namespace divvy::cli
