// What a tenant's processes see of a simulated node of one, two and four cards, with neighbours on
// it.
#include <gtest/gtest.h>

#include "simulated_node.h"

namespace divvy::interposer::test {
namespace {

constexpr Bytes kShare = gib(4);
constexpr Bytes kContext = mib(300);  // what the shares say a context costs

std::vector<std::string> holder(unsigned ordinal, Bytes bytes) {
  return {built("tests/cuda_holder"), std::to_string(ordinal), std::to_string(bytes.count)};
}

std::string at(const std::string& question, unsigned index) {
  return question + ":" + std::to_string(index);
}

struct Case {
  std::string profile;
  std::vector<unsigned> cards;  // of the tenant, in the order of the control page
};

class NvmlNodeTest : public testing::TestWithParam<Case> {};

TEST_P(NvmlNodeTest, SimulatedNode_I6S13ExactlyTenantsDevices) {
  const SimulatedNode node(GetParam().profile);
  const auto tenant = node.tenantOf(GetParam().cards, kShare);
  std::vector<unsigned> sorted = GetParam().cards;
  std::sort(sorted.begin(), sorted.end());  // the node's numbers are in PCI order
  std::vector<std::string> questions{"init", "count", "oldcount"};
  for (unsigned i = 0; i <= sorted.size(); ++i) {
    for (const char* question : {"uuid", "olduuid", "memory", "memory2"}) {
      questions.push_back(at(question, i));
    }
  }
  for (const SimulatedCard& card : node.cards()) {
    questions.push_back("byuuid:" + card.uuid);
    questions.push_back("bypci:" + card.pci);
  }
  const ProgramResult seen = node.ask(node.inside(*tenant), questions);
  EXPECT_EQ(seen.answer("count"), "0 " + std::to_string(sorted.size()));
  EXPECT_EQ(seen.answer("oldcount"), "0 " + std::to_string(sorted.size()));
  for (unsigned i = 0; i < sorted.size(); ++i) {
    EXPECT_EQ(seen.answer(at("uuid", i)), "0 " + node.cards()[sorted[i]].uuid);
    EXPECT_EQ(seen.answer(at("olduuid", i)), "0 " + node.cards()[sorted[i]].uuid);
    EXPECT_EQ(numbers(seen.answer(at("memory", i))),
              (std::vector<std::uint64_t>{0, kShare.count, 0, kShare.count}));
    EXPECT_EQ(numbers(seen.answer(at("memory2", i))),
              (std::vector<std::uint64_t>{0, kShare.count, 0, kShare.count, 0}));
  }
  const auto beyond = static_cast<unsigned>(sorted.size());
  EXPECT_EQ(seen.answer(at("uuid", beyond)), "2 ");
  for (unsigned c = 0; c < node.cards().size(); ++c) {
    const auto place = std::find(sorted.begin(), sorted.end(), c);
    const SimulatedCard& card = node.cards()[c];
    if (place == sorted.end()) {
      EXPECT_EQ(seen.answer("byuuid:" + card.uuid), "6 0") << "a foreign card";
      EXPECT_EQ(seen.answer("bypci:" + card.pci), "6 ");
    } else {
      EXPECT_EQ(seen.answer("byuuid:" + card.uuid), "0 " + std::to_string(place - sorted.begin()));
      EXPECT_EQ(seen.answer("bypci:" + card.pci), "0 " + card.uuid);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Simulated, NvmlNodeTest,
                         testing::Values(Case{"h100", {0}}, Case{"4090x2", {0, 1}},
                                         Case{"4090x2", {1}}, Case{"4090x2", {1, 0}},
                                         Case{"4090x4", {0, 1, 2, 3}}, Case{"4090x4", {2, 3}},
                                         Case{"4090x4", {3, 1}}, Case{"4090x4", {2}}));

TEST(NvmlNode, ForeignProcess_I6NeitherCountedNorListed) {
  const SimulatedNode node("4090x2");
  const auto tenant = node.tenantOf({1}, kShare);
  const BackgroundProgram neighbour(holder(1, gib(6)), node.bare());
  ASSERT_EQ(neighbour.firstLine(), "0 " + node.cards()[1].uuid);
  ProgramResult seen = node.ask(node.inside(*tenant), {"init", "memory:0", "compute:0"});
  EXPECT_EQ(numbers(seen.answer("memory:0")),
            (std::vector<std::uint64_t>{0, kShare.count, 0, kShare.count}));
  EXPECT_EQ(seen.answer("compute:0"), "0");

  const BackgroundProgram own(holder(0, gib(1)), node.inside(*tenant));
  ASSERT_EQ(own.firstLine(), "0 " + node.cards()[1].uuid);
  const Bytes used = gib(1) + kContext;
  seen = node.ask(node.inside(*tenant), {"init", "memory:0", "compute:0", "graphics:0"});
  EXPECT_EQ(numbers(seen.answer("memory:0")),
            (std::vector<std::uint64_t>{0, kShare.count, used.count, (kShare - used).count}));
  EXPECT_EQ(seen.answer("compute:0"),
            "0 " + std::to_string(own.pid()) + ":" + std::to_string(used.count));
  EXPECT_EQ(seen.answer("graphics:0"), "0");

  // The node sees both, on the card that the tenant calls 0 and the node 1.
  seen = node.ask(node.bare(), {"init", "compute:1"});
  EXPECT_NE(seen.answer("compute:1").find(" " + std::to_string(own.pid()) + ":"),
            std::string::npos);
  EXPECT_NE(seen.answer("compute:1").find(" " + std::to_string(neighbour.pid()) + ":"),
            std::string::npos);
}

TEST(NvmlNode, ShareChangesWhileTenantRuns_I6NewTotalShown) {
  const SimulatedNode node("h100");
  const auto tenant = node.tenantOf({0}, kShare);
  EXPECT_EQ(numbers(node.ask(node.inside(*tenant), {"init", "memory:0"}).answer("memory:0"))[1],
            kShare.count);
  ASSERT_TRUE(tenant->agent().setMemory(0, gib(6), gib(6)).has_value());
  EXPECT_EQ(numbers(node.ask(node.inside(*tenant), {"init", "memory:0"}).answer("memory:0"))[1],
            gib(6).count);
}

TEST(NvmlNode, QueriesOutsideShare_AnswersAsDriver) {
  const SimulatedNode node("h100");
  const auto tenant = node.tenantOf({0}, kShare);
  const std::vector<std::string> questions{"init", "driver", "bar1:0", "utilisation:0", "error:2"};
  const ProgramResult inside = node.ask(node.inside(*tenant), questions);
  EXPECT_EQ(inside.out, node.ask(node.bare(), questions).out);
  EXPECT_EQ(inside.answer("bar1:0").substr(0, 2), "0 ");
}

// dlopen("libnvidia-ml.so") and full paths are caught by libdivvy-cuda.so's dlopen.
TEST(NvmlNode, EveryPathOfLibrary_ShareShown) {
  const SimulatedNode node("4090x2");
  const auto tenant = node.tenantOf({1}, kShare);
  Environment environment = node.inside(*tenant);
  for (const std::string& name :
       {std::string("libnvidia-ml.so.1"), std::string("libnvidia-ml.so"),
        built("simgpu/libnvidia-ml.so.1"), built("simgpu/libnvidia-ml.so")}) {
    environment["PROBE_OPEN"] = name;
    EXPECT_EQ(node.ask(environment, {"init", "count"}).answer("count"), "0 1") << name;
  }
}

}  // namespace
}  // namespace divvy::interposer::test
