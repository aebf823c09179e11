#include "metrics/exposition.h"

#include <charconv>
#include <cmath>

#include "public_names/public_names.h"

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

// Writes all labels but `omitted`.
template <typename List>
void writeLabels(const List& labels, std::string_view omitted, std::string* out) {
  char before = '{';
  for (const auto& [key, value] : labels) {
    if (key == omitted) continue;
    *out += before;
    before = ',';
    *out += key;
    *out += "=\"";
    escape(value, true, out);
    *out += '"';
  }
  if (before == ',') *out += '}';
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

void Exposition::head(std::string_view name, std::string_view type, std::string_view help,
                      std::string* out) {
  *out += "# HELP " + std::string(name) + ' ';
  escape(help, false, out);
  *out += "\n# TYPE " + std::string(name) + ' ' + std::string(type) + '\n';
}

void Exposition::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  head(name, type, help, &text_);
  old_name_ = deprecated_ ? public_names::oldMetricName(name) : std::string_view();
  added_label_ = public_names::addedLabel(name);
  if (!old_name_.empty()) head(old_name_, type, "Deprecated, use " + name_, &old_text_);
}

template <typename List>
void Exposition::begin(std::string_view name, const List& labels) {
  text_ += name;
  writeLabels(labels, {}, &text_);
  text_ += ' ';
}

template <typename List>
void Exposition::write(const List& labels, std::string_view value) {
  begin(name_, labels);
  text_ += value;
  text_ += '\n';
  if (old_name_.empty()) return;
  old_text_ += old_name_;
  writeLabels(labels, added_label_, &old_text_);
  old_text_ += ' ';
  old_text_ += value;
  old_text_ += '\n';
}

void Exposition::sample(const LabelList& labels, std::uint64_t value) {
  write(labels, std::to_string(value));
}

void Exposition::sample(Labels labels, double value) {
  write(labels, textOf(value));
}

void Exposition::sample(Labels labels, std::uint64_t value) {
  write(labels, std::to_string(value));
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
