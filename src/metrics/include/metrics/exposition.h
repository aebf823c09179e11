// Writes Prometheus' text format. Source: Prometheus' text-based exposition format 0.0.4.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace divvy::metrics {

// Value of Content-Type.
inline constexpr const char* kTextType = "text/plain; version=0.0.4; charset=utf-8";

// Histogram of durations. For one thread.
class Histogram {
 public:
  // Upper bounds of buckets, in seconds; longer durations are in no bucket.
  static constexpr std::array<double, 14> kEnds{
      0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5};
  void add(double seconds);
  // Returns the number of durations up to kEnds[end].
  std::uint64_t upTo(std::size_t end) const;
  std::uint64_t count() const { return count_; }
  double sum() const { return sum_; }

 private:
  std::array<std::uint64_t, kEnds.size()> counts_{};
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;
// Labels with names that are known at run time only.
using LabelList = std::vector<std::pair<std::string, std::string>>;

// Names under which families are written beside their present ones.
struct FurtherNames {
  bool compat = false;      // other systems' names
  bool deprecated = false;  // names of the release before (public_names)
};

// Writes metric families one after another; each name occurs once.
class Exposition {
 public:
  // `deprecated`: the text also has each renamed family under its old name.
  explicit Exposition(bool deprecated = false) : deprecated_(deprecated) {}
  // Begins a family; its samples follow. `type` is "counter" or "gauge".
  void family(std::string_view name, std::string_view type, std::string_view help);
  void sample(Labels labels, double value);
  void sample(Labels labels, std::uint64_t value);
  void sample(const LabelList& labels, std::uint64_t value);
  // A histogram has no old name.
  void histogram(std::string_view name, std::string_view help, const Histogram& of);

  // The families under their present names, then those under old names, with the labels that they
  // had: another label would make another series of it.
  std::string text() const { return text_ + old_text_; }

 private:
  void head(std::string_view name, std::string_view type, std::string_view help, std::string* out);
  template <typename List = Labels>
  void begin(std::string_view name, const List& labels);
  template <typename List>
  void write(const List& labels, std::string_view value);

  bool deprecated_;
  std::string text_, old_text_;
  std::string name_;
  std::string old_name_;     // of the family; empty: it has none, or it is not wanted
  std::string added_label_;  // of the family; samples under the old name do not have it
};

}  // namespace divvy::metrics
