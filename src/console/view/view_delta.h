// The difference of two views, as messages. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "view/console_view.h"

namespace divvy::console {

// A list that changed by more than this is not sent: its followers read it again.
inline constexpr std::size_t kMaxDelta = std::size_t{96} << 10;

// The change of one list.
struct ViewChange {
  std::string_view topic;  // of the program
  bool resync = false;     // it is too large: read the list again
  std::string data;        // JSON
};

// The changes from an earlier view.
struct ViewChanges {
  std::uint64_t from = 0;  // ConsoleView::number of the earlier one; 0: they are not known
  std::vector<ViewChange> list;
};

// Returns a change for each list that differs.
ViewChanges changesBetween(const ConsoleView& before, const ConsoleView& after);

}  // namespace divvy::console
