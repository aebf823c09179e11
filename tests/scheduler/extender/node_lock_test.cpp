// Node locks at a fake API server whose node changes, fails or answers late.
#include "extender/node_lock.h"

#include "controller_fixture.h"
#include "runtime/clock.h"

namespace divvy::scheduler {
namespace {

constexpr const char* kShared = "hami.io/mutex.lock";
constexpr const char* kNameless = "cambricon.com/dsmlu.lock";
const LockHolder kOwn{"lab", "p"};

std::int64_t nowSeconds() {
  return wallNanoseconds() / 1'000'000'000;
}

class NodeLocksTest : public ControllerTest {
 protected:
  void SetUp() override { api.set(nodePath("n"), nodeJson({})); }

  Result<void> take(std::vector<std::string> keys = {kShared}) {
    return run(locks.take("n", std::move(keys), kOwn, [this] { return why_not.empty(); }));
  }
  void give(std::vector<std::string> keys) {
    run([](NodeLocks& all, std::vector<std::string> some) -> boost::asio::awaitable<bool> {
      co_await all.give("n", std::move(some), kOwn);
      co_return true;
    }(locks, std::move(keys)));
  }
  std::string lock(const std::string& key = kShared) const {
    return api.annotation(nodePath("n"), key);
  }
  std::size_t writes() const { return api.count("PATCH", nodePath("n")); }

  NodeLocks locks{*client};
};

TEST_F(NodeLocksTest, FreeNode_IsLockedAndGivenBack) {
  ASSERT_TRUE(take({kNameless, kShared}));
  EXPECT_EQ(parseLock(lock()).holder, kOwn);
  EXPECT_NE(parseLock(lock(kNameless)).seconds, 0);
  give({kNameless, kShared});
  EXPECT_EQ(lock(), "");
  EXPECT_EQ(lock(kNameless), "");
}

TEST_F(NodeLocksTest, NodeChangedBeforeWrite_LockIsTakenAgain) {
  api.inject({.method = "PATCH",
              .before = [this] { api.annotate(nodePath("n"), "heartbeat", "1"); },
              .times = 2});
  ASSERT_TRUE(take());
  EXPECT_EQ(parseLock(lock()).holder, kOwn);
  EXPECT_EQ(writes(), 2u) << "the second change changes nothing";
}

TEST_F(NodeLocksTest, NodeChangesEachTime_LockIsRefused) {
  int beat = 0;
  api.inject({.method = "PATCH",
              .before = [&] { api.annotate(nodePath("n"), "heartbeat", std::to_string(++beat)); },
              .times = 10});
  const Result<void> taken = take();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(writes(), 3u);
  EXPECT_EQ(lock(), "");
}

TEST_F(NodeLocksTest, OtherPodLocksFirst_ItsLockStays) {
  api.set(podPath("q"), podJson({}));
  const std::string theirs = lockText(kShared, nowSeconds(), {"lab", "q"});
  api.inject({.method = "PATCH", .before = [&] { api.annotate(nodePath("n"), kShared, theirs); }});
  const Result<void> taken = take();
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().message().find("locked for lab/q"), std::string::npos);
  EXPECT_EQ(lock(), theirs);
  give({kShared});
  EXPECT_EQ(lock(), theirs);
}

TEST_F(NodeLocksTest, AnswerLostAfterWrite_SamePodTakesItsLock) {
  api.inject({.method = "PATCH", .kind = test::FaultKind::kAnswerLost});
  EXPECT_FALSE(take());
  EXPECT_EQ(parseLock(lock()).holder, kOwn);
  EXPECT_TRUE(take());
}

TEST_F(NodeLocksTest, HolderIsGone_ItsLockIsTakenOver) {
  api.annotate(nodePath("n"), kShared, lockText(kShared, nowSeconds(), {"lab", "gone"}));
  EXPECT_TRUE(take());
  EXPECT_EQ(parseLock(lock()).holder, kOwn);
}

TEST_F(NodeLocksTest, HolderCannotBeRead_ItsLockStays) {
  api.annotate(nodePath("n"), kShared, lockText(kShared, nowSeconds(), {"lab", "gone"}));
  api.inject({.path = podPath("gone"), .kind = test::FaultKind::kStatus, .status = 500});
  EXPECT_FALSE(take());
  EXPECT_EQ(parseLock(lock()).holder.pod, "gone");
}

TEST_F(NodeLocksTest, LeadershipLostBeforeWrite_NothingIsSent) {
  api.inject({.method = "GET", .before = [this] { why_not = "another leads"; }});
  EXPECT_FALSE(take());
  EXPECT_EQ(writes(), 0u);
}

TEST_F(NodeLocksTest, UnreadableLock_IsWrittenOver) {
  for (const char* text : {"garbage", ",,", "2026-13-45T99:99:99Z", ""}) {
    api.annotate(nodePath("n"), kShared, text);
    EXPECT_TRUE(take()) << text;
    EXPECT_EQ(parseLock(lock()).holder, kOwn) << text;
  }
}

// A clock that is wrong, or a node that locks itself for good.
TEST_F(NodeLocksTest, LockOfTheFuture_IsWrittenOver) {
  for (const char* key : {kShared, kNameless}) {
    const std::int64_t later = nowSeconds() + 2 * lockLife(key).count();
    api.set(podPath("q"), podJson({}));
    api.annotate(nodePath("n"), key, lockText(key, later, {"lab", "q"}));
    EXPECT_TRUE(take({key})) << key;
    EXPECT_LT(parseLock(lock(key)).seconds, later) << key;
  }
}

TEST_F(NodeLocksTest, HolderIsNoName_NoOtherPathIsRead) {
  api.annotate(nodePath("n"), kShared,
               lockText(kShared, nowSeconds(), {"lab", "p HTTP/1.1\r\nHost: x\r\n\r\nDELETE /"}));
  EXPECT_FALSE(take());
  EXPECT_EQ(api.calls().size(), 1u) << "only the node is read";
}

TEST_F(NodeLocksTest, UnreadableNode_IsRefused) {
  for (const char* body : {"[]", R"({"metadata":{"name":7}})", "<html>"}) {
    api.inject({.method = "GET", .kind = test::FaultKind::kStatus, .status = 200, .body = body});
    EXPECT_FALSE(take()) << body;
  }
  EXPECT_EQ(writes(), 0u);
}

}  // namespace
}  // namespace divvy::scheduler
