// Lists in an order.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "view/console_view.h"

namespace divvy::console {

// Rows of a view in an order. Valid as long as the view.
using OrderedRows = std::vector<const ListRow*>;

// Returns the rows by a member ("-" in front: descending), then by identifier. Pure.
OrderedRows orderedRows(const SharedRows& rows, const std::string& order);

// Keeps the orders of views that were asked for last, so that a page is found without a sort. Used
// on one thread.
class OrderCache {
 public:
  // All rows of all kept orders, 8 bytes each.
  static constexpr std::size_t kMaxRows = 500'000;

  // Returns the rows of a list in an order. Valid until the next call.
  const OrderedRows& of(const std::shared_ptr<const ConsoleView>& view,
                        SharedRows ConsoleView::*list, const std::string& order);

  // Forgets all: the views are freed.
  void clear();

 private:
  struct Entry {
    std::shared_ptr<const ConsoleView> view;
    SharedRows ConsoleView::*list;
    std::string order;
    OrderedRows rows;
  };

  std::list<Entry> entries_;  // the last one asked for is first
  std::size_t rows_ = 0;      // of all entries
};

}  // namespace divvy::console
