#include "view/line_painter.h"

#include <algorithm>

#include "view/table.h"

namespace divvy::cli {
namespace {

constexpr const char* kReset = "\x1b[0m";

// nvitop's thresholds: low below 10 %, high from 80 %.
const char* colorOf(unsigned percent) {
  if (percent >= 80) return "\x1b[31m";
  return percent >= 10 ? "\x1b[33m" : "\x1b[32m";
}

std::size_t cellsOf(std::uint64_t part, std::uint64_t whole, std::size_t width) {
  if (whole == 0) return 0;
  const auto limited = static_cast<unsigned __int128>(std::min(part, whole));
  return static_cast<std::size_t>((limited * width + whole - 1) / whole);
}

}  // namespace

std::string padLeft(const std::string& text, std::size_t width) {
  const std::size_t have = columnsOf(text);
  return have >= width ? text : std::string(width - have, ' ') + text;
}

std::string padRight(const std::string& text, std::size_t width) {
  const std::string fitting = cut(text, width);
  return fitting + std::string(width - columnsOf(fitting), ' ');
}

unsigned percentOf(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return 0;
  return static_cast<unsigned>(
      std::min<unsigned __int128>(static_cast<unsigned __int128>(part) * 100 / whole, 999));
}

// Cut before colouring, because escape sequences have no width.
void Painter::line(const std::string& text, const char* style) {
  const std::string fitting = cut(text, look_.size.columns);
  lines.push_back(look_.color && style != nullptr ? style + fitting + kReset : fitting);
}

void Painter::barLine(const std::string& before, const std::string& bar, unsigned percent,
                      const std::string& after) {
  const std::size_t taken = columnsOf(before) + columnsOf(bar);
  if (taken >= look_.size.columns) return line(before + bar + after);
  const std::string rest = cut(after, look_.size.columns - taken);
  lines.push_back(before + (look_.color ? colorOf(percent) + bar + kReset : bar) + rest);
}

std::string Painter::bar(std::uint64_t used, std::uint64_t promised, std::uint64_t whole,
                         std::size_t width) const {
  const std::size_t full = cellsOf(used, whole, width);
  const std::size_t half = std::max(full, cellsOf(promised, whole, width));
  std::string text;
  for (std::size_t i = 0; i < width; ++i) {
    if (look_.utf8) {
      text += i < full ? "█" : i < half ? "▒" : "·";
    } else {
      text += i < full ? '#' : i < half ? ':' : '.';
    }
  }
  return text;
}

}  // namespace divvy::cli
