// S10: what a page of another version, layout, boot or size gets, from both halves.
#include <fcntl.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <functional>

#include "tenant_fixture.h"

namespace divvy::ledger {
namespace {

class VersionTest : public testing::Test {
 protected:
  VersionTest() { (void)mustCreate(dir(), specWith(1000)); }

  std::filesystem::path dir() const { return private_.path() / "t"; }

  // Rewrites the first 64 bytes of a file.
  void edit(const char* name, const std::function<void(Identification&)>& change) {
    std::fstream file(dir() / name, std::ios::in | std::ios::out | std::ios::binary);
    Identification id;
    file.read(reinterpret_cast<char*>(&id), sizeof id);
    change(id);
    file.seekp(0);
    file.write(reinterpret_cast<const char*>(&id), sizeof id);
  }
  void editBoth(const std::function<void(Identification&)>& change) {
    edit("control", change);
    edit("report", change);
  }

  OpenStatus open() {
    TenantPages pages;
    const OpenStatus status = TenantPages::open(dir().c_str(), &pages);
    EXPECT_EQ(pages.isOpen(), status == OpenStatus::kOk);
    pages.close();
    return status;
  }
  ErrorCode adoptError() {
    const Result<TenantLedger> adopted = TenantLedger::adopt(dir());
    if (adopted) {
      ADD_FAILURE() << "adopted";
      return ErrorCode::kInternal;
    }
    return adopted.error().code();
  }

  PrivateDir private_;
};

TEST_F(VersionTest, EarlierVersion_S10IsReadable) {
  editBoth([](Identification& id) {
    id.minor = kOldestMinor;
    id.features = 0;
  });
  ASSERT_EQ(open(), OpenStatus::kOk);
  Result<TenantLedger> ledger = TenantLedger::adopt(dir());
  ASSERT_TRUE(ledger) << ledger.error().message();
  Account account;
  mustAttach(dir(), account);
  EXPECT_EQ(account.reserve(0, 1000), Admission::kGranted);
  EXPECT_EQ(account.reserve(0, 1), Admission::kOverLimit);
  const Result<ReportSnapshot> seen = ledger->readReport();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->suspicions, 0u) << suspicionNames(seen->suspicions);
  EXPECT_EQ(ledger->reap(0, 0)->refunded[0].count, 1000u);
}

TEST_F(VersionTest, NewerVersion_S10IsRefused) {
  editBoth([](Identification& id) { id.minor = kMinor + 1; });
  EXPECT_EQ(open(), OpenStatus::kNewer);
  EXPECT_EQ(adoptError(), ErrorCode::kUnsupported);
  editBoth([](Identification& id) { id.major = kMajor + 1; });
  EXPECT_EQ(open(), OpenStatus::kNewer);
}

TEST_F(VersionTest, OlderMajor_S10IsRefused) {
  editBoth([](Identification& id) { id.major = kMajor - 1; });
  EXPECT_EQ(open(), OpenStatus::kOlder);
  EXPECT_EQ(adoptError(), ErrorCode::kUnsupported);
}

TEST_F(VersionTest, OtherLayout_IsRefused) {
  editBoth([](Identification& id) { id.layout_hash ^= 1; });
  EXPECT_EQ(open(), OpenStatus::kOtherLayout);
  EXPECT_EQ(adoptError(), ErrorCode::kUnsupported);
}

TEST_F(VersionTest, EarlierBoot_F12IsRefused) {
  editBoth([](Identification& id) { id.boot_id[3] = static_cast<char>(id.boot_id[3] + 1); });
  EXPECT_EQ(open(), OpenStatus::kStaleBoot);
  EXPECT_EQ(adoptError(), ErrorCode::kUnavailable);
}

TEST_F(VersionTest, ForeignFiles_AreRefused) {
  editBoth([](Identification& id) { id.magic = 0; });
  EXPECT_EQ(open(), OpenStatus::kBadMagic);
  EXPECT_EQ(adoptError(), ErrorCode::kCorrupt);
}

TEST_F(VersionTest, ReportOfOtherGeneration_IsMismatched) {
  edit("report", [](Identification& id) { id.generation += 1; });
  EXPECT_EQ(open(), OpenStatus::kMismatched);
  // To the agent the control page says who this is; the report is only suspect.
  Result<TenantLedger> ledger = TenantLedger::adopt(dir());
  ASSERT_TRUE(ledger);
  EXPECT_EQ(ledger->readReport()->suspicions, static_cast<std::uint32_t>(Inconsistency::kHeader));
}

TEST_F(VersionTest, TruncatedFiles_RefusedAtEachLength) {
  for (const char* name : {"control", "report"}) {
    const std::size_t whole = std::filesystem::file_size(dir() / name);
    for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{63},
                                     std::size_t{64}, std::size_t{4096}, whole - 1}) {
      SCOPED_TRACE(testing::Message() << name << " of " << length << " bytes");
      std::filesystem::resize_file(dir() / name, length);
      EXPECT_EQ(open(), OpenStatus::kTruncated);
      EXPECT_EQ(adoptError(), ErrorCode::kCorrupt);
      std::filesystem::remove_all(dir());
      (void)mustCreate(dir(), specWith(1000));
    }
  }
}

