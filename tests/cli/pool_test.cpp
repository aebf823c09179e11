// Pools of cards on one machine, and which cards a run gets: from the file to the refusal.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "agent/process.h"
#include "sandbox.h"

namespace divvy::test {
namespace {

namespace bj = boost::json;

constexpr const char* kCards = "rtx4090x4";

bj::array cards(Sandbox& sandbox) {
  const Outcome outcome = sandbox.divvy({"gpus", "--sim", kCards, "-o", "json"});
  EXPECT_EQ(outcome.code(), 0) << outcome.err;
  boost::system::error_code fault;
  const bj::value value = bj::parse(outcome.out, fault);
  return value.is_array() ? value.get_array() : bj::array();
}

// The first two cards are for one each, the others are shared.
std::string twoPools(const bj::array& cards, const std::string& user) {
  const auto uuid = [&](std::size_t i) { return std::string(cards.at(i).at("uuid").as_string()); };
  return "pools:\n"
         "- name: whole\n"
         "  uuids: [" +
         uuid(0) + ", " + uuid(1) +
         "]\n"
         "  mode: exclusive\n"
         "- name: shared\n"
         "  uuids: [" +
         uuid(2) +
         "]\n"
         "  users: [" +
         user +
         "]\n"
         "- name: rest\n"
         "  models: [rtx4090]\n"
         "  users: [somebody-else]\n";
}

// A file beside the sandbox, which looks for what is left in it.
class File {
 public:
  File(Sandbox& sandbox, const std::string& end) : path_(sandbox.root() + end) {}
  ~File() { std::filesystem::remove(path_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const std::string& path() const { return path_; }
  void write(const std::string& text) const { std::ofstream(path_) << text; }
  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

Words run(const Words& options, const Words& command) {
  Words words{"run", "--sim", kCards, "--memory", "1Gi"};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

Child holder(Sandbox& sandbox, const Words& options) {
  Child child = sandbox.start(run(options, {"sh", "-c", "echo up; read end"}));
  EXPECT_TRUE(child.printed("up"));
  return child;
}

std::string refusal(Sandbox& sandbox, const Words& options) {
  const Outcome outcome = sandbox.divvy(run(options, {"true"}));
  EXPECT_NE(outcome.code(), 0);
  return outcome.err;
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string me() {
  return agent::userName(getuid());
}

TEST(Pools, ExclusiveAndShared_EnforcedAndShown) {
  Sandbox sandbox("sim-rtx4090x4");
  const bj::array plain = cards(sandbox);
  ASSERT_EQ(plain.size(), 4u);
  EXPECT_EQ(plain.at(0).at("pool").as_string(), "");
  // From the next agent on.
  EXPECT_EQ(sandbox.divvy({"stop", "--sim", kCards}).code(), 0);
  const File pools(sandbox, "-pools.yaml");
  pools.write(twoPools(plain, me()));
  sandbox.set("DIVVY_POOLS", pools.path());
  const bj::array pooled = cards(sandbox);
  ASSERT_EQ(pooled.size(), 4u);
  EXPECT_EQ(pooled.at(0).at("pool").as_string(), "whole");
  EXPECT_EQ(pooled.at(2).at("pool").as_string(), "shared");
  EXPECT_EQ(pooled.at(3).at("pool").as_string(), "rest");
  EXPECT_TRUE(says(sandbox.divvy({"gpus", "--sim", kCards}).out, "POOL"));

  const std::string nowhere = refusal(sandbox, {});
  EXPECT_TRUE(says(nowhere, "in pool whole, which was not asked for")) << nowhere;
  EXPECT_TRUE(says(nowhere, "--pool whole")) << nowhere;
  const std::string unknown = refusal(sandbox, {"--pool", "training"});
  EXPECT_TRUE(says(unknown, "no pool is called \"training\"; accepted: whole, shared")) << unknown;
  const std::string others = refusal(sandbox, {"--pool", "rest"});
  EXPECT_TRUE(says(others, "pool rest is not for " + me())) << others;

  const Child first = holder(sandbox, {"--pool", "whole"});
  const Child second = holder(sandbox, {"--pool", "whole"});
  const std::string full = refusal(sandbox, {"--pool", "whole"});
  EXPECT_TRUE(says(full, "has as many tenants as it may have")) << full;
  EXPECT_TRUE(says(full, "in pool shared, which was not asked for")) << full;
  EXPECT_TRUE(says(full, "--pool shared")) << full;
  const Child third = holder(sandbox, {"--pool", "shared"});
  const Child fourth = holder(sandbox, {"--pool", "shared"});
  const bj::array used = cards(sandbox);
  for (std::size_t i = 0; i < used.size(); ++i)
    EXPECT_EQ(used.at(i).at("tenants").to_number<int>(), i < 2 ? 1 : i == 2 ? 2 : 0) << i;

  // A snapshot knows the pools too.
  const File file(sandbox, "-snapshot.json");
  EXPECT_EQ(sandbox.divvy({"snapshot", "--sim", kCards, "-o", file.path()}).code(), 0);
  const Outcome again = sandbox.divvy({"simulate", "replay", file.path(), "--expect-same"});
  EXPECT_EQ(again.code(), 0) << again.out << again.err;
  const bj::value written = bj::parse(file.text());
  EXPECT_EQ(written.at("pools").at(0).at("name").as_string(), "whole");
  EXPECT_EQ(written.at("allocations").at(0).at("placement").at("pool").as_string(), "whole");
  EXPECT_EQ(written.at("allocations").at(0).at("request").at("pool").as_string(), "whole");
}

TEST(Pools, TenantFromBeforePool_NewTenantRefused) {
  Sandbox sandbox("sim-rtx4090x4");
  const bj::array plain = cards(sandbox);
  ASSERT_EQ(plain.size(), 4u);
  const Words first_card{"--uuid", std::string(plain.at(0).at("uuid").as_string())};
  Child before = holder(sandbox, first_card);
  // The tenant lives on without its agent; its run would start one that knows of no pools.
  before.signal(SIGSTOP);
  const int old = sandbox.agentPid();
  ASSERT_GT(old, 0);
  ASSERT_EQ(kill(old, SIGTERM), 0);
  ASSERT_TRUE(eventually([&] { return kill(old, 0) != 0; }));
  const File pools(sandbox, "-pools.yaml");
  pools.write(twoPools(plain, me()));
  sandbox.set("DIVVY_POOLS", pools.path());
  const std::string err = refusal(sandbox, {"--pool", "whole", first_card[0], first_card[1]});
  EXPECT_TRUE(says(err, "still used by tenants that got it before it moved into pool whole"))
      << err;
  before.signal(SIGCONT);
  before.closeInput();
  before.wait();
  ASSERT_TRUE(sandbox.tenantCount(0));
  EXPECT_EQ(sandbox.divvy(run({"--pool", "whole", first_card[0], first_card[1]}, {"true"})).code(),
            0);
}

TEST(Pools, WrongFile_RefusedWithPlace) {
  Sandbox sandbox("sim-rtx4090x4");
  const File pools(sandbox, "-pools.yaml");
  sandbox.set("DIVVY_POOLS", pools.path());
  const auto said = [&](const std::string& text) {
    pools.write(text);
    return sandbox.divvy({"gpus", "--sim", kCards}).err;
  };
  const auto expect = [&](const std::string& text, const std::string& part) {
    const std::string err = said(text);
    EXPECT_TRUE(says(err, part)) << err << "\nshould say: " << part;
  };
  expect("pools:\n- name: a\n  model: [x]\n", "pools.yaml:3:3: ");
  expect("pools:\n- models: [x]\n", "name");
  expect("pools:\n- name: a\n  models: [' - ']\n",
         "model \" - \" has no letter or digit; accepted: ");
  expect("pools:\n- name: a\n  mode: alone\n", "pools.yaml:3:9: ");
  expect("pools:\n- name: a\n  device_policy: nearest\n", "device policy \"nearest\"; accepted: ");
  expect("pools:\n- name: none\n", "is reserved and cannot name a pool");
  expect("pools:\n- name: a\n- name: a\n", "pool a: twice");
  sandbox.set("DIVVY_POOLS", "pools.yaml");
  expect("pools: []\n", "accepted: a path that begins with /");
}

TEST(DevicePolicy, BinpackSpreadMutex_ChooseDevices) {
  Sandbox sandbox("sim-rtx4090x4");
  const std::string wrong = refusal(sandbox, {"--device-policy", "nearest"});
  EXPECT_TRUE(says(wrong, "device policy \"nearest\"; accepted: tightest, binpack, spread"))
      << wrong;
  // Two together, then one each.
  const Child first = holder(sandbox, {"--device-policy", "binpack"});
  const Child second = holder(sandbox, {"--device-policy", "binpack"});
  const Child third = holder(sandbox, {"--device-policy", "spread"});
  const Child alone = holder(sandbox, {"--device-policy", "mutex"});
  const bj::array used = cards(sandbox);
  std::multiset<int> tenants;
  for (const bj::value& card : used) tenants.insert(card.at("tenants").to_number<int>());
  EXPECT_EQ(tenants, (std::multiset<int>{0, 1, 1, 2}));
  // One card is idle, and another could be without asking to be alone.
  const std::string none = refusal(sandbox, {"--gpus", "2", "--device-policy", "mutex"});
  EXPECT_TRUE(says(none, "in use")) << none;
  EXPECT_TRUE(says(none, "--device-policy tightest")) << none;
}

}  // namespace
}  // namespace divvy::test
