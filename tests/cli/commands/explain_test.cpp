// `divvy explain`: says what `divvy run` then does, and what it suggests is let in.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <sstream>

#include "sandbox.h"

namespace divvy::test {
namespace {

namespace bj = boost::json;

using Words = std::vector<std::string>;

bj::object explained(Sandbox& sandbox, Words asked, int code) {
  asked.insert(asked.begin(), {"explain", "--sim", "h100x2", "-o", "json"});
  const Outcome outcome = sandbox.divvy(asked);
  EXPECT_EQ(outcome.code(), code) << outcome.err;
  boost::system::error_code fault;
  bj::value value = bj::parse(outcome.out, fault);
  EXPECT_FALSE(fault) << outcome.out;
  return value.is_object() ? value.get_object() : bj::object();
}

Words wordsOf(const bj::value& text) {
  std::istringstream line{std::string(text.as_string())};
  Words words;
  for (std::string word; line >> word;) words.push_back(word);
  return words;
}

Outcome runs(Sandbox& sandbox, Words asked) {
  asked.insert(asked.begin(), {"run", "--sim", "h100x2"});
  asked.insert(asked.end(), {"--", "/bin/true"});
  return sandbox.divvy(asked);
}

// One card has what 70 GiB leave, the other all.
Child holder(Sandbox& sandbox) {
  Child run = sandbox.start(
      {"run", "--sim", "h100x2", "--memory", "70Gi", "--", tenantProgram(), "1048576"});
  EXPECT_TRUE(run.printed("held 1048576"));
  return run;
}

bj::value deviceOf(Sandbox& sandbox, std::size_t index) {
  const Outcome outcome = sandbox.divvy({"gpus", "--sim", "h100x2", "-o", "json"});
  return bj::parse(outcome.out).at(index);
}

std::string leftOf(Sandbox& sandbox) {
  const auto physical = deviceOf(sandbox, 0).at("physical").to_number<std::uint64_t>();
  return std::to_string((physical - gib(70).count) >> 20) + "Mi";
}

TEST(Explain, RequestFits_DeviceNamedAndNothingReserved) {
  Sandbox sandbox;
  const Child held = holder(sandbox);
  const bj::object fits = explained(sandbox, {"--memory", "20Gi"}, 0);
  EXPECT_TRUE(fits.at("fits").as_bool());
  EXPECT_FALSE(fits.at("devices").at(0).at("given").as_bool());
  EXPECT_NE(fits.at("devices").at(0).at("refusal").as_string().find("needs 20 GiB, "),
            bj::string::npos);
  EXPECT_TRUE(fits.at("devices").at(1).at("given").as_bool());
  EXPECT_TRUE(fits.at("fixes").as_array().empty());
  EXPECT_EQ(deviceOf(sandbox, 1).at("allocated").to_number<std::uint64_t>(), 0u);
}

TEST(Explain, SuggestedFixes_AdmittedByRun) {
  Sandbox sandbox;
  const Child held = holder(sandbox);
  for (const Words& asked :
       {Words{"--memory", "20Gi", "--gpus", "2"}, Words{"--memory", "90Gi"},
        Words{"--memory", "50%", "--gpus", "2"}, Words{"--memory", "1Gi", "--model", "a100"},
        Words{"--memory", "1Gi", "--gpus", "3"}}) {
    const bj::object no = explained(sandbox, asked, 3);
    EXPECT_EQ(runs(sandbox, asked).code(), no.at("impossible").as_bool() ? 2 : 1) << asked[1];
    const bj::array& fixes = no.at("fixes").as_array();
    EXPECT_FALSE(fixes.empty()) << asked[1];
    for (const bj::value& fix : fixes) {
      Words instead = asked;
      const Words words = wordsOf(fix);
      for (std::size_t i = 0; i < instead.size(); i += 2)
        if (instead[i] == words.at(0) && words[0] != "--model") instead[i + 1] = words.at(1);
      if (words[0] == "--model")
        instead.insert(instead.end(), {"--model", std::string(fix.as_string()).substr(9, 11)});
      EXPECT_EQ(runs(sandbox, instead).code(), 0) << fix << ": " << runs(sandbox, instead).err;
    }
  }
}

// Who stands in the way: named only to those above them, and without them it is let in.
TEST(Explain, TenantsOfLowerPriority_NamedAsVictims) {
  Sandbox sandbox;
  Child low = sandbox.start({"run", "--sim", "h100x2", "--memory", "70Gi", "--name", "train",
                             "--priority", "low", "--", tenantProgram(), "1048576"});
  ASSERT_TRUE(low.printed("held 1048576"));
  Child other = sandbox.start(
      {"run", "--sim", "h100x2", "--memory", "70Gi", "--", tenantProgram(), "1048576"});
  ASSERT_TRUE(other.printed("held 1048576"));
  const Words asked{"--memory", "20Gi", "--gpus", "1"};
  const auto as = [&](const char* priority) {
    Words words = asked;
    words.insert(words.end(), {"--priority", priority});
    return words;
  };
  EXPECT_TRUE(explained(sandbox, as("low"), 3).at("victims").as_array().empty());
  const bj::object no = explained(sandbox, as("high"), 3);
  const bj::array& victims = no.at("victims").as_array();
  ASSERT_EQ(victims.size(), 1u) << bj::serialize(no);
  EXPECT_EQ(victims[0].at("name").as_string(), "train");
  EXPECT_EQ(victims[0].at("priority").as_string(), "low");
  EXPECT_EQ(victims[0].at("memory").to_number<std::uint64_t>(), gib(70).count);
  EXPECT_EQ(explained(sandbox, {"--memory", "20Gi", "--gpus", "2", "--priority", "high"}, 3)
                .at("victims")
                .as_array()
                .size(),
            2u);
  const Outcome text = sandbox.divvy({"explain", "--sim", "h100x2", "--memory", "20Gi"});
  EXPECT_NE(
      text.out.find("would fit now if train (low, 70 GiB) ended; divvy ends it for no request\n"),
      std::string::npos)
      << text.out;
  EXPECT_EQ(runs(sandbox, asked).code(), 1);
  low.signal(SIGTERM);
  low.wait();
  EXPECT_TRUE(explained(sandbox, asked, 0).at("fits").as_bool());
}

TEST(Explain, TextOutput_ReasonAndSuggestions) {
  Sandbox sandbox;
  const Child held = holder(sandbox);
  const Outcome no =
      sandbox.divvy({"explain", "--sim", "h100x2", "--memory", "20Gi", "--gpus", "2"});
  EXPECT_EQ(no.code(), 3);
  EXPECT_NE(
      no.out.find("does not fit now: 20 GiB on each of 2 devices asked: 1 of 2 devices fit\n"),
      std::string::npos)
      << no.out;
  EXPECT_NE(no.out.find("\nDEVICE  MODEL                  CODE    VERDICT\n"), std::string::npos)
      << no.out;
  EXPECT_NE(no.out.find("  memory  needs 20 GiB, "), std::string::npos) << no.out;
  const std::string left = "--memory " + leftOf(sandbox);
  EXPECT_NE(no.out.find("would fit now, each alone:\n  " + left + "\n  --gpus 1\n"),
            std::string::npos)
      << no.out;
  const Outcome refused = runs(sandbox, {"--memory", "20Gi", "--gpus", "2"});
  EXPECT_NE(refused.err.find("would fit: " + left + ", or --gpus 1; "), std::string::npos)
      << refused.err;
  EXPECT_EQ(sandbox.divvy({"explain", "--sim", "h100x2", "--memory", "lots"}).code(), 2);
}

TEST(ExplainReason, Code_ShowsItsRow) {
  Sandbox sandbox;
  const Outcome row = sandbox.divvy({"explain", "reason", "too-large"});
  ASSERT_EQ(row.code(), 0) << row.err;
  EXPECT_NE(row.out.find("too-large (Refused devices): devices with too little memory"),
            std::string::npos)
      << row.out;
  EXPECT_NE(row.out.find("  do:    request less"), std::string::npos) << row.out;
}

// "cordoned" is the code of a device, and the words of a node.
TEST(ExplainReason, CodeThatIsAlsoWords_ShowsBoth) {
  Sandbox sandbox;
  const Outcome both = sandbox.divvy({"explain", "reason", "cordoned"});
  ASSERT_EQ(both.code(), 0) << both.err;
  EXPECT_NE(both.out.find("cordoned (Refused devices)"), std::string::npos) << both.out;
  EXPECT_NE(both.out.find("node-cordoned (Refused nodes)"), std::string::npos) << both.out;
}

TEST(ExplainReason, PartOfMessage_FindsItsCode) {
  Sandbox sandbox;
  const std::string event =
      "PreStartContainer failed: container c of pod s/p was given 2 devices by the scheduler and 1 "
      "by the kubelet";
  const Outcome one = sandbox.divvy({"explain", "reason", event, "-o", "json"});
  ASSERT_EQ(one.code(), 0) << one.err;
  const bj::array found = bj::parse(one.out).at("reasons").as_array();
  ASSERT_EQ(found.size(), 1u) << one.out;
  EXPECT_EQ(found[0].at("code"), "start-count");
  EXPECT_NE(found[0].at("remedy"), "");

  const Outcome renamed = sandbox.divvy({"explain", "reason", "whole-only"});
  EXPECT_EQ(renamed.out.find("exclusive-only (Refused devices): "), 0u) << renamed.out;
  const Outcome all = sandbox.divvy({"explain", "reason", "-o", "json"});
  EXPECT_GT(bj::parse(all.out).at("reasons").as_array().size(), 80u);
  const Outcome list = sandbox.divvy({"explain", "reason"});
  EXPECT_NE(list.out.find("stay-others-turn"), std::string::npos);

  const Outcome none = sandbox.divvy({"explain", "reason", "bad-weather", "today"});
  EXPECT_EQ(none.code(), 1);
  EXPECT_NE(none.err.find("\"bad-weather today\"; divvy explain reason lists all"),
            std::string::npos)
      << none.err;
}

std::string codesOf(const Outcome& outcome) {
  std::string codes;
  if (outcome.code() != 0) return outcome.err;
  const bj::value answer = bj::parse(outcome.out);
  for (const bj::value& one : answer.at("reasons").as_array())
    codes += std::string(one.at("code").as_string()) + " ";
  return codes;
}

// Regression: words without quotes were "At Most 2 required".
TEST(ExplainReason, WordsWithoutQuotesOrCase_FindSameCodes) {
  Sandbox sandbox;
  const auto codes = [&](Words words) {
    words.insert(words.begin(), {"explain", "reason"});
    words.insert(words.end(), {"-o", "json"});
    return codesOf(sandbox.divvy(words));
  };
  const std::string all = codes({"devices with too little memory"});
  EXPECT_EQ(all.find("too-large budget "), 0u) << all;
  EXPECT_EQ(codes({"devices", "with", "too", "little", "memory"}), all);
  EXPECT_EQ(codes({"Devices With Too Little", "MEMORY"}), all);
  EXPECT_EQ(codes({"Too-Large"}), "too-large ");
  EXPECT_EQ(codes({"too", "large"}), "too-large ");
  EXPECT_EQ(codes({"noroom"}), "change-no-room ");
  // One of these is also the answer of an API server, as people see it.
  EXPECT_EQ(codes({"NoRoom:", "it", "is", "invalid"}), "change-no-room ");
}

}  // namespace
}  // namespace divvy::test