TEST_F(VersionTest, MissingFiles_AreRefused) {
  std::filesystem::remove(dir() / "report");
  EXPECT_EQ(open(), OpenStatus::kMismatched);
  EXPECT_EQ(adoptError(), ErrorCode::kCorrupt);
  std::filesystem::remove(dir() / "control");
  EXPECT_EQ(open(), OpenStatus::kAbsent);
  EXPECT_EQ(adoptError(), ErrorCode::kNotFound);
  std::filesystem::remove_all(dir());
  EXPECT_EQ(open(), OpenStatus::kAbsent);
  EXPECT_EQ(adoptError(), ErrorCode::kNotFound);
}

TEST_F(VersionTest, FifoOrLink_RefusedWithoutWaiting) {
  std::filesystem::remove(dir() / "control");
  ASSERT_EQ(mkfifo((dir() / "control").c_str(), 0600), 0);
  EXPECT_EQ(open(), OpenStatus::kDenied);
  EXPECT_EQ(adoptError(), ErrorCode::kCorrupt);
  std::filesystem::remove(dir() / "control");
  std::filesystem::create_symlink("report", dir() / "control");
  EXPECT_EQ(open(), OpenStatus::kDenied);
}

TEST_F(VersionTest, CountsBeyondLayout_AreRefused) {
  const auto with = [&](auto change) {
    std::fstream file(dir() / "control", std::ios::in | std::ios::out | std::ios::binary);
    const auto page = std::make_unique<ControlPage>();
    file.read(reinterpret_cast<char*>(page.get()), sizeof *page);
    const ControlPage good = *page;
    change(*page);
    file.seekp(0);
    file.write(reinterpret_cast<const char*>(page.get()), sizeof *page);
    file.flush();
    EXPECT_EQ(open(), OpenStatus::kBadValues);
    EXPECT_EQ(adoptError(), ErrorCode::kCorrupt);
    file.seekp(0);
    file.write(reinterpret_cast<const char*>(&good), sizeof good);
  };
  with([](ControlPage& page) { page.header.device_count = 0; });
  with([](ControlPage& page) { page.header.device_count = kMaxDevices + 1; });
  with([](ControlPage& page) { page.header.slots_capacity = kMaxSlots + 1; });
  with([](ControlPage& page) { page.header.slots_ready = kMaxSlots + 1; });
  with([](ControlPage& page) { page.devices[0].mem_ceiling = UINT64_MAX; });
  with([](ControlPage& page) { std::memset(page.header.name, 'x', sizeof page.header.name); });
  with([](ControlPage& page) { std::memset(page.devices[0].uuid, 'x', 48); });
  EXPECT_EQ(open(), OpenStatus::kOk);
}

TEST(OpenStatus, EachStatus_HasName) {
  for (int i = 0; i <= static_cast<int>(OpenStatus::kNoMemory); ++i) {
    EXPECT_STRNE(openStatusName(static_cast<OpenStatus>(i)), "unknown status") << i;
  }
}

}  // namespace
}  // namespace divvy::ledger
