// The codes of refusals: rows of docs/operations/troubleshooting.md, built into the program.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace divvy::cli {

struct Reason {
  std::string_view code;
  std::string_view of;     // section of the page: "Refused devices"
  std::string_view words;  // as in a pod's condition
  std::string_view means;
  std::string_view remedy;
};

// In the order of the page.
const std::vector<Reason>& reasons();

// Returns the reasons with that code, or with words that `text` contains or is a part of, because
// people see whole messages. Ignores case, and blanks count as hyphens. If the text is a code or
// the words of some, only those are returned. The code of the release before stands for the present
// one.
std::vector<Reason> reasonsFor(std::string_view text);

}  // namespace divvy::cli
