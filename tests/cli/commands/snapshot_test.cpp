// `divvy snapshot`, and what `divvy simulate replay` makes of it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <boost/json.hpp>

#include "sandbox.h"
#include "snapshot/text.h"

namespace divvy::test {
namespace {

namespace bj = boost::json;
namespace fs = std::filesystem;

constexpr const char* kTwo = "h100x2";

Child holder(Sandbox& sandbox, const std::string& name, const Words& options) {
  Words words{"run", "--sim", kTwo, "--name", name};
  words.insert(words.end(), options.begin(), options.end());
  for (const char* word : {"--", "sh", "-c", "echo up; read end"}) words.emplace_back(word);
  Child run = sandbox.start(words);
  EXPECT_TRUE(run.printed("up")) << name;
  return run;
}

bj::object replayed(Sandbox& sandbox, const Words& options, int code = 0) {
  Words words{"simulate", "replay", "-o", "json"};
  words.insert(words.end(), options.begin(), options.end());
  const Outcome outcome = sandbox.divvy(words);
  EXPECT_EQ(outcome.code(), code) << outcome.err;
  boost::system::error_code fault;
  bj::value value = bj::parse(outcome.out, fault);
  EXPECT_FALSE(fault) << outcome.out << outcome.err;
  return value.is_object() ? value.get_object() : bj::object();
}

std::int64_t number(const bj::object& from, const char* part, const char* name) {
  return from.at(part).at(name).to_number<std::int64_t>();
}

// A file that goes before the sandbox looks for what is left.
class File {
 public:
  explicit File(Sandbox& sandbox) : path_(sandbox.root() + "-snapshot.json") {}
  ~File() { fs::remove(path_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const std::string& path() const { return path_; }
  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& text) const { std::ofstream(path_) << text; }

 private:
  std::string path_;
};

TEST(SnapshotCommand, LiveAgent_ReplayDecidesSame) {
  Sandbox sandbox("sim-h100x2");
  const File file(sandbox);
  Child web = holder(sandbox, "web", {"--memory", "30Gi", "--cores", "60", "--priority", "high"});
  Child batch = holder(sandbox, "batch", {"--memory", "20Gi", "--model", "h100"});
  Child both = holder(sandbox, "both", {"--memory", "10Gi", "--gpus", "2"});
  EXPECT_EQ(sandbox.divvy({"run", "--sim", kTwo, "--memory", "70Gi", "--", "true"}).code(), 1);
  Child waits = sandbox.start(
      {"run", "--sim", kTwo, "--memory", "75Gi", "--name", "waits", "--wait", "--", "true"});
  ASSERT_TRUE(eventually([&] { return sandbox.snapshot().queue.size() == 1; }));

  ASSERT_EQ(sandbox.divvy({"snapshot", "-o", file.path()}).code(), 0);
  EXPECT_FALSE(fs::exists(file.path() + ".new"));
  const Result<snapshot::Snapshot> read = snapshot::parse(file.text(), "f");
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->nodes.size(), 1u);
  EXPECT_EQ(read->nodes[0].name.text, "sim-h100x2");
  ASSERT_EQ(read->allocations.size(), 3u);
  EXPECT_EQ(read->allocations[0].name, "web") << "in the order in which they came";
  EXPECT_EQ(read->allocations[0].priority, 1);
  EXPECT_EQ(read->allocations[0].allocation.placement.charges.at(0).memory, gib(30));
  EXPECT_EQ(read->allocations[0].allocation.placement.charges.at(0).compute.milli, 600);
  EXPECT_EQ(read->allocations[1].shape->selector.models.at(0).text, "h100");
  EXPECT_EQ(read->allocations[2].allocation.placement.charges.size(), 2u);
  ASSERT_EQ(read->pending.size(), 1u);
  EXPECT_EQ(read->pending[0].name, "waits");
  EXPECT_EQ(file.text().find("read end"), std::string::npos) << "no command lines";

