// Strict comma-separated text: one header, every row as long as it, no quotes, no blanks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace divvy::simulator {

// A field, and where it begins: lines and columns from 1.
struct Cell {
  std::string_view text;
  std::size_t line = 0;
  std::size_t column = 0;
};

class Csv {
 public:
  // `text` has to outlive it.
  static Result<Csv> parse(std::string_view text, std::string file);

  const std::vector<Cell>& header() const { return rows_.front(); }
  // Without the header; each as long as the header.
  std::size_t rows() const { return rows_.size() - 1; }
  const std::vector<Cell>& row(std::size_t i) const { return rows_[i + 1]; }

  // The header has to begin with all of `needed`, and to go on with all or none of `more`.
  Result<void> expect(const std::vector<std::string_view>& needed,
                      const std::vector<std::string_view>& more) const;
  // "FILE:LINE:COLUMN: NAME "TEXT"; accepted: WHAT"
  Error wrong(const Cell& cell, const std::string& name, const std::string& accepted) const;
  // Digits only, in [low, high].
  Result<std::int64_t> number(const Cell& cell, const std::string& name, std::int64_t low,
                              std::int64_t high) const;

 private:
  std::string file_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace divvy::simulator
