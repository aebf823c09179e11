#include "metrics/exposition.h"

#include <charconv>
#include <cmath>

namespace divvy::metrics {
namespace {

// The shortest that is read back as the same.
std::string textOf(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 32> text;
  const auto [end, fault] = std::to_chars(text.data(), text.data() + text.size(), value);
  return fault == std::errc{} ? std::string(text.data(), end) : "NaN";
}

void escape(std::string_view value, bool quotes, std::string* out) {
  for (const char c : value) {
    if (c == '\\') {
      *out += "\\\\";
    } else if (c == '\n') {
      *out += "\\n";
    } else if (c == '"' && quotes) {
      *out += "\\\"";
    } else {
      *out += c;
    }
  }
}

}  // namespace

void Histogram::add(double seconds) {
  ++count_;
  sum_ += seconds;
  for (std::size_t end = 0; end < kEnds.size(); ++end) {
    if (seconds > kEnds[end]) continue;
    ++counts_[end];
    return;
  }
}

std::uint64_t Histogram::upTo(std::size_t end) const {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at <= end; ++at) sum += counts_[at];
  return sum;
}

void Exposition::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  text_ += "# HELP " + name_ + ' ';
  escape(help, false, &text_);
  text_ += "\n# TYPE " + name_ + ' ' + std::string(type) + '\n';
}

template <typename List>
void Exposition::begin(std::string_view name, const List& labels) {
  text_ += name;
  if (labels.size() > 0) {
    char before = '{';
    for (const auto& [key, value] : labels) {
      text_ += before;
      before = ',';
      text_ += key;
      text_ += "=\"";
      escape(value, true, &text_);
      text_ += '"';
    }
    text_ += '}';
  }
  text_ += ' ';
}

void Exposition::sample(const LabelList& labels, std::uint64_t value) {
  begin(name_, labels);
  text_ += std::to_string(value) + '\n';
}

void Exposition::sample(Labels labels, double value) {
  begin(name_, labels);
  text_ += textOf(value) + '\n';
}

void Exposition::sample(Labels labels, std::uint64_t value) {
  begin(name_, labels);
  text_ += std::to_string(value) + '\n';
}

void Exposition::histogram(std::string_view name, std::string_view help, const Histogram& of) {
  family(name, "histogram", help);
  const std::string bucket = name_ + "_bucket";
  for (std::size_t end = 0; end < Histogram::kEnds.size(); ++end) {
    begin(bucket, {{"le", textOf(Histogram::kEnds[end])}});
    text_ += std::to_string(of.upTo(end)) + '\n';
  }
  begin(bucket, {{"le", "+Inf"}});
  text_ += std::to_string(of.count()) + '\n';
  begin(name_ + "_sum", {});
  text_ += textOf(of.sum()) + '\n';
  begin(name_ + "_count", {});
  text_ += std::to_string(of.count()) + '\n';
}

}  // namespace divvy::metrics
