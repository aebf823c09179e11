// `divvy events`: who was given what, and at whose word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <pwd.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <map>

#include "sandbox.h"

namespace divvy::test {
namespace {

namespace bj = boost::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

struct Said {
  std::string kind, name, reason, by;
};

std::vector<Said> eventsOf(Sandbox& sandbox) {
  const Outcome outcome = sandbox.divvy({"events", "-o", "json"});
  EXPECT_EQ(outcome.code(), 0) << outcome.err;
  const bj::value said = bj::parse(outcome.out);
  std::vector<Said> all;
  for (const bj::value& one : said.as_array()) {
    const bj::object& event = one.as_object();
    const auto text = [&](const char* key) {
      const bj::value* found = event.if_contains(key);
      return found == nullptr ? std::string() : std::string(found->as_string());
    };
    all.push_back({text("kind"), text("name"), text("reason"), text("by")});
  }
  return all;
}

std::string ourselves() {
  const passwd* entry = getpwuid(geteuid());
  return entry == nullptr ? std::to_string(geteuid()) : entry->pw_name;
}

std::vector<std::string> kindsOf(const std::vector<Said>& all) {
  std::vector<std::string> kinds;
  for (const Said& one : all) kinds.push_back(one.kind);
  return kinds;
}

TEST(Events, GrantsAndChanges_ListedWithReasonAndCaller) {
  Sandbox sandbox;
  Child other = sandbox.start({"run", "--sim", "h100", "--memory", "1Gi", "--name", "other", "--",
                               tenantProgram(), "1048576"});
  ASSERT_TRUE(other.printed("held 1048576"));
  Child web = sandbox.start({"run", "--sim", "h100", "--memory", "4Gi", "--cores", "30", "--name",
                             "web", "--", tenantProgram(), "1048576"});
  ASSERT_TRUE(web.printed("held 1048576"));
  ASSERT_EQ(sandbox.divvy({"resize", "web", "--memory", "6Gi", "--priority", "high"}).code(), 0);
  ASSERT_EQ(sandbox.divvy({"resize", "web", "--priority", "high"}).code(), 0) << "nothing changes";
  ASSERT_EQ(sandbox.divvy({"resize", "web", "--memory", "500Gi"}).code(), 2);
  ASSERT_NE(
      sandbox.divvy({"run", "--sim", "h100", "--memory", "500Gi", "--name", "huge", "--", "true"})
          .code(),
      0);
  web.closeInput();
  web.wait();
  ASSERT_TRUE(sandbox.tenantCount(1));
  const std::vector<Said> all = eventsOf(sandbox);
  ASSERT_THAT(kindsOf(all),
              ElementsAre("given", "given", "changed", "not-changed", "turned-away", "ended"));
  const auto ours = AllOf(StartsWith("process "), EndsWith(" of " + ourselves()));
  EXPECT_EQ(all[1].name, "web");
  EXPECT_THAT(all[1].reason, AllOf(HasSubstr("4 GiB and 30 % of GPU-"), HasSubstr("normal")));
  EXPECT_THAT(all[1].by, ours);
  EXPECT_THAT(all[2].reason,
              AllOf(StartsWith("memory 4 GiB to 6 GiB"), EndsWith("priority normal to high")));
  EXPECT_THAT(all[2].by, ours);
  EXPECT_THAT(all[3].reason, HasSubstr("500"));
  EXPECT_THAT(all[3].by, ours);
  EXPECT_EQ(all[4].name, "huge");
  EXPECT_THAT(all[4].by, ours);
  EXPECT_EQ(all[5].name, "web");
  EXPECT_THAT(all[5].reason, StartsWith("after "));
  EXPECT_THAT(sandbox.agentLog(), AllOf(HasSubstr("event kind=changed tenant="),
                                        HasSubstr("reason=\"memory 4 GiB to 6 GiB")));
}

// Regression: the agent read the tenant's counters once a second only, and a tenant that ended in
// between left no event of its refusals.
TEST(Events, TenantEndsRightAfterRefusal_RefusalListed) {
  Sandbox sandbox;
  const std::string program = tenantProgram() + " 4294967296 4294967297 </dev/null";
  for (unsigned turn = 0; turn < 5; ++turn) {
    const Outcome run = sandbox.divvy(
        {"run", "--sim", "h100", "--memory", "1Gi", "--name", "short", "--", "sh", "-c", program});
    ASSERT_THAT(run.out, HasSubstr("refused 4294967297")) << run.err;
  }
  ASSERT_TRUE(sandbox.tenantCount(0));
  unsigned refused = 0;
  for (const Said& one : eventsOf(sandbox)) {
    if (one.kind != "refused") continue;
    EXPECT_EQ(one.name, "short");
    EXPECT_THAT(one.reason, HasSubstr(" beyond its limit of 1 GiB"));
    EXPECT_THAT(one.reason, HasSubstr("of 4"));
    refused += one.reason.starts_with("2 requests") ? 2 : 1;
  }
  EXPECT_EQ(refused, 10u) << "each once";
}

// Regression: the sum was over living processes, so a program that ended at once left no event.
TEST(Events, TenantEndsAfterDeviceFull_RequestListed) {
  Sandbox sandbox;
  const std::string program = "echo full 33554432 | " + tenantProgram() + " 1048576";
  const Outcome run = sandbox.divvy(
      {"run", "--sim", "h100", "--memory", "1Gi", "--name", "short", "--", "sh", "-c", program});
  ASSERT_THAT(run.out, HasSubstr("full 33554432")) << run.err;
  ASSERT_TRUE(sandbox.tenantCount(0));
  std::vector<std::string> reasons;
  for (const Said& one : eventsOf(sandbox))
    if (one.kind == "device-full" || one.kind == "refused") reasons.push_back(one.reason);
  EXPECT_THAT(reasons, ElementsAre("1 request of 32 MiB within its limit of 1 GiB: the device has "
                                   "no memory that could be freed"));
}

// Regression: "divvy events" printed nothing, with status 0.
TEST(Events, NoAgent_Said) {
  Sandbox sandbox;
  const Outcome none = sandbox.divvy({"events"});
  EXPECT_EQ(none.code(), 0);
  EXPECT_EQ(none.out, "");
  EXPECT_THAT(none.err, HasSubstr("no agent runs here, so there are no events"));
}

// Regression: a misspelt name was answered with nothing, as if nothing had happened.
TEST(Events, UnknownName_SaidToHaveNone) {
  Sandbox sandbox;
  ASSERT_EQ(sandbox.divvy({"run", "--sim", "h100", "--name", "web", "--", "true"}).code(), 0);
  const Outcome none = sandbox.divvy({"events", "wbe", "-o", "json"});
  EXPECT_EQ(none.code(), 0);
  EXPECT_EQ(bj::parse(none.out).as_array().size(), 0u);
  EXPECT_THAT(none.err, HasSubstr("no events of \"wbe\""));
  const Outcome some = sandbox.divvy({"events", "web", "-o", "json"});
  EXPECT_GT(bj::parse(some.out).as_array().size(), 0u);
  EXPECT_EQ(some.err, "");
}

}  // namespace
}  // namespace divvy::test