  const bj::object same = replayed(sandbox, {file.path(), "--expect-same"});
  EXPECT_EQ(number(same, "decisions", "same"), 5);
  EXPECT_EQ(number(same, "decisions", "differ"), 0);
  EXPECT_EQ(number(same, "anew", "same"), 3);
  EXPECT_EQ(number(same, "anew", "differ"), 0);
  ASSERT_EQ(same.at("pending").as_array().size(), 1u);
  const bj::object& pending = same.at("pending").as_array()[0].get_object();
  EXPECT_FALSE(pending.at("fits").as_bool());
  EXPECT_NE(pending.at("why").as_string().find("needs 75 GiB"), bj::string::npos);
  EXPECT_FALSE(pending.at("changes").as_array().empty());
  EXPECT_EQ(number(same, "before", "used_bytes"), static_cast<std::int64_t>(gib(70).count));
  EXPECT_EQ(number(same, "before", "used_bytes"), number(same, "after", "used_bytes"));
  web.closeInput();
  batch.closeInput();
  both.closeInput();
  EXPECT_EQ(waits.wait().code(), 0);
}

TEST(SnapshotCommand, OtherPolicy_ReplayDiffersWithReason) {
  Sandbox sandbox("sim-h100x2");
  const File file(sandbox);
  Child one = holder(sandbox, "one", {"--memory", "10Gi"});
  Child two = holder(sandbox, "two", {"--memory", "10Gi"});
  ASSERT_EQ(sandbox.divvy({"snapshot", "--output", file.path()}).code(), 0);
  // Whichever way the agent goes, one of the two orders has the second elsewhere.
  const bj::object tight = replayed(sandbox, {file.path(), "--device-policy", "binpack"});
  const bj::object wide = replayed(sandbox, {file.path(), "--device-policy", "spread"});
  EXPECT_EQ(number(tight, "decisions", "differ") + number(wide, "decisions", "differ"), 1);
  const bool spread = number(wide, "decisions", "differ") == 1;
  const bj::object& differs = spread ? wide : tight;
  const bj::object& what = differs.at("decisions").at("differences").as_array().at(0).get_object();
  EXPECT_NE(what.at("was"), what.at("is"));
  EXPECT_NE(what.at("why").as_string().find("10 GiB"), bj::string::npos) << what.at("why");
  EXPECT_NE(what.at("why").as_string().find(spread ? "spread" : "binpack"), bj::string::npos);
  replayed(sandbox,
           {file.path(), "--expect-same", "--device-policy", spread ? "spread" : "binpack"}, 1);
  const Outcome table = sandbox.divvy(
      {"simulate", "replay", file.path(), "--device-policy", spread ? "spread" : "binpack"});
  EXPECT_EQ(table.code(), 0);
  EXPECT_NE(table.out.find("decisions: 1 same, 1 differ"), std::string::npos) << table.out;
  // What holds of who is there now also holds where somebody left.
  one.closeInput();
  one.wait();
  ASSERT_TRUE(sandbox.tenantCount(1));
  ASSERT_EQ(sandbox.divvy({"snapshot", "-o", file.path()}).code(), 0);
  replayed(sandbox, {file.path(), "--expect-same"});
  two.closeInput();
}

TEST(SnapshotCommand, Redact_NumbersReplaceNames) {
  Sandbox sandbox("sim-h100x2");
  Child run = holder(sandbox, "topsecret", {"--memory", "10Gi"});
  const Outcome open = sandbox.divvy({"snapshot"});
  EXPECT_NE(open.out.find("topsecret"), std::string::npos);
  const Outcome redacted = sandbox.divvy({"snapshot", "--redact", "-o", "-"});
  EXPECT_EQ(redacted.code(), 0) << redacted.err;
  EXPECT_EQ(redacted.out.find("topsecret"), std::string::npos);
  EXPECT_EQ(redacted.out.find("sim-h100x2"), std::string::npos);
  const Result<snapshot::Snapshot> read = snapshot::parse(redacted.out, "f");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_TRUE(read->redacted);
  EXPECT_EQ(read->allocations.at(0).name, "tenant-1");
  run.closeInput();
}

TEST(SnapshotCommand, UnwritableOrMalformed_OneLineWithPlace) {
  Sandbox sandbox("sim-h100x2");
  const File file(sandbox);
  const auto expectLine = [&](const Words& words, int code, const std::string& says) {
    const Outcome outcome = sandbox.divvy(words);
    EXPECT_EQ(outcome.code(), code) << outcome.err;
    EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err << "\nsays not: " << says;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  };
  expectLine({"snapshot", "-o", "/no/such/directory/f"}, 1, "/no/such/directory/f");
  expectLine({"simulate", "replay"}, 2, "snapshot is required");
  expectLine({"simulate", "replay", file.path()}, 1, "reading " + file.path());
  expectLine({"simulate", "replay", file.path(), "--policy", "best"}, 2, "accepted: random");
  expectLine({"simulate", "replay", file.path(), "--device-policy", "x"}, 2, "accepted: tightest");
  const std::string good = R"({"schema":"divvy-snapshot","version":1,"written_by":"x",)"
                           R"("written_at_ms":0,"config":{"policy":"divvy"},"nodes":[],)"
                           R"("allocations":[],"pending":[]})";
  file.write(good);
  EXPECT_EQ(sandbox.divvy({"simulate", "replay", file.path(), "--expect-same"}).code(), 0);
  file.write(good.substr(0, 70));
  expectLine({"simulate", "replay", file.path()}, 2, file.path() + ":1:71: not JSON: ");
  const auto replace = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    file.write(text);
  };
  replace("\"version\":1", "\"version\":7");
  expectLine({"simulate", "replay", file.path()}, 2,
             "version 7 of the schema, as x writes it; accepted: version 1");
  replace("\"nodes\":[]", "\"nodes\":7");
  expectLine({"simulate", "replay", file.path()}, 2, "nodes: 7; accepted: a list");
  replace("\"nodes\":[]", "\"nodes\":[{\"node\":\"a\"},{\"node\":\"a\"}]");
  expectLine({"simulate", "replay", file.path()}, 2, "a second node is called \"a\"");
  replace("\"allocations\":[]",
          "\"allocations\":[{\"id\":\"a\",\"placement\":{\"node\":\"z\",\"charges\":[]}}]");
  expectLine({"simulate", "replay", file.path()}, 2, "no node is called \"z\"");
  EXPECT_EQ(sandbox.files(), Words());
}

}  // namespace
}  // namespace divvy::test
