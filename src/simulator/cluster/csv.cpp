#include "cluster/csv.h"

#include <algorithm>
#include <charconv>

namespace divvy::simulator {
namespace {

constexpr std::size_t kMaxShown = 40;
constexpr std::size_t kMaxColumns = 64;
constexpr std::size_t kMaxBytes = 1u << 30;

bool plain(char c) {
  return c > ' ' && c < 0x7f && c != '"';
}

// For a message: short, and nothing that a terminal would obey.
std::string shown(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, kMaxShown)) result += c >= ' ' && c < 0x7f ? c : '?';
  return "\"" + result + (text.size() > kMaxShown ? "...\"" : "\"");
}

std::vector<Cell> split(std::string_view line, std::size_t number) {
  std::vector<Cell> cells;
  for (std::size_t from = 0;;) {
    const std::size_t end = std::min(line.find(',', from), line.size());
    cells.push_back({line.substr(from, end - from), number, from + 1});
    if (end == line.size() || cells.size() > kMaxColumns) return cells;
    from = end + 1;
  }
}

}  // namespace

Error Csv::wrong(const Cell& cell, const std::string& name, const std::string& accepted) const {
  return {ErrorCode::kUsage, file_ + ":" + std::to_string(cell.line) + ":" +
                                 std::to_string(cell.column) + ": " + name + " " +
                                 shown(cell.text) + "; accepted: " + accepted};
}

Result<Csv> Csv::parse(std::string_view text, std::string file) {
  Csv csv;
  csv.file_ = std::move(file);
  if (text.size() > kMaxBytes) {
    return csv.wrong({text, 1, 1}, "file of", "at most " + std::to_string(kMaxBytes) + " bytes");
  }
  for (std::size_t from = 0, number = 1; from < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    std::string_view line = text.substr(from, end - from);
    from = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::vector<Cell> cells = split(line, number);
    for (const Cell& cell : cells) {
      const auto bad = std::find_if_not(cell.text.begin(), cell.text.end(), plain);
      if (bad == cell.text.end()) continue;
      return csv.wrong({cell.text, number, cell.column + (bad - cell.text.begin())}, "text",
                       "printable characters without blanks and quotes");
    }
    if (!csv.rows_.empty() && cells.size() != csv.header().size()) {
      return csv.wrong({line, number, 1}, std::to_string(cells.size()) + " fields in",
                       "as many as the header has, " + std::to_string(csv.header().size()));
    }
    if (cells.size() > kMaxColumns) {
      return csv.wrong({line, number, 1}, "header",
                       "at most " + std::to_string(kMaxColumns) + " fields");
    }
    csv.rows_.push_back(std::move(cells));
  }
  if (csv.rows_.empty()) return csv.wrong({text, 1, 1}, "file", "a header and rows");
  return csv;
}

Result<void> Csv::expect(const std::vector<std::string_view>& needed,
                         const std::vector<std::string_view>& more) const {
  std::vector<std::string_view> names = needed;
  if (header().size() > needed.size()) names.insert(names.end(), more.begin(), more.end());
  for (std::size_t i = 0; i < std::max(names.size(), header().size()); ++i) {
    const Cell missing{"", header().back().line,
                       header().back().column + header().back().text.size()};
    const Cell& cell = i < header().size() ? header()[i] : missing;
    if (i >= names.size()) return wrong(cell, "header", "no more fields");
    if (cell.text != names[i]) {
      return wrong(cell, "header", "\"" + std::string(names[i]) + "\"");
    }
  }
  return {};
}

Result<std::int64_t> Csv::number(const Cell& cell, const std::string& name, std::int64_t low,
                                 std::int64_t high) const {
  std::int64_t value = 0;
  const char* end = cell.text.data() + cell.text.size();
  const bool digit = !cell.text.empty() && cell.text.front() >= '0' && cell.text.front() <= '9';
  const auto [stopped, error] = std::from_chars(cell.text.data(), end, value);
  if (!digit || stopped != end || error != std::errc{} || value < low || value > high) {
    return wrong(cell, name,
                 "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  }
  return value;
}

}  // namespace divvy::simulator
