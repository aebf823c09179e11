#include "metrics/samples.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace divvy::metrics {
namespace {

// Reads one line from its begin to its end.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : rest_(line) {}

  // The name of the family.
  std::string_view name() {
    const std::size_t end = std::min(rest_.find_first_of("{ \t"), rest_.size());
    return take(end);
  }

  // Labels in braces, if there are any. False: another grammar.
  bool labels(Sample* sample) {
    if (!rest_.starts_with('{')) return true;
    rest_.remove_prefix(1);
    while (!rest_.starts_with('}')) {
      const std::size_t equals = rest_.find('=');
      if (equals == std::string_view::npos) return false;
      std::string label(take(equals));
      rest_.remove_prefix(1);
      std::string value;
      if (!quoted(&value)) return false;
      sample->labels.emplace_back(std::move(label), std::move(value));
      if (rest_.starts_with(',')) rest_.remove_prefix(1);
    }
    rest_.remove_prefix(1);
    return true;
  }

  bool value(double* value) {
    const std::size_t begin = rest_.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return false;
    rest_.remove_prefix(begin);
    const auto [end, fault] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), *value);
    const std::size_t read = static_cast<std::size_t>(end - rest_.data());
    return fault == std::errc() && (read == rest_.size() || rest_[read] == ' ');
  }

 private:
  std::string_view take(std::size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  bool quoted(std::string* value) {
    if (!rest_.starts_with('"')) return false;
    for (std::size_t at = 1; at < rest_.size(); ++at) {
      if (rest_[at] == '"') {
        rest_.remove_prefix(at + 1);
        return true;
      }
      if (rest_[at] == '\\' && at + 1 < rest_.size()) {
        ++at;
        *value += rest_[at] == 'n' ? '\n' : rest_[at];
      } else {
        *value += rest_[at];
      }
    }
    return false;
  }

  std::string_view rest_;
};

}  // namespace

std::string_view Sample::label(std::string_view name_of_label) const {
  for (const auto& [label, text] : labels)
    if (label == name_of_label) return text;
  return {};
}

void readSamples(std::string_view text, const std::vector<std::string_view>& wanted,
                 const std::function<void(const Sample&)>& each) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    LineReader line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    Sample sample;
    sample.name = line.name();
    if (std::find(wanted.begin(), wanted.end(), sample.name) == wanted.end()) continue;
    if (line.labels(&sample) && line.value(&sample.value) && std::isfinite(sample.value))
      each(sample);
  }
}

}  // namespace divvy::metrics
