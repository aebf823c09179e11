// Snapshots as JSON: what is written is read as it was, what is wrong is told with its place.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/engine.h"
#include "snapshot/text.h"
#include "snapshot_check.h"
#include "some_snapshot.h"

namespace divvy::snapshot {
namespace {

std::string besideTests(const std::string& name) {
  const char* source = std::getenv("DIVVY_SOURCE_DIR");
  return std::string(source == nullptr ? "." : source) + "/tests/snapshot/" + name;
}

std::string contentsOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string example() {
  return contentsOf(besideTests("version-1.json"));
}

engine::Engine engineOf(const Snapshot& snapshot) {
  engine::Engine engine(snapshot.config);
  EXPECT_TRUE(engine.setPools(snapshot.pools));
  for (const engine::Node& node : snapshot.nodes) {
    const Result<void> set = engine.setNode(node);
    EXPECT_TRUE(set) << set.error().message();
  }
  for (const HeldAllocation& held : snapshot.allocations) {
    const Result<void> set = engine.adopt(held.allocation);
    EXPECT_TRUE(set) << set.error().message();
  }
  return engine;
}

// The two directions share one list of members: what it would lack, an engine would lack.
void expectSameEngine(const Snapshot& a, const Snapshot& b) {
  const engine::Engine one = engineOf(a);
  const engine::Engine two = engineOf(b);
  EXPECT_EQ(one.allocations(), two.allocations());
  EXPECT_EQ(one.nodes(), two.nodes());
  EXPECT_EQ(one.usage().used, two.usage().used);
  EXPECT_EQ(one.usage().idle, two.usage().idle);
  for (std::size_t i = 0; i < a.pending.size(); ++i) {
    EXPECT_EQ(a.pending[i].request.shape, b.pending[i].request.shape);
    const auto here = one.explain(a.pending[i].request);
    const auto there = two.explain(b.pending[i].request);
    ASSERT_TRUE(here && there);
    EXPECT_EQ(here->placement, there->placement);
    EXPECT_EQ(here->refusals, there->refusals);
  }
}

TEST(SnapshotText, RandomSnapshot_RoundTrips) {
  std::size_t placed = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    const Snapshot before = some::snapshot(rng, 4 + rng.below(24));
    const std::string text = write(before);
    const Result<Snapshot> after = parse(text, "s.json");
    ASSERT_TRUE(after) << "seed " << seed << ": " << after.error().message() << "\n" << text;
    EXPECT_EQ(write(*after), text) << "seed " << seed;
    expectSameEngine(before, *after);
    ASSERT_EQ(before.history.entries.size(), after->history.entries.size());
    for (std::size_t i = 0; i < before.history.entries.size(); ++i) {
      const auto* one = std::get_if<RequestEvent>(&before.history.entries[i].what);
      const auto* two = std::get_if<RequestEvent>(&after->history.entries[i].what);
      ASSERT_EQ(one == nullptr, two == nullptr);
      if (one == nullptr) continue;
      EXPECT_EQ(one->request.shape, two->request.shape);
      EXPECT_EQ(one->placement, two->placement);
      EXPECT_EQ(one->outcome, two->outcome);
    }
    ASSERT_EQ(before.allocations.size(), after->allocations.size());
    for (std::size_t i = 0; i < before.allocations.size(); ++i) {
      EXPECT_EQ(before.allocations[i].shape, after->allocations[i].shape);
      EXPECT_EQ(before.allocations[i].name, after->allocations[i].name);
    }
    placed += after->allocations.size();
  }
  EXPECT_GT(placed, 300u);
}

// Version 1 as first written. Never changed: what was written once can be read.
TEST(SnapshotText, VersionOne_IsRead) {
  const Result<Snapshot> read = parse(example(), "version-1.json");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->config.policy, engine::Policy::kFgd);
  EXPECT_EQ(read->config.compat, engine::Compat::kHami);
  EXPECT_EQ(engine::text(read->config.devices), "mutex,numa,link-strict,nic=mlx5_0,spread");
  ASSERT_EQ(read->nodes.size(), 2u);
  // "loose" of earlier versions.
  EXPECT_EQ(read->pools[0].members.match, engine::ModelMatch::kWords);
  const engine::Device& plain = read->nodes[0].devices[0];
  // What an engine's types have by default may change; what is not there is this for ever.
  EXPECT_EQ(plain.memory, gib(80));
  EXPECT_EQ(plain.compute.milli, 1000);
  EXPECT_EQ(plain.slots, 10u);
  EXPECT_EQ(plain.health, engine::Health::kHealthy);
  EXPECT_EQ(plain.mode, engine::Mode::kShared);
  EXPECT_EQ(plain.terms, engine::OvercommitPolicy({}, {}, 1000, {}, false));
  EXPECT_EQ(plain.compute_rule, engine::ComputeRule::kBound);
  const engine::Device& full = read->nodes[0].devices[1];
  EXPECT_EQ(full.terms, engine::OvercommitPolicy({1024}, gib(40), 1300, mib(512), true));
  EXPECT_EQ(full.mode, engine::Mode::kMps);
  EXPECT_EQ(full.row->runs, (std::vector<std::uint32_t>{1, 2, 4}));
  EXPECT_EQ(*read->nodes[0].order, UINT64_MAX);
  EXPECT_EQ(read->nodes[1].devices[0].parting->parts[0].starts.size(), 7u);
  ASSERT_EQ(read->allocations.size(), 2u);
  const HeldAllocation& web = read->allocations[0];
  EXPECT_EQ(web.name, "web");
  EXPECT_EQ(web.allocation.expires->ms, 1795000060000);
  EXPECT_EQ(web.allocation.placement.charges[0].largest, gib(3));
  EXPECT_EQ(*web.shape->containers[0].devices.guarantee, engine::DeviceMemory(engine::Percent{25}));
  EXPECT_EQ(web.shape->init[0].devices.memory, engine::DeviceMemory(engine::Percent{50}));
  EXPECT_TRUE(web.shape->devices);
  EXPECT_FALSE(read->allocations[1].shape);
  EXPECT_TRUE(read->allocations[1].allocation.placement.charges[0].shared_too);
  EXPECT_EQ(read->pending[0].request.shape.containers[0].devices.part, engine::PartName());
  EXPECT_EQ(read->history.dropped, 12u);
  ASSERT_EQ(read->history.entries.size(), 6u);
  EXPECT_EQ(std::get<AllocationReleased>(read->history.entries[1].what).id.text, "old");
  EXPECT_EQ(std::get<NodeRemoved>(read->history.entries[2].what).node.text, "c");
  EXPECT_EQ(std::get<RequestEvent>(read->history.entries[5].what).reason, "2 devices asked");
  std::string expected = example();
  for (std::size_t at; (at = expected.find("\"loose\"")) != std::string::npos;)
    expected.replace(at, 7, "\"words\"");
  EXPECT_EQ(write(*read), expected) << "nothing that is written is lost, nothing is added";
}

