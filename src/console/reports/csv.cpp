#include "reports/csv.h"

#include <string_view>

namespace divvy::console {

std::string csvField(const std::string& text) {
  constexpr std::string_view formulas = "=+-@\t\r\n";
  const bool formula = !text.empty() && formulas.find(text.front()) != std::string_view::npos;
  std::string quoted = formula ? "\"'" : "\"";
  for (const char one : text) quoted += one == '"' ? std::string("\"\"") : std::string(1, one);
  return quoted + "\"";
}

}  // namespace divvy::console
