#include "view/console_view.h"

#include <utility>

namespace divvy::console {

void putRows(Rows rows, SharedRows ConsoleView::*list, const EarlierViews& earlier,
             ConsoleView& view) {
  const auto of = [list](const ConsoleView* one) {
    return one == nullptr ? nullptr : &(one->*list);
  };
  view.*list = sharedRows(std::move(rows), {of(earlier.before), of(earlier.whole)});
}

void putOverview(Row row, const EarlierViews& earlier, ConsoleView& view) {
  const auto of = [](const ConsoleView* one) { return one == nullptr ? nullptr : one->overview; };
  view.overview = sharedRow(std::move(row), {of(earlier.before), of(earlier.whole)});
}

}  // namespace divvy::console
