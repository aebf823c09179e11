// Lists in the orders that viewers ask for.
#include "lists/list_order.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include <boost/json.hpp>

namespace divvy::console {
namespace {

std::shared_ptr<const ConsoleView> viewOf(std::size_t rows) {
  ConsoleView view;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::string id = "s" + std::to_string(i);
    view.shares[id] = sharedRow(Row{{"id", id}, {"value", rows - i}}, {});
  }
  return std::make_shared<const ConsoleView>(std::move(view));
}

TEST(OrderCache, SameOrderAgain_NotSortedAgain) {
  OrderCache cache;
  const auto view = viewOf(3);
  const OrderedRows* first = &cache.of(view, &ConsoleView::shares, "value");
  ASSERT_EQ(first->size(), 3u);
  EXPECT_EQ(first->front()->at("id"), "s2");
  EXPECT_EQ(&cache.of(view, &ConsoleView::shares, "value"), first);
  EXPECT_EQ(cache.of(view, &ConsoleView::shares, "-value").front()->at("id"), "s0");
  EXPECT_TRUE(cache.of(view, &ConsoleView::devices, "value").empty());
  EXPECT_EQ(&cache.of(view, &ConsoleView::shares, "value"), first);
}

TEST(OrderCache, Clear_ViewIsFreed) {
  OrderCache cache;
  auto view = viewOf(1);
  const std::weak_ptr<const ConsoleView> held = view;
  cache.of(view, &ConsoleView::shares, "id");
  view.reset();
  EXPECT_FALSE(held.expired());
  cache.clear();
  EXPECT_TRUE(held.expired());
}

// A viewer may ask for any order of any list.
TEST(OrderCache, ManyOrders_OldestForgotten) {
  OrderCache cache;
  const auto first = viewOf(1);
  cache.of(first, &ConsoleView::shares, "id");
  const std::size_t held = first.use_count();
  for (int i = 0; i < 300; ++i)
    cache.of(viewOf(2), &ConsoleView::shares, "member" + std::to_string(i));
  EXPECT_LT(static_cast<std::size_t>(first.use_count()), held);
}

}  // namespace
}  // namespace divvy::console
