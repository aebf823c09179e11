// Lines of `divvy top`: cut to the terminal's width, then coloured. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "view/top_view.h"

namespace divvy::cli {

std::string padLeft(const std::string& text, std::size_t width);
// Cuts a text that is too long.
std::string padRight(const std::string& text, std::size_t width);
// At most 999; 0 if `whole` is 0.
unsigned percentOf(std::uint64_t part, std::uint64_t whole);

inline constexpr const char* kBold = "\x1b[1m";
inline constexpr const char* kDim = "\x1b[2m";

class Painter {
 public:
  // `look` outlives the painter.
  explicit Painter(const TopSample& look) : look_(look) {}

  std::size_t columns() const { return look_.size.columns; }
  // `style`: an escape sequence or null.
  void line(const std::string& text, const char* style = nullptr);
  // Adds `bar` between two texts, coloured by `percent`: calm, busy, full.
  void barLine(const std::string& before, const std::string& bar, unsigned percent,
               const std::string& after);
  // Returns a bar of `width` cells: full up to `used`, lighter up to `promised`, empty up to
  // `whole`.
  std::string bar(std::uint64_t used, std::uint64_t promised, std::uint64_t whole,
                  std::size_t width) const;

  std::vector<std::string> lines;

 private:
  const TopSample& look_;
};

}  // namespace divvy::cli
