// Columns of text for people and for awk.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace divvy::cli {

class Table {
 public:
  // Headings that end in '>' are right-aligned, those that begin with '?' may be left out (the
  // marks are not printed).
  explicit Table(std::vector<std::string> headings);

  void add(std::vector<std::string> cells);
  // Lines joined by '\n'. Two blanks between columns. So that no line is longer than `width` (0:
  // any width), columns that may be are left out, empty ones first, then from the left, and the
  // last column is cut, to its heading's width at least. Other columns are never cut.
  std::string text(bool headers, std::size_t width) const;

 private:
  bool isEmpty(std::size_t column) const;

  std::vector<std::string> headings_;
  std::vector<bool> right_;
  std::vector<bool> optional_;
  std::vector<std::vector<std::string>> rows_;
};

// Columns that a terminal needs for UTF-8 text without wide characters.
std::size_t columnsOf(std::string_view text);
// At most `columns` wide, the cut marked by '~'.
std::string cut(std::string_view text, std::size_t columns);

// "4GiB", "1.5GiB": formatBytes as one word.
std::string sizeWord(std::uint64_t bytes);
// "12s", "5m", "3h", "2d".
std::string ageWord(std::int64_t seconds);
// Microseconds as "50us", "1.2ms", "180ms", "12.3s", "15m": three digits at most.
std::string timeWord(std::uint64_t us);
// "931", "12.3k", "4.5M": five characters at most up to 10^12.
std::string countWord(std::uint64_t count);
// A command line on one line, without control characters.
std::string commandLine(const std::vector<std::string>& words);

}  // namespace divvy::cli
