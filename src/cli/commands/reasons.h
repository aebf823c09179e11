// What the codes of refusals mean: the rows of docs/troubleshooting.md, built into the program.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace divvy::cli {

struct Reason {
  std::string_view code;
  std::string_view of;     // "Of a device": what is refused
  std::string_view words;  // as a pod's condition has it
  std::string_view means;
  std::string_view remedy;
};

// In the page's order.
const std::vector<Reason>& reasons();

// That of a code, or whose words `text` has or is a part of: what people see is a whole message.
// In any case of letters, and with blanks for
// hyphens; where some are in the very same, those only. Empty: none.
std::vector<Reason> reasonsFor(std::string_view text);

}  // namespace divvy::cli
