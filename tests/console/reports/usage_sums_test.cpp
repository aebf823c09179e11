#include "reports/usage_sums.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace divvy::console {
namespace {

constexpr std::int64_t kHour = 1000;
constexpr std::int64_t kSeconds = 3600;
constexpr std::int64_t kMemory = 80;  // bytes of a device

history::DeviceHour deviceHour(const std::string& uuid, std::int64_t seconds = kSeconds,
                               std::int64_t hour = kHour) {
  return {{hour, uuid, 0}, seconds, kMemory * seconds};
}

// A share of `bytes` and thousandths of the compute over an hour, that used `used` ms of each s.
history::UsageRow shareHour(const std::string& share, const std::string& device, std::int64_t bytes,
                            std::int64_t milli, std::int64_t used_milli,
                            std::int64_t hour = kHour) {
  history::UsageRow row{{hour, share, device, 0}, {}};
  row.amounts.seconds = kSeconds;
  row.amounts.promised_byte_seconds = bytes * kSeconds;
  row.amounts.promised_compute_milli_seconds = milli * kSeconds;
  row.amounts.device_ns = used_milli * kSeconds * 1'000'000;
  return row;
}

history::ObjectRecord objectOf(const std::string& team, const std::string& model = "") {
  history::ObjectRecord object;
  object.namespace_name = "ns-" + team;
  object.team = team;
  object.owner = "Deployment/" + team;
  object.model = model;
  return object;
}

class UsageSumsTest : public testing::Test {
 protected:
  UsageSumsTest() {
    objects_["a"] = objectOf("vision");
    objects_["b"] = objectOf("speech");
    objects_["c"] = objectOf("vision");
    objects_["GPU-0"] = objectOf("", "NVIDIA H100 80GB HBM3");
    objects_["GPU-1"] = objectOf("", "NVIDIA A10");
    prices_.currency = "EUR";
    prices_.prices = {{"H100", 2'000'000, 0}, {"H100", 3'000'000, (kHour + 1) * 3'600'000}};
  }
  UsageSums sumsBy(UsageGroup by, UsageStep step = UsageStep::kAll,
                   UsageSums::ShareFilter filter = nullptr) const {
    return UsageSums({by, step, 0, 0}, prices_, objects_, std::move(filter));
  }

