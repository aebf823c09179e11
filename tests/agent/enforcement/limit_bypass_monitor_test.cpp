// Whom a verdict concerns that was found of a tenant, while others come and go under its id.
#include "enforcement/limit_bypass_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>

#include "agent/placement.h"
#include "agent/process.h"
#include "ledger/pages.h"
#include "os/asio.h"
#include "sandbox.h"

namespace divvy::agent {
namespace {

using testing::IsEmpty;

constexpr const char* kId = "pod-units-of-a-card";
constexpr Bytes kLimit = gib(1);

// A driver that sees one process; at first it has more than any limit here.
class OneProcess final : public driver::ProcessSource {
 public:
  std::vector<driver::ProcessUse> processes(const std::string&) override {
    ++asked;
    const int now = pid;
    if (now == 0) return {};
    return {{now, Bytes{bytes}, false}};
  }
  std::vector<driver::ProcessTime> times(const std::string&) override { return {}; }

  std::atomic<int> pid{0};
  std::atomic<unsigned> asked{0};
  std::atomic<std::uint64_t> bytes{gib(8).count};
};

class LimitBypassMonitorTest : public testing::Test {
 protected:
  LimitBypassMonitorTest() {
    std::string pattern = "/tmp/dv-XXXXXX";
    root_ = mkdtemp(pattern.data());
    paths_.emplace(root_, node_);
    EXPECT_TRUE(makeNodeDir(*paths_));
    const std::string build = test::buildDir();
    Result<Inventory> opened = Inventory::open(
        node_, *paths_, {build + "/bin/divvy", build + "/lib", build + "/simgpu"}, driver_);
    EXPECT_TRUE(opened) << opened.error().message();
    inventory_.emplace(std::move(*opened));
    tenants_.emplace(loop_, *paths_, *inventory_, arbiter::Settings(),
                     MemoryPolicy{{DeviceTerms()}, {}, kSwapChunk, false, {}, {}}, [] {});
    EXPECT_TRUE(tenants_->recoverAll());
    watch_.emplace(*tenants_, *inventory_, events_, BypassPolicy(),
                   [this](const Tenant&, int) { return pages_; });
    watch_->includePods();
  }
  ~LimitBypassMonitorTest() override {
    watch_.reset();
    tenants_.reset();
    inventory_.reset();
    std::filesystem::remove_all(root_);
  }

  // A container of that pod has the units that are called so.
  TenantPtr comes(const std::string& uid) {
    RunRequest request;
    request.ask.memory.bytes = kLimit;
    const Decision decision = place(request.ask, tenants_->capacity().cards());
    Result<TenantPtr> made =
        tenants_->createFor({uid, "team", "trainer", "main"}, kId, request, decision);
    EXPECT_TRUE(made) << made.error().message();
    return made ? *made : nullptr;
  }
  void registers(const TenantPtr& tenant, int pid) {
    tenants_->liveness().watchProcess(tenant, {0, 1}, {pid, startTimeOf(pid)});
  }
  // Looks that the driver has answered, until that many pods are known to be past their limit.
  bool found(std::size_t count) {
    return test::eventually([&] {
      inventory_->driver().refreshUse({inventory_->devices().front().info.index});
      loop_.poll();
      watch_->poll();
      const auto cases = watch_->cases();
      return cases && cases->size() == count;
    });
  }

