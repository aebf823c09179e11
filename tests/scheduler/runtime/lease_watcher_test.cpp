// Leadership by a Lease at a fake API server that fails, ages or is another's.
#include "runtime/lease_watcher.h"

#include "controller_fixture.h"

namespace divvy::scheduler {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

constexpr const char* kLeaseNamespace = "divvy-system";
constexpr const char* kName = "divvy-scheduler";
constexpr std::int64_t kDuration = 15;  // of the Lease, seconds; it is acted upon for 10 s

class LeaseWatcherTest : public ControllerTest {
 protected:
  void begin(const std::string& name = kName) {
    watcher = std::move(*LeaseWatcher::make(loop, access(), {kLeaseNamespace, name, "host-a"}));
    watcher->start([this] { ++terms; }, [this](const std::string& why) { said = why; }, &stopped);
  }
  // Renews the Lease, as its holder.
  void renew(const std::string& holder, std::int64_t transitions = 1) {
    api.set(kube::leasePath(kLeaseNamespace, kName),
            json::object{{"spec", json::object{{"holderIdentity", holder},
                                               {"leaseDurationSeconds", kDuration},
                                               {"leaseTransitions", transitions},
                                               {"renewTime", std::to_string(++renewals)}}}});
  }
  void keepRenewing(const std::string& holder, seconds time, std::int64_t transitions = 1) {
    for (; time.count() > 0; time -= seconds(1)) {
      renew(holder, transitions);
      pass(seconds(1));
    }
  }
  bool leads() const { return watcher->verdict().leads; }

  std::unique_ptr<LeaseWatcher> watcher;
  unsigned terms = 0;
  unsigned renewals = 0;
  std::string said;
};

TEST_F(LeaseWatcherTest, OwnLease_LeadsOnceItsAgeIsKnown) {
  renew("host-a_1");
  begin();
  ASSERT_TRUE(until([&] { return terms == 1; }));
  EXPECT_FALSE(leads()) << "it may be old";
  renew("host-a_1");
  ASSERT_TRUE(until([&] { return leads(); }));
  EXPECT_EQ(watcher->verdict().fence, "uid-of-divvy-scheduler/1");
  keepRenewing("host-a_1", seconds(30));
  EXPECT_TRUE(leads());
  EXPECT_EQ(terms, 1u);
}

TEST_F(LeaseWatcherTest, RenewalsEnd_LeadsNoMore) {
  renew("host-a_1");
  begin();
  keepRenewing("host-a_1", seconds(5));
  ASSERT_TRUE(leads());
  pass(seconds(7));
  EXPECT_TRUE(leads());
  pass(seconds(5));
  EXPECT_FALSE(leads());
  EXPECT_FALSE(watcher->failingSince()) << "it is read";
}

TEST_F(LeaseWatcherTest, ServerFails_LeadsNoMoreUntilItIsRead) {
  renew("host-a_1");
  begin();
  keepRenewing("host-a_1", seconds(5));
  api.inject({.kind = test::FaultKind::kStatus, .status = 500, .times = 10'000});
  keepRenewing("host-a_1", seconds(12));
  EXPECT_FALSE(leads());
  ASSERT_TRUE(watcher->failingSince());
  EXPECT_NE(watcher->fault().find("500"), std::string::npos);
}

TEST_F(LeaseWatcherTest, OneReadFails_LeadsOn) {
  renew("host-a_1");
  begin();
  keepRenewing("host-a_1", seconds(5));
  api.inject({.kind = test::FaultKind::kBroken, .times = 4});
  for (int i = 0; i < 10; ++i) {
    keepRenewing("host-a_1", seconds(1));
    EXPECT_TRUE(leads());
  }
  EXPECT_FALSE(watcher->failingSince());
  EXPECT_EQ(terms, 1u);
}

TEST_F(LeaseWatcherTest, AnswerTakesLong_ItsAgeCountsFromTheQuestion) {
  renew("host-a_1");
  begin();
  keepRenewing("host-a_1", seconds(5));
  ASSERT_TRUE(leads());
  // Each answer arrives after the bound of a read.
  api.inject({.delay = seconds(20), .times = 10'000});
  keepRenewing("host-a_1", seconds(12));
  EXPECT_FALSE(leads());
}

TEST_F(LeaseWatcherTest, OtherReplicaLeads_ReturnIsAnotherTerm) {
  renew("host-a_1");
  begin();
  keepRenewing("host-a_1", seconds(3));
  ASSERT_TRUE(leads());
  keepRenewing("host-b_9", seconds(3), 2);
  EXPECT_FALSE(leads());
  EXPECT_EQ(watcher->verdict().why, "host-b_9 leads");
  EXPECT_EQ(said, "host-b_9 leads");
  keepRenewing("host-a_1", seconds(3), 3);
  EXPECT_TRUE(leads());
  EXPECT_EQ(watcher->verdict().fence, "uid-of-divvy-scheduler/3");
  EXPECT_EQ(terms, 2u);
}

TEST_F(LeaseWatcherTest, SimilarName_DoesNotLead) {
  begin();
  keepRenewing("host-a2_1", seconds(3));
  EXPECT_FALSE(leads());
  keepRenewing("host-a", seconds(3));
  EXPECT_FALSE(leads());
}

TEST_F(LeaseWatcherTest, LeaseIsGone_LeadsNoMore) {
  renew("host-a_1");
  begin();
  keepRenewing("host-a_1", seconds(3));
  ASSERT_TRUE(leads());
  api.remove(kube::leasePath(kLeaseNamespace, kName));
  ASSERT_TRUE(until([&] { return !leads(); }, seconds(2)));
  EXPECT_EQ(watcher->verdict().why, "no lease exists yet");
}

TEST_F(LeaseWatcherTest, UnreadableLease_LeadsNoMore) {
  renew("host-a_1");
  begin();
  keepRenewing("host-a_1", seconds(3));
  ASSERT_TRUE(leads());
  api.set(kube::leasePath(kLeaseNamespace, kName),
          json::object{{"spec", json::object{{"holderIdentity", 7}}}});
  pass(seconds(12));
  EXPECT_FALSE(leads());
  EXPECT_TRUE(watcher->failingSince());
}

TEST_F(LeaseWatcherTest, NoLeaseConfigured_LeadsWithoutReading) {
  begin("");
  pass(seconds(5));
  EXPECT_TRUE(leads());
  EXPECT_EQ(watcher->verdict().fence, "");
  EXPECT_TRUE(api.calls().empty());
}

}  // namespace
}  // namespace divvy::scheduler
