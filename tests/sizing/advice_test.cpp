// Cards and what fits on them.
#include "sizing/advice.h"

#include <gtest/gtest.h>

#include "simgpu/catalog.h"
#include "sizing/catalog.h"

namespace divvy::sizing {
namespace {

TEST(Cards, EachSimulatedCard_SameFigures) {
  int compared = 0;
  for (const simgpu::ProfileEntry& profile : simgpu::profileCatalog()) {
    for (const Card& card : cards()) {
      if (card.name != profile.name) continue;
      EXPECT_EQ(card.memory.count, profile.memory_bytes) << card.name;
      EXPECT_EQ(card.usable.count, profile.usable_bytes) << card.name;
      EXPECT_EQ(card.context.count, profile.context_bytes) << card.name;
      EXPECT_NE(profile.model.find(card.match), std::string_view::npos)
          << card.match << " in " << profile.model;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 10);
}

TEST(Cards, CommonSpellings_FindCard) {
  for (const char* text : {"4090", "rtx4090", "RTX 4090", "NVIDIA GeForce RTX 4090", "rtx-4090"})
    EXPECT_EQ(findCard(text)->name, "rtx4090") << text;
  EXPECT_EQ(findCard("A100-80GB")->name, "a100-80");
  EXPECT_EQ(findCard("a100")->memory, mib(40960));
  EXPECT_EQ(findCard("24Gi")->usable, gib(24));
  for (const char* text : {"4091", "h1000", "", "0Gi", "-4Gi", "24Gq", "potato"}) {
    EXPECT_FALSE(findCard(text)) << text;
    EXPECT_NE(findCard(text).error().message().find("accepted"), std::string::npos) << text;
  }
  EXPECT_NE(findCard("4080").error().message().find("rtx4090"), std::string::npos);
}

TEST(Advice, Llama8B_SmallestCardAndLimits) {
  const ModelShape llama = *findModel("llama-3-8b");
  Question q;
  q.concurrency = 16;
  EXPECT_EQ(smallestCard(llama, q, std::nullopt)->card.name, "a100");
  const Card small = *findCard("4090");
  EXPECT_FALSE(fits(llama, onCard(q, small), small.usable));
  const std::uint64_t sequences = largestConcurrency(llama, onCard(q, small), small.usable);
  EXPECT_GE(sequences, 4u);
  EXPECT_LT(sequences, 8u);
  EXPECT_EQ(fewestGpus(llama, q, small), 2u);
}

TEST(Advice, Llama405B_NeedsSeveralGpus) {
  Question q;
  const std::optional<Choice> choice = smallestCard(*findModel("llama-3.1-405b"), q, std::nullopt);
  ASSERT_TRUE(choice);
  EXPECT_GT(choice->gpus, 4u);
  EXPECT_FALSE(smallestCard(*findModel("llama-3.1-405b"), q, 1));
  EXPECT_EQ(fewestGpus(*findModel("llama-3.1-405b"), q, *findCard("rtx4070")), std::nullopt);
}

TEST(Advice, PartialMemory_CoresInProportion) {
  const Card card = *findCard("24Gi");
  EXPECT_EQ(proportionalCores(gib(6), card), 25u);
  EXPECT_EQ(proportionalCores(gib(1), card), 5u);
  EXPECT_EQ(proportionalCores(mib(1), card), 1u);
  EXPECT_EQ(proportionalCores(gib(30), card), 100u);
}

}  // namespace
}  // namespace divvy::sizing