  PageVisibility pages_ = PageVisibility::kOurs;
  const Node node_{"sim-h100"};
  std::string root_;
  std::optional<NodePaths> paths_;
  const std::shared_ptr<OneProcess> driver_ = std::make_shared<OneProcess>();
  asio::io_context loop_;
  std::optional<Inventory> inventory_;
  std::optional<TenantManager> tenants_;
  EventLog events_;
  std::optional<LimitBypassMonitor> watch_;
};

// Regression: until the driver answered again, the next pod with the same units was said to do what
// the one before it had done.
TEST_F(LimitBypassMonitorTest, NextTenant_InheritsNoVerdict) {
  test::Child first({"/bin/sleep", "1000"}, {});
  const TenantPtr cheat = comes("uid-1");
  ASSERT_NE(cheat, nullptr);
  registers(cheat, first.pid());
  driver_->pid = first.pid();
  ASSERT_TRUE(found(1));
  EXPECT_EQ(watch_->cases()->front().pod.uid, "uid-1");
  first.signal(SIGKILL);
  first.wait();
  tenants_->end(cheat);
  ASSERT_THAT(tenants_->all(), IsEmpty());
  const TenantPtr heir = comes("uid-2");
  ASSERT_NE(heir, nullptr);
  static_cast<void>(inventory_->driver().takeProcesses());
  watch_->poll();
  ASSERT_TRUE(watch_->cases());
  EXPECT_THAT(*watch_->cases(), IsEmpty());
  EXPECT_EQ(heir->bypass.how(), "");
  // The control: of what it does itself it is accused.
  test::Child second({"/bin/sleep", "1000"}, {});
  registers(heir, second.pid());
  driver_->pid = second.pid();
  ASSERT_TRUE(found(1));
  EXPECT_EQ(watch_->cases()->front().pod.uid, "uid-2");
}

// Regression: what a tenant wrote into its report was what it might have. A process that registers
// without our library and writes the size of the card there was never noticed.
TEST_F(LimitBypassMonitorTest, ForgedReport_GrantsNoAllowance) {
  test::Child forger({"/bin/sleep", "1000"}, {});
  const TenantPtr cheat = comes("uid-1");
  ASSERT_NE(cheat, nullptr);
  registers(cheat, forger.pid());
  ledger::TenantPages pages;
  ASSERT_EQ(ledger::TenantPages::open(cheat->dir.c_str(), &pages), ledger::OpenStatus::kOk);
  ledger::ReportPage& report = pages.report();
  report.devices[0].total.low = gib(79).count;
  report.slots[0].lanes[0].used[0] = gib(79).count;
  report.slots[0].state.low = ledger::packState(1, ledger::Phase::kLive);
  ASSERT_GT(useOf(*cheat).begin()->second.inside, gib(70)) << "it is believed where it is shown";
  driver_->pid = forger.pid();
  ASSERT_TRUE(found(1));
  EXPECT_THAT(watch_->cases()->front().what, testing::HasSubstr("limit 1 GiB"));
}

// Regression: a volume over the share's pages, by way of a link in the image, went unnoticed.
TEST_F(LimitBypassMonitorTest, ForeignPagesMounted_IsFound) {
  test::Child process({"/bin/sleep", "1000"}, {});
  const TenantPtr tenant = comes("uid-1");
  ASSERT_NE(tenant, nullptr);
  registers(tenant, process.pid());
  driver_->bytes = mib(100).count;
  driver_->pid = process.pid();
  pages_ = PageVisibility::kOthers;
  ASSERT_TRUE(found(1));
  EXPECT_THAT(watch_->cases()->front().what, testing::HasSubstr("mounts files of another share"));
  pages_ = PageVisibility::kOurs;
  ASSERT_TRUE(found(0));
  pages_ = PageVisibility::kUntold;
  for (unsigned look = 0; look < 2 * BypassDebouncer::kLooks; ++look) ASSERT_TRUE(found(0));
}

TEST_F(LimitBypassMonitorTest, TenantFilesRegrown_IsFound) {
  const TenantPtr tenant = comes("uid-1");
  ASSERT_NE(tenant, nullptr);
  const std::string report = tenant->dir + "/report";
  ASSERT_TRUE(test::eventually([&] {
    std::error_code ignored;
    std::filesystem::resize_file(report, 64u << 20, ignored);
    inventory_->driver().refreshUse({inventory_->devices().front().info.index});
    loop_.poll();
    watch_->poll();
    return watch_->cases() && watch_->cases()->size() == 1;
  }));
  EXPECT_THAT(watch_->cases()->front().what, testing::StartsWith("its file report has 64 MiB"));
  ASSERT_TRUE(found(0));
}

// The agent's own word stands: a tenant that used its share when it became smaller is honest.
TEST_F(LimitBypassMonitorTest, ShareShrunk_OldLimitUntilUseFalls) {
  test::Child process({"/bin/sleep", "1000"}, {});
  const TenantPtr tenant = comes("uid-1");
  ASSERT_NE(tenant, nullptr);
  registers(tenant, process.pid());
  driver_->bytes = kLimit.count;
  driver_->pid = process.pid();
  SetRequest request;
  request.has_memory = true;
  request.memory.bytes = mib(600);
  const auto set = tenants_->resizer().change(tenant, request, "test");
  ASSERT_TRUE(set) << set.error().message();
  const auto looks = [&](unsigned times) {
    const unsigned enough = driver_->asked + times;
    return test::eventually([&] {
      inventory_->driver().refreshUse({inventory_->devices().front().info.index});
      loop_.poll();
      watch_->poll();
      return driver_->asked >= enough;
    });
  };
  ASSERT_TRUE(found(0));
  ASSERT_TRUE(looks(3 * Shrinking::kLooks));
  EXPECT_EQ(tenant->bypass.how(), "");
  const Result<TenantRecord> noted = loadRecord(tenant->dir);
  ASSERT_TRUE(noted);
  EXPECT_EQ(mostStood(*noted, noted->shares[0]), kLimit) << "the next agent knows";
  driver_->bytes = mib(500).count;
  ASSERT_TRUE(looks(3 * Shrinking::kLooks));
  EXPECT_TRUE(tenant->record.stood.empty());
  EXPECT_TRUE(loadRecord(tenant->dir)->stood.empty());
  driver_->bytes = kLimit.count;
  ASSERT_TRUE(found(1)) << "it had less: it has no claim to what it had before";
}

}  // namespace
}  // namespace divvy::agent
