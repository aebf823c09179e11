// Columns of text, for people and for awk.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace divvy::cli {

class Table {
 public:
  // A heading that ends in '>' is right-aligned; one that begins with '?' may be left out. The
  // marks are not printed.
  explicit Table(std::vector<std::string> headings);

  void add(std::vector<std::string> cells);
  // Returns lines joined by '\n', with two blanks between columns. To keep lines within `width` (0:
  // any), optional columns are left out, empty ones first, then from the left. Then the last column
  // is cut, to its heading's width at least. Other columns are never cut.
  std::string text(bool headers, std::size_t width) const;

 private:
  bool isEmpty(std::size_t column) const;

  std::vector<std::string> headings_;
  std::vector<bool> right_;
  std::vector<bool> optional_;
  std::vector<std::vector<std::string>> rows_;
};

// Returns the columns of a terminal for UTF-8 text without wide characters.
std::size_t columnsOf(std::string_view text);
// Cuts to at most `columns`; a cut ends in '~'.
std::string cut(std::string_view text, std::size_t columns);

// Returns formatBytes() as one word: "4GiB", "1.5GiB".
std::string sizeWord(std::uint64_t bytes);
// Returns "12s", "5m", "3h", "2d".
std::string ageWord(std::int64_t seconds);
// Returns microseconds as "50us", "1.2ms", "180ms", "12.3s", "15m": three digits at most.
std::string timeWord(std::uint64_t us);
// Returns "931", "12.3k", "4.5M": five characters at most up to 10^12.
std::string countWord(std::uint64_t count);
// Returns a command as one line without control characters.
std::string commandLine(const std::vector<std::string>& words);

}  // namespace divvy::cli
