#include "view/table.h"

#include <algorithm>

#include "base/duration.h"

namespace divvy::cli {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::string_view kNothing = "-";

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

}  // namespace

Table::Table(std::vector<std::string> headings) : headings_(std::move(headings)) {
  for (std::string& heading : headings_) {
    right_.push_back(heading.ends_with('>'));
    if (right_.back()) heading.pop_back();
    optional_.push_back(heading.starts_with('?'));
    if (optional_.back()) heading.erase(0, 1);
  }
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(headings_.size());
  for (std::string& cell : cells) {
    if (cell.empty()) cell = kNothing;  // awk counts columns
  }
  rows_.push_back(std::move(cells));
}

bool Table::isEmpty(std::size_t column) const {
  return std::all_of(rows_.begin(), rows_.end(),
                     [&](const std::vector<std::string>& row) { return row[column] == kNothing; });
}

std::string Table::text(bool headers, std::size_t width) const {
  std::vector<std::vector<std::string>> lines;
  if (headers) lines.push_back(headings_);
  lines.insert(lines.end(), rows_.begin(), rows_.end());
  std::vector<std::size_t> widths(headings_.size(), 0);
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], columnsOf(line[i]));
  }
  std::size_t least = columnsOf(headings_.back());
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) least += widths[i] + kGap.size();
  std::vector<bool> shown(headings_.size(), true);
  for (const bool empty_ones : {true, false}) {
    for (std::size_t i = 0; i < widths.size() && width != 0 && least > width; ++i) {
      if (!optional_[i] || !shown[i] || (empty_ones && !isEmpty(i))) continue;
      shown[i] = false;
      least -= widths[i] + kGap.size();
    }
  }
  std::string out;
  for (const auto& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (!shown[i]) continue;
      const std::string pad(widths[i] - columnsOf(line[i]), ' ');
      const bool last = i + 1 == line.size();
      row += right_[i] ? pad + line[i] : line[i] + (last ? "" : pad);
      if (!last) row += kGap;
    }
    out += (width == 0 ? row : cut(row, std::max(width, least))) + "\n";
  }
  return out;
}

std::size_t columnsOf(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

std::string cut(std::string_view text, std::size_t columns) {
  if (columnsOf(text) <= columns) return std::string(text);
  if (columns == 0) return "";
  std::size_t seen = 0;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (!continues(text[at]) && ++seen == columns) break;
  }
  std::string result(text.substr(0, at));
  result += '~';
  return result;
}

std::string sizeWord(std::uint64_t bytes) {
  std::string text = formatBytes({bytes});
  std::erase(text, ' ');
  return text;
}

std::string ageWord(std::int64_t seconds) {
  return formatDuration(std::max<std::int64_t>(seconds, 0), kShortUnits);
}

namespace {

// count/unit with one decimal below 100, none above.
std::string scaled(std::uint64_t count, std::uint64_t unit, const char* suffix) {
  const std::uint64_t tenths = count / (unit / 10);
  std::string text = std::to_string(tenths / 10);
  if (tenths < 1000 && tenths % 10 != 0) text += "." + std::to_string(tenths % 10);
  return text + suffix;
}

}  // namespace

std::string timeWord(std::uint64_t us) {
  constexpr std::uint64_t kSecond = 1000000;
  if (us < 1000) return std::to_string(us) + "us";
  if (us < kSecond) return scaled(us, 1000, "ms");
  if (us < 120 * kSecond) return scaled(us, kSecond, "s");
  return ageWord(static_cast<std::int64_t>(us / kSecond));
}

std::string countWord(std::uint64_t count) {
  if (count < 1000) return std::to_string(count);
  if (count < 1000000) return scaled(count, 1000, "k");
  if (count < 1000000000) return scaled(count, 1000000, "M");
  return scaled(count, 1000000000, "G");
}

std::string commandLine(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    line += word;
  }
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return line;
}

}  // namespace divvy::cli