  UsageSums::Objects objects_;
  PriceTable prices_;
};

TEST_F(UsageSumsTest, SharesOfTeam_SumsAndCost) {
  UsageSums sums = sumsBy(UsageGroup::kTeam);
  // A quarter of the memory; a half of the compute; a quarter of each.
  ASSERT_TRUE(
      sums.addHour(kHour, {deviceHour("GPU-0")},
                   {shareHour("a", "GPU-0", 20, 0, 100), shareHour("b", "GPU-0", 8, 500, 900),
                    shareHour("c", "GPU-0", 20, 250, 0)}));
  ASSERT_EQ(sums.rows().size(), 2u);
  const UsageAmount vision = sums.rows().at({"vision", 0});
  EXPECT_EQ(vision.allocated, 500'000'000);
  EXPECT_EQ(vision.used, 100'000'000);
  EXPECT_EQ(vision.idle, 400'000'000);
  EXPECT_EQ(vision.charged, 1'000'000);
  EXPECT_EQ(vision.used_cost, 200'000);
  EXPECT_EQ(vision.idle_cost, 800'000);
  EXPECT_DOUBLE_EQ(vision.memory_byte_hours, 40);
  const UsageAmount speech = sums.rows().at({"speech", 0});
  EXPECT_EQ(speech.allocated, 500'000'000);
  EXPECT_EQ(speech.used, 900'000'000) << "more than it was promised";
  EXPECT_EQ(speech.idle, 0);
  EXPECT_EQ(speech.charged, 1'000'000);
  EXPECT_EQ(sums.capacity().device_hours, 1'000'000'000);
  EXPECT_EQ(sums.capacity().unallocated, 0);
  EXPECT_EQ(sums.total().allocated, 1'000'000'000);
}

TEST_F(UsageSumsTest, EachProperty_GroupsByIt) {
  const std::vector<std::pair<UsageGroup, std::string>> cases{
      {UsageGroup::kShare, "a"},
      {UsageGroup::kDevice, "GPU-0"},
      {UsageGroup::kModel, "NVIDIA H100 80GB HBM3"},
      {UsageGroup::kNamespace, "ns-vision"},
      {UsageGroup::kTeam, "vision"},
      {UsageGroup::kQueue, ""},
      {UsageGroup::kOwner, "ns-vision/Deployment/vision"}};
  for (const auto& [by, key] : cases) {
    UsageSums sums = sumsBy(by);
    ASSERT_TRUE(sums.addHour(kHour, {deviceHour("GPU-0")}, {shareHour("a", "GPU-0", 8, 0, 0)}));
    ASSERT_EQ(sums.rows().size(), 1u) << nameOf(by);
    EXPECT_EQ(sums.rows().begin()->first.first, key) << nameOf(by);
  }
}

TEST_F(UsageSumsTest, PriceRises_CountsFromItsHour) {
  UsageSums sums = sumsBy(UsageGroup::kTeam, UsageStep::kHour);
  for (const std::int64_t hour : {kHour, kHour + 1})
    ASSERT_TRUE(sums.addHour(hour, {deviceHour("GPU-0", kSeconds, hour)},
                             {shareHour("a", "GPU-0", kMemory, 0, 0, hour)}));
  EXPECT_EQ(sums.rows().at({"vision", kHour}).charged, 2'000'000);
  EXPECT_EQ(sums.rows().at({"vision", kHour + 1}).charged, 3'000'000);
  EXPECT_EQ(sums.capacity().price, 5'000'000);
}

TEST_F(UsageSumsTest, Days_BeginAtMidnightUtc) {
  UsageSums sums = sumsBy(UsageGroup::kTeam, UsageStep::kDay);
  for (const std::int64_t hour : {47, 48, 71, 72})
    ASSERT_TRUE(sums.addHour(hour, {deviceHour("GPU-0", kSeconds, hour)},
                             {shareHour("a", "GPU-0", 8, 0, 0, hour)}));
  std::vector<std::int64_t> starts;
  for (const auto& [key, amount] : sums.rows()) starts.push_back(key.second);
  EXPECT_EQ(starts, (std::vector<std::int64_t>{24, 48, 72}));
  EXPECT_EQ(sums.rows().at({"vision", 48}).allocated, 200'000'000);
}

TEST_F(UsageSumsTest, ModelWithoutPrice_NamedAndCostsNothing) {
  UsageSums sums = sumsBy(UsageGroup::kModel);
  ASSERT_TRUE(sums.addHour(kHour, {deviceHour("GPU-0"), deviceHour("GPU-1")},
                           {shareHour("a", "GPU-1", kMemory, 0, 0)}));
  EXPECT_EQ(sums.unpricedModels(), std::set<std::string>{"NVIDIA A10"});
  EXPECT_EQ(sums.total().charged, 0);
  EXPECT_EQ(sums.total().allocated, 1'000'000'000);
  EXPECT_EQ(sums.capacity().unallocated_cost, 2'000'000) << "the H100 that no share had";
  prices_ = {};
  UsageSums hours = sumsBy(UsageGroup::kModel);
  ASSERT_TRUE(hours.addHour(kHour, {deviceHour("GPU-1")}, {}));
  EXPECT_TRUE(hours.unpricedModels().empty()) << "there are no prices";
}

TEST_F(UsageSumsTest, HiddenShare_ScalesOthersAndIsInNoSum) {
  UsageSums sums = sumsBy(UsageGroup::kShare, UsageStep::kAll,
                          [](const std::string& share) { return share == "a"; });
  // Each was promised the whole device.
  ASSERT_TRUE(sums.addHour(
      kHour, {deviceHour("GPU-0")},
      {shareHour("a", "GPU-0", kMemory, 0, 0), shareHour("b", "GPU-0", kMemory, 0, 0)}));
  ASSERT_EQ(sums.rows().size(), 1u);
  EXPECT_EQ(sums.total().allocated, 500'000'000);
  EXPECT_EQ(sums.capacity().unallocated, 0);
}

TEST_F(UsageSumsTest, TooManyRows_RefusedWithAccepted) {
  UsageSums sums = sumsBy(UsageGroup::kShare);
  std::vector<history::UsageRow> rows;
  for (std::size_t at = 0; at <= UsageSums::kMaxRows; ++at)
    rows.push_back(shareHour("s" + std::to_string(at), "GPU-0", 0, 0, 0));
  const Result<void> added = sums.addHour(kHour, {deviceHour("GPU-0")}, rows);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code(), ErrorCode::kUsage);
}

// For each device and hour, the parts of shares and the unallocated part are the whole.
RC_GTEST_PROP(UsageSumsProperty, RandomHours_PartsAddUpToWhole, ()) {
  const UsageSums::Objects objects{{"GPU-0", objectOf("", "H100")},
                                   {"GPU-1", objectOf("", "H100")}};
  const PriceTable prices{"EUR", {{"H100", *rc::gen::inRange<std::int64_t>(0, kMaxPrice), 0}}};
  UsageSums sums({UsageGroup::kShare, UsageStep::kHour, 0, 0}, prices, objects, nullptr);
  for (std::int64_t hour = 0; hour < *rc::gen::inRange(1, 5); ++hour) {
    std::vector<history::DeviceHour> devices;
    std::vector<history::UsageRow> rows;
    for (const char* device : {"GPU-0", "GPU-1"}) {
      devices.push_back(deviceHour(device, *rc::gen::inRange<std::int64_t>(1, kSeconds + 1), hour));
      for (int at = *rc::gen::inRange(0, 6); at > 0; --at)
        rows.push_back(shareHour("s" + std::to_string(at), device,
                                 *rc::gen::inRange<std::int64_t>(0, kMemory + 1),
                                 *rc::gen::inRange<std::int64_t>(0, 1001),
                                 *rc::gen::inRange<std::int64_t>(0, 1001), hour));
    }
    RC_ASSERT(sums.addHour(hour, devices, rows));
  }
  UsageAmount total;
  for (const auto& [key, amount] : sums.rows()) {
    RC_ASSERT(amount.charged == amount.used_cost + amount.idle_cost);
    total.allocated += amount.allocated;
    total.charged += amount.charged;
  }
  RC_ASSERT(total.allocated == sums.total().allocated);
  RC_ASSERT(sums.total().allocated + sums.capacity().unallocated == sums.capacity().device_hours);
  RC_ASSERT(total.charged + sums.capacity().unallocated_cost == sums.capacity().price);
}

}  // namespace
}  // namespace divvy::console