struct Wrong {
  const char* from;
  const char* to;
  const char* says;
};

TEST(SnapshotText, InvalidText_ErrorNamesPlace) {
  const std::vector<Wrong> cases{
      {"\"version\": 1", "\"version\": 2",
       "s.json:3:14: version: version 2 of the schema, as divvy 0.1.0 writes it; accepted: version "
       "1"},
      {"divvy-snapshot", "other", "s.json:2:13: schema: \"other\"; accepted: divvy-snapshot"},
      {"\"schema\": \"divvy-snapshot\",", "", "schema is missing"},
      {"\"config\"", "\"confg\"", "config is missing"},
      {"\"slots\":4", "\"slots\":\"4\"",
       "nodes[0].devices[1].slots: \"4\"; accepted: a whole number from 0 to 4294967295"},
      {"\"slots\":4", "\"slots\":4.5", "slots: 4.5E0; accepted: a whole number"},
      {"\"slots\":4", "\"slots\":-1", "slots: -1; accepted"},
      {"\"slots\":4", "\"slots\":4294967295", "accepted: at most 1048576"},
      {"\"slots\":4", "\"slots\":4,\"slots\":4", "this member is there twice"},
      {"\"slots\":4", "\"sluts\":4", "nodes[0].devices[1].sluts: is not known; accepted: uuid, "},
      {"\"unhealthy\"", "\"ill\"", "health: \"ill\"; accepted: healthy, unhealthy"},
      {"\"fgd\"", "\"best\"", "policy: \"best\"; accepted: random, dotprod"},
      {"\"fgd\"", "[1]", "config.policy: [1]; accepted: a text"},
      {"\"cordoned\":true,\"mode\"", "\"cordoned\":1,\"mode\"", "accepted: true, false"},
      {"\"physical_bytes\":17179869184", "\"physical_bytes\":9223372036854775807",
       "physical_bytes: 9223372036854775807; accepted"},
      {",\"physical_bytes\":17179869184", "",
       "history.entries[0].node.devices[0]: physical_bytes is missing"},
      {"\"runs\":[1,2,4]", "\"runs\":4", "runs: 4; accepted: a list"},
      {"{\"place\":2,", "7,\"x\":{", "row: 7; accepted: an object"},
      {"\"node\":\"b\"", "\"node\":\"a\"", "s.json:12:5: nodes[1]: a second node is called \"a\""},
      {"\"uuid\":\"GPU-2\"", "\"uuid\":\"GPU-1\"", "device GPU-1: twice"},
      {"\"id\":\"part\"", "\"id\":\"k3f9x2\"", "a second request is called \"k3f9x2\""},
      {"\"id\":\"waits\"", "\"id\":\"part\"", "pending[0]: a second request is called \"part\""},
      {"\"placement\":{\"node\":\"b\"", "\"placement\":{\"node\":\"z\"",
       "s.json:16:5: allocations[1]: no node is called \"z\""},
      {"\"placement\":{\"node\":\"c\"", "\"placement\":{\"node\":\"z\"",
       "history.allocations[0]: no node is called \"z\""},
      {"\"released\":\"old\"", "\"released\":\"nobody\"", "no request is called \"nobody\" there"},
      {"\"released\":\"old\"", "\"released\":\"old\",\"gone\":\"c\"",
       "names no event; accepted: one of asked, node, gone, holds, released"},
      {"\"at_ms\":1794999000002", "\"at_ms\":5", "is before the entry before it"},
      {"\"guarantee_percent\":25", "\"guarantee_percent\":25,\"guarantee_bytes\":1",
       "guarantee_bytes and guarantee_percent; accepted: one of them"},
      {"\"memory_percent\":50", "\"memory_percent\":500", "allocations[0]: "},
      {"\"largest_bytes\":3221225472", "\"largest_bytes\":5221225472",
       "outside, swappable and largest up to memory_bytes"},
      {"\"outcome\":\"placed\",\"placement\"", "\"outcome\":\"placed\",\"plaice\"", "plaice"},
      {"\"id\":\"q1\",\"priority\"", "\"id\":\"\",\"priority\"", "a request without an id"},
      {"\"count\":8", "\"count\":80", "80 devices; accepted: at most 64"},
      {"\"web\"", "\"we\\u0007b\"", "accepted: a text without control characters"},
      {"\"web\"", "\"we\tb\"", "not JSON: "},
      {"\"web\"",
       "\"we\xff"
       "b\"",
       "not JSON: "},
  };
  for (const Wrong& wrong : cases) {
    std::string text = example();
    const std::size_t at = text.find(wrong.from);
    ASSERT_NE(at, std::string::npos) << wrong.from;
    text.replace(at, std::string(wrong.from).size(), wrong.to);
    const Result<Snapshot> read = parse(text, "s.json");
    ASSERT_FALSE(read) << wrong.to;
    EXPECT_EQ(read.error().code(), ErrorCode::kUsage);
    EXPECT_NE(read.error().message().find(wrong.says), std::string::npos)
        << read.error().message() << "\nshould say: " << wrong.says;
    EXPECT_TRUE(read.error().message().starts_with("s.json:")) << read.error().message();
  }
}

