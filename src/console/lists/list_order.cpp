#include "lists/list_order.h"

#include <algorithm>
#include <deque>
#include <string_view>
#include <utility>

#include <boost/json.hpp>

#include "lists/sort_key.h"

namespace divvy::console {

OrderedRows orderedRows(const SharedRows& rows, const std::string& order) {
  const bool descending = order.starts_with('-');
  const std::string_view member = std::string_view(order).substr(descending ? 1 : 0);
  RowMember key_member(member);
  std::deque<std::string> texts;
  std::vector<std::pair<SortKey, const ListRow*>> keys;
  keys.reserve(rows.size());
  for (const auto& [id, row] : rows) keys.emplace_back(keyOf(*row, key_member, texts), row.get());
  const auto less = [&](const auto& one, const auto& two) {
    return isBefore(one.first, two.first, descending);
  };
  // Rows are in the order of their identifiers, which is often the one that is asked for.
  if (!std::is_sorted(keys.begin(), keys.end(), less)) std::sort(keys.begin(), keys.end(), less);
  OrderedRows ordered;
  ordered.reserve(keys.size());
  for (const auto& [key, row] : keys) ordered.push_back(row);
  return ordered;
}

const OrderedRows& OrderCache::of(const std::shared_ptr<const ConsoleView>& view,
                                  SharedRows ConsoleView::*list, const std::string& order) {
  const auto known = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.view == view && entry.list == list && entry.order == order;
  });
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
    return entries_.front().rows;
  }
  entries_.push_front({view, list, order, orderedRows((*view).*list, order)});
  rows_ += entries_.front().rows.size();
  constexpr std::size_t most_entries = 256;
  while (entries_.size() > 1 && (rows_ > kMaxRows || entries_.size() > most_entries)) {
    rows_ -= entries_.back().rows.size();
    entries_.pop_back();
  }
  return entries_.front().rows;
}

void OrderCache::clear() {
  entries_.clear();
  rows_ = 0;
}

}  // namespace divvy::console
