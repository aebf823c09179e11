#include "connections.h"

#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"

namespace divvy::http {
namespace {

using namespace std::chrono_literals;

constexpr Connections::Instant kNow{};

TEST(Connections, Full_LongestIdleClosedAndBusyKept) {
  Connections book({3, 3, 0ms, 100});
  std::vector<int> closed;
  const auto add = [&](int number) {
    EXPECT_TRUE(book.makeRoom());
    return book.add(
        "a" + std::to_string(number), [&closed, number] { closed.push_back(number); }, kNow);
  };
  const auto first = add(1);
  const auto second = add(2);
  book.becomesBusy(first);
  add(3);
  book.becomesIdle(first, kNow);
  EXPECT_TRUE(book.makeRoom());
  EXPECT_EQ(closed, std::vector<int>{2}) << "the first one was busy since";
  book.remove(second);
  const auto fourth = book.add(
      "a4", [] {}, kNow);
  book.becomesBusy(first), book.becomesBusy(fourth);
  EXPECT_TRUE(book.makeRoom());
  EXPECT_EQ(closed, (std::vector<int>{2, 3}));
}

TEST(Connections, AllBusy_NoRoom) {
  Connections book({2, 2, 0ms, 100});
  for (int i = 0; i < 2; ++i)
    book.becomesBusy(book.add(
        "a", [] {}, kNow));
  EXPECT_FALSE(book.makeRoom());
}

TEST(Connections, ManyFromOneAddress_OldestClosedBeyondItsBound) {
  Connections book({1000, 4, 2000ms, 100});
  std::set<int> closed;
  book.add(
      "other", [&] { closed.insert(-1); }, kNow);
  for (int i = 0; i < 6; ++i)
    book.add(
        "loud", [&closed, i] { closed.insert(i); }, kNow + i * 1s);
  EXPECT_EQ(closed, (std::set<int>{0, 1}));
  for (int i = 6; i < 100; ++i)
    book.add(
        "loud", [&closed, i] { closed.insert(i); }, kNow + 5s);
  EXPECT_EQ(closed, (std::set<int>{0, 1, 2, 3})) << "a hundred at once are used soon";
}

TEST(Connections, Full_AddressWithMostIdleClosesOne) {
  Connections book({4, 100, 0ms, 100});
  std::vector<std::string> closed;
  for (const char* name : {"honest", "loud", "loud", "loud"})
    book.add(
        name, [&closed, name] { closed.push_back(name); }, kNow);
  EXPECT_TRUE(book.makeRoom());
  EXPECT_EQ(closed, std::vector<std::string>{"loud"}) << "though the other one is older";
}

TEST(Connections, BodiesAboveSum_SlowestClosed) {
  Connections book({10, 10, 0ms, 100});
  int closed = 0;
  const auto slow = book.add(
      "a", [&] { closed = 1; }, kNow);
  const auto other = book.add(
      "b", [&] { closed = 2; }, kNow);
  const auto third = book.add(
      "c", [] {}, kNow);
  EXPECT_TRUE(book.holdsBody(slow, 60));
  EXPECT_TRUE(book.holdsBody(other, 40));
  EXPECT_TRUE(book.holdsBody(third, 30));
  EXPECT_EQ(closed, 1);
  EXPECT_EQ(book.bodies(), 70u);
  book.becomesBusy(other), book.becomesBusy(third);
  const auto fourth = book.add(
      "d", [] {}, kNow);
  EXPECT_FALSE(book.holdsBody(fourth, 31)) << "what is answered is not closed";
  EXPECT_TRUE(book.holdsBody(fourth, 30));
  EXPECT_FALSE(book.holdsBody(fourth, ~std::uint64_t{0}));
  book.remove(other), book.becomesIdle(third, kNow);
  EXPECT_EQ(book.bodies(), 0u);
}

// Whatever happens in whatever order: bounds hold, and what ended holds nothing.
TEST(Connections, RandomEvents_BoundsHold) {
  Rng rng(7);
  Connections book({16, 4, 100ms, 1000});
  std::vector<Connections::Place> live;
  for (int step = 0; step < 100'000; ++step) {
    const std::uint64_t dice = rng.below(5);
    if (dice == 0 && book.makeRoom())
      live.push_back(book.add(
          std::to_string(rng.below(6)), [] {}, kNow + step * 1ms));
    if (live.empty()) continue;
    const std::size_t at = rng.below(live.size());
    if (dice == 1) book.becomesBusy(live[at]);
    if (dice == 2) book.becomesIdle(live[at], kNow + step * 1ms);
    if (dice == 3) book.holdsBody(live[at], rng.below(400));
    if (dice == 4 || live[at]->state == Connections::Item::State::kClosing) {
      book.remove(live[at]);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    }
    ASSERT_LE(book.size(), 16u);
    ASSERT_LE(book.bodies(), 1000u);
  }
  for (const Connections::Place place : live) book.remove(place);
  EXPECT_EQ(book.size(), 0u);
  EXPECT_EQ(book.bodies(), 0u);
}

}  // namespace
}  // namespace divvy::http
