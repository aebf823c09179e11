#include "tenant/tenant_record.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace divvy::agent {
namespace {

namespace fs = std::filesystem;

class TenantRecordTest : public ::testing::Test {
 protected:
  TenantRecordTest() {
    std::string pattern = fs::temp_directory_path() / "divvy-record-XXXXXX";
    dir_ = mkdtemp(pattern.data());
  }
  ~TenantRecordTest() override { fs::remove_all(dir_); }

  static TenantRecord sample() {
    TenantRecord record;
    record.id = "abc234";
    record.name = "web";
    record.priority = Priority::kHigh;
    record.cores_policy = CoresPolicy::kCap;
    record.backend = Backend::kMps;
    record.holder = {42, 4711};
    record.command_pid = 43;
    record.created = 1700000000;
    record.context_inside = false;
    record.command = {"python", "x.py"};
    record.on_pressure = OnPressure::kWait;
    record.pressure_wait_ms = 700;
    record.idle.reclaim_ms = 0;
    record.pool = "training";
    record.alone = true;
    record.user = "ann";
    record.devices = *engine::parseDevicePolicy("mutex");
    record.expected_use = engine::UsageByHour{};
    record.expected_use->permille[3] = 500;
    record.shares = {{"GPU-1", gib(4), gib(5), 30, gib(1)}};
    return record;
  }
  std::string text() const {
    std::ifstream file(dir_ + "/tenant.json");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& text) const { std::ofstream(dir_ + "/tenant.json") << text; }

  std::string dir_;
};

TEST_F(TenantRecordTest, ContainedAndKept_LoadBack) {
  TenantRecord record = sample();
  ASSERT_TRUE(saveRecord(dir_, record));
  EXPECT_FALSE(loadRecord(dir_)->contained || loadRecord(dir_)->kept);
  record.contained = record.kept = true;
  record.cdi_file = "/run/cdi/x.json";
  ASSERT_TRUE(saveRecord(dir_, record));
  const Result<TenantRecord> back = loadRecord(dir_);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_TRUE(back->contained && back->kept);
  EXPECT_EQ(back->cdi_file, "/run/cdi/x.json");
}

TEST_F(TenantRecordTest, Container_LoadsBack) {
  TenantRecord record = sample();
  record.lodger = {"0f-1", "team-a", "trainer", "main"};
  ASSERT_TRUE(saveRecord(dir_, record));
  const Result<TenantRecord> back = loadRecord(dir_);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->lodger, record.lodger);
}

TEST_F(TenantRecordTest, SavedRecord_LoadsEqual) {
  ASSERT_TRUE(saveRecord(dir_, sample()));
  const Result<TenantRecord> back = loadRecord(dir_);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->id, "abc234");
  EXPECT_EQ(back->priority, Priority::kHigh);
  EXPECT_EQ(back->cores_policy, CoresPolicy::kCap);
  EXPECT_EQ(back->backend, Backend::kMps);
  EXPECT_EQ(back->holder.start_time, 4711u);
  EXPECT_FALSE(back->context_inside);
  ASSERT_EQ(back->shares.size(), 1u);
  EXPECT_EQ(back->shares[0].reserve, gib(5));
  EXPECT_EQ(back->shares[0].guarantee, gib(1));
  EXPECT_EQ(back->on_pressure, OnPressure::kWait);
  EXPECT_EQ(back->pressure_wait_ms, 700u);
  EXPECT_EQ(back->idle.reclaim_ms, 0u);
  EXPECT_FALSE(back->idle.stop_ms);
  EXPECT_EQ(back->pool, "training");
  EXPECT_TRUE(back->alone);
  EXPECT_EQ(back->user, "ann");
  ASSERT_TRUE(back->devices);
  EXPECT_EQ(engine::text(*back->devices), "mutex");
  EXPECT_EQ(back->expected_use, sample().expected_use);
}

TEST_F(TenantRecordTest, EarlierVersion_IsRead) {
  write(R"({"version":1,"id":"abc234","priority":"low",
           "shares":[{"uuid":"GPU-1","limit":4096,"cores":30}]})");
  const Result<TenantRecord> back = loadRecord(dir_);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->cores_policy, CoresPolicy::kShare);
  EXPECT_EQ(back->priority, Priority::kLow);
  EXPECT_EQ(back->on_pressure, OnPressure::kOom);
  EXPECT_EQ(back->pressure_wait_ms, kPressureWaitMs);
  // They knew of no swapping.
  ASSERT_EQ(back->shares.size(), 1u);
  EXPECT_EQ(back->shares[0].guarantee, Bytes{4096});
}

// F18: a file torn at any byte is refused with its name, never half believed.
TEST_F(TenantRecordTest, TornAtEachByte_IsCorrupt) {
  ASSERT_TRUE(saveRecord(dir_, sample()));
  const std::string whole = text();
  for (std::size_t size = 0; size + 2 < whole.size(); ++size) {
    write(whole.substr(0, size));
    const Result<TenantRecord> back = loadRecord(dir_);
    ASSERT_FALSE(back) << size;
    EXPECT_EQ(back.error().code(), ErrorCode::kCorrupt);
    EXPECT_NE(back.error().message().find("tenant.json"), std::string::npos);
  }
}

TEST_F(TenantRecordTest, OtherVersion_ErrorNamesVersion) {
  write(R"({"version":2})");
  const Result<TenantRecord> back = loadRecord(dir_);
  ASSERT_FALSE(back);
  EXPECT_NE(back.error().message().find("version 2; accepted: 1"), std::string::npos);
}

TEST_F(TenantRecordTest, NoFile_IsNotFound) {
  const Result<TenantRecord> back = loadRecord(dir_);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code(), ErrorCode::kNotFound);
}

TEST_F(TenantRecordTest, SaveFails_OldRecordKept) {
  ASSERT_TRUE(saveRecord(dir_, sample()));
  const std::string before = text();
  // A directory in the way of the temporary file fails for every user, root included.
  fs::create_directory(dir_ + "/tenant.json.new");
  TenantRecord changed = sample();
  changed.name = "other";
  EXPECT_FALSE(saveRecord(dir_, changed));
  EXPECT_EQ(text(), before);
}

TEST(TenantRecord, SwapsBackendWithoutArbiter_IsFalse) {
  TenantRecord record;
  record.shares.resize(1);
  record.shares[0].limit = gib(2);
  record.shares[0].guarantee = gib(2);
  EXPECT_FALSE(swaps(record));
  record.shares[0].guarantee = gib(1);
  EXPECT_TRUE(swaps(record));
  record.backend = Backend::kMps;
  EXPECT_FALSE(swaps(record));
}

}  // namespace
}  // namespace divvy::agent
