#include "swap_judge.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>

namespace divvy::bench {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kMinOfLink = 0.8;
constexpr double kMaxError = 0.2;

double perSecond(std::uint64_t bytes, Span span) {
  return bytes == 0 || span.seconds() <= 0 ? kNan : static_cast<double>(bytes) / span.seconds();
}

// Keeps what was not measured.
double worse(double one, double other, bool least) {
  if (std::isnan(one) || std::isnan(other)) return kNan;
  return least ? std::min(one, other) : std::max(one, other);
}

Figure detailed(std::string group, std::string key, double value) {
  Figure figure{std::move(group), std::move(key), value, {}, {}, {}};
  figure.detail = true;
  return figure;
}

std::string line(const SwapCase& one, const SwapLink& link) {
  char text[96];
  std::snprintf(text, sizeof text, "%-9s %4u MiB  %4u MiB  %6.3f GB/s  %4.0f %%  %8.3f  %7.2f\n",
                one.way.c_str(), one.mib, one.chunk_mib, one.rate() / 1e9,
                100 * partOfLink(one, link), one.first_rate / 1e9, median(one.errors));
  return text;
}

}  // namespace

Span wholeOf(const Spans& spans) {
  if (spans.empty()) return {};
  Span whole = spans.front();
  for (const Span& span : spans) {
    whole.start = std::min(whole.start, span.start);
    whole.end = std::max(whole.end, span.end);
  }
  return whole;
}

double rateOf(const Copies& copies) {
  return perSecond(copies.bytes, wholeOf(copies.spans));
}

double duplexRate(const Copies& one, const Copies& other) {
  if (one.spans.empty() || other.spans.empty()) return kNan;
  Spans all = one.spans;
  all.insert(all.end(), other.spans.begin(), other.spans.end());
  return perSecond(one.bytes + other.bytes, wholeOf(all)) / 2;
}

double predictionError(double predicted, double actual) {
  return predicted > 0 ? std::abs(actual - predicted) / predicted : kNan;
}

double partOfLink(const SwapCase& one, const SwapLink& link) {
  if (one.way == "out" || one.way == "in") return one.rate() / link.alone;
  if (one.way != "handover") return one.rate() / link.duplex;
  // The first chunk leaves alone, the last one comes alone.
  const double both = static_cast<double>(one.mib) - one.chunk_mib;
  const double least = 2.0 * one.chunk_mib / link.alone + both / link.duplex;
  return least * one.rate() / one.mib;
}

void addSwapCases(const std::vector<SwapCase>& cases, const SwapLink& link, Report& report) {
  std::map<std::string, double> part;
  double error = 0;
  std::string table = "way           size     chunk       rate    link  first time  error\n";
  for (const SwapCase& one : cases) {
    const double of = partOfLink(one, link);
    const auto known = part.find(one.way);
    part[one.way] = known == part.end() ? of : worse(known->second, of, true);
    error = worse(error, median(one.errors), false);
    const std::string size = std::to_string(one.mib) + "m";
    const std::string chunk = "chunk_" + std::to_string(one.chunk_mib) + "m";
    report.figures.push_back(detailed("gbps/" + one.way + "/" + size, chunk, one.rate() / 1e9));
    report.figures.push_back(detailed("of_link/" + one.way + "/" + size, chunk, of));
    report.figures.push_back(
        detailed("first_gbps/" + one.way + "/" + size, chunk, one.first_rate / 1e9));
    report.figures.push_back(
        detailed("prediction_error/" + one.way + "/" + size, chunk, median(one.errors)));
    table += line(one, link);
  }
  for (const char* way : {"out", "in", "duplex", "handover"}) {
    const auto found = part.find(way);
    Figure figure{"worst_of_link", way, found == part.end() ? kNan : found->second, {}, {},
                  kMinOfLink};
    figure.at_least = true;
    report.figures.push_back(figure);
  }
  report.figures.push_back(
      {"", "predicted_error", cases.empty() ? kNan : error, {}, {}, kMaxError});
  report.notes = table + report.notes;
}

}  // namespace divvy::bench
