// `divvy simulate defrag`: what it says is what the engine's plan says, and bad input is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sandbox.h"

namespace divvy::test {
namespace {

namespace bj = boost::json;

class Defrag : public ::testing::Test {
 protected:
  Defrag() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~Defrag() override { std::filesystem::remove_all(folder_); }

  std::string put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  Outcome defrag(Words words) {
    words.insert(words.begin(), {"simulate", "defrag"});
    return sandbox_.divvy(words);
  }

  Sandbox sandbox_;
  std::string folder_ = testing::TempDir() + "divvy-defrag-XXXXXX";
};

std::string held(const std::string& id, const std::string& node, const std::string& uuid,
                 bool known, const std::string& more) {
  const std::string memory = R"("memory_bytes": 1073741824, "compute_milli": 400)";
  const std::string share = R"({"uuid": ")" + uuid + R"(", )" + memory;
  return R"({"id": ")" + id + R"(", "placement": {"node": ")" + node + R"(", "containers": [[)" +
         share + R"(}]], "charges": [)" + share + R"(, "slots": 1}], "kind": 1})" + more +
         (known ? R"(, "request": {"containers": [{"devices": {"count": 1, )" + memory + "}}]}"
                : "") +
         "}";
}

// Two nodes of one device, half used each.
std::string halves(bool known) {
  const auto node = [](const std::string& name) {
    return R"({"node": ")" + name + R"(", "devices": [{"uuid": ")" + name +
           R"(-0", "model": "m", "physical_bytes": 8589934592}]})";
  };
  return R"({"schema": "divvy-snapshot", "version": 1, "written_by": "x", "written_at_ms": 9000,
 "config": {"policy": "divvy"}, "nodes": [)" +
         node("a") + ", " + node("b") + R"(], "allocations": [)" +
         held("x", "a", "a-0", known, R"(, "name": "web", "since_ms": 1000)") + ", " +
         held("y", "b", "b-0", known, "") + R"(], "pending": []})";
}

TEST_F(Defrag, TwoHalfUsedNodes_OneMoveWithGain) {
  const std::string file = put("halves.json", halves(true));
  const Outcome outcome = defrag({file, "-o", "json"});
  ASSERT_EQ(outcome.code(), 0) << outcome.err;
  const bj::object plan = bj::parse(outcome.out).as_object();
  ASSERT_EQ(plan.at("moves").as_array().size(), 1u) << outcome.out;
  const bj::value& move = plan.at("moves").at(0);
  EXPECT_EQ(move.at("id").as_string(), "x") << "less work is lost than with y";
  EXPECT_EQ(move.at("name").as_string(), "web");
  EXPECT_EQ(move.at("from").at("node").as_string(), "a");
  EXPECT_EQ(move.at("to").at("devices").at(0).as_string(), "b-0");
  EXPECT_EQ(plan.at("work_lost_s").as_int64(), 8);
  EXPECT_EQ(plan.at("devices_freed").at(0).at("uuid").as_string(), "a-0");
  EXPECT_EQ(plan.at("nodes_freed").at(0).as_string(), "a");
  const Outcome text = defrag({file, "--goal", "nodes"});
  EXPECT_EQ(text.code(), 0) << text.err;
  EXPECT_NE(text.out.find("1 move: 1 device and 1 node become empty"), std::string::npos)
      << text.out;
  const Outcome none = defrag({file, "--most-moves", "0", "-o", "json"});
  EXPECT_TRUE(bj::parse(none.out).at("moves").as_array().empty()) << none.out;
}

TEST_F(Defrag, RequestsUnknown_NothingMovedAndSaid) {
  const Outcome outcome = defrag({put("halves.json", halves(false))});
  EXPECT_EQ(outcome.code(), 0) << outcome.err;
  EXPECT_NE(outcome.out.find("no move helps"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("not moved, because their requests are unknown: x, y"),
            std::string::npos)
      << outcome.out;
}

TEST_F(Defrag, BadInput_NamedWithAccepted) {
  const std::string file = put("halves.json", halves(true));
  const std::vector<std::pair<Words, std::string>> cases{
      {{}, "snapshot is required"},
      {{folder_}, "is a directory; accepted: a snapshot in JSON"},
      {{file, "--goal", "money"}, "--goal \"money\" is not known; accepted: devices, nodes, frag"},
      {{file, "--most-moves", "-1"}, "--most-moves \"-1\""},
      {{file, "-o", "yaml"}, "--output \"yaml\" is not known; accepted: table, json"},
      {{put("cut.json", halves(true).substr(0, 90))}, "cut.json:2:"},
      {{put("other.json", "{\"schema\": \"x\"}")}, "other.json:1:"},
  };
  for (const auto& [words, says] : cases) {
    const Outcome outcome = defrag(words);
    EXPECT_EQ(outcome.code(), 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err << "\nshould say: " << says;
  }
}

}  // namespace
}  // namespace divvy::test