TEST(SnapshotText, TruncatedText_IsRefused) {
  const std::string text = example();
  for (std::size_t size = 0; size + 2 < text.size(); size += 1 + size / 97) {
    const Result<Snapshot> read = parse(std::string_view(text).substr(0, size), "s.json");
    ASSERT_FALSE(read) << size;
    EXPECT_TRUE(read.error().message().starts_with("s.json:")) << read.error().message();
  }
  EXPECT_FALSE(parse(text + "{}", "s.json"));
  EXPECT_FALSE(parse("[]", "s.json"));
  EXPECT_FALSE(parse(std::string(100'000, '['), "s.json"));
}

TEST(SnapshotText, NonTextBytes_BecomeQuestionMarks) {
  Snapshot snapshot;
  snapshot.written_by = "a\nb\xff";
  const Result<Snapshot> read = parse(write(snapshot), "s.json");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->written_by, "a?b?");
}

TEST(SnapshotText, FuzzCorpus_NoFault) {
  std::size_t files = 0, good = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(besideTests("corpus/fuzz_snapshot"))) {
    bool read = false;
    EXPECT_EQ(faultOf(contentsOf(entry.path().string()), &read), "") << entry.path();
    ++files;
    good += read ? 1 : 0;
  }
  EXPECT_EQ(faultOf(example()), "");
  EXPECT_GE(files, 8u);
  EXPECT_GE(good, 3u);
}

}  // namespace
}  // namespace divvy::snapshot
