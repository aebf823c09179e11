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
  // Headings that end in '>' are right-aligned (the mark is not printed).
  explicit Table(std::vector<std::string> headings);

  void add(std::vector<std::string> cells);
  // Lines joined by '\n'. Two blanks between columns; the last column is cut, to its heading's
  // width at least, so that no line is longer than `width` (0: never cut). Other columns are never
  // cut.
  std::string text(bool headers, std::size_t width) const;

 private:
  std::vector<std::string> headings_;
  std::vector<bool> right_;
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
// A command line on one line, without control characters.
std::string commandLine(const std::vector<std::string>& words);

}  // namespace divvy::cli
