// Every model of the catalogue has as many parameters as its maker says.
#include "sizing/catalog.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace divvy::sizing {
namespace {

TEST(Catalog, EachModel_ParametersAsPublished) {
  ASSERT_GE(catalog().size(), 60u);
  std::size_t exact = 0;
  for (const CatalogEntry& entry : catalog()) {
    const Result<Parameters> counted = countParameters(entry.model);
    ASSERT_TRUE(counted) << entry.model.name;
    const double off =
        std::abs(static_cast<double>(counted->total()) - static_cast<double>(entry.published)) /
        static_cast<double>(entry.published);
    EXPECT_LE(off * 1e6, static_cast<double>(entry.tolerance_ppm))
        << entry.model.name << ": " << counted->total() << ", published " << entry.published;
    EXPECT_EQ(entry.tolerance_ppm != 0, entry.note.starts_with("published rounded"))
        << entry.model.name << " has a tolerance without a reason, or a reason without one";
    exact += entry.tolerance_ppm == 0;
  }
  EXPECT_GE(exact, 60u);
}

TEST(Catalog, EachModel_AllLayersCounted) {
  for (const CatalogEntry& entry : catalog()) {
    std::uint64_t layers = entry.model.recurrent.layers;
    for (const CacheGroup& group : entry.model.cache) layers += group.layers;
    EXPECT_EQ(layers, entry.model.layers) << entry.model.name;
    EXPECT_NE(entry.model.max_context, 0u) << entry.model.name;
  }
}

TEST(Catalog, EachName_UniqueAndFound) {
  std::set<std::string> names;
  for (const CatalogEntry& entry : catalog()) {
    EXPECT_TRUE(names.insert(entry.model.name).second) << entry.model.name;
    const Result<ModelShape> found = findModel(entry.model.name);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->repository, entry.model.repository);
    EXPECT_TRUE(findModel(entry.model.repository)) << entry.model.repository;
  }
  EXPECT_EQ(findModel("command-r-35b")->max_context, 131072u);
  EXPECT_EQ(findModel("Llama_3-8B")->name, "llama-3-8b");
}

std::string refusal(std::string_view name) {
  const Result<ModelShape> found = findModel(name);
  return found ? "" : found.error().message();
}

TEST(Catalog, MistypedName_NeighbourSuggested) {
  EXPECT_NE(refusal("lama-3-8b").find("did you mean llama-3-8b"), std::string::npos);
  EXPECT_NE(refusal("qwen3-8").find("qwen3-8b"), std::string::npos);
  EXPECT_NE(refusal("gptoss").find("gpt-oss-"), std::string::npos);
  EXPECT_NE(refusal("org/mixtral-8x7").find("mixtral-8x7b"), std::string::npos);
  EXPECT_EQ(refusal("zzzzzzzzzzzz").find("did you mean"), std::string::npos);
  EXPECT_NE(refusal("").find("--list"), std::string::npos);
}

TEST(Catalog, Attention_IsDescribed) {
  EXPECT_EQ(attentionWords(*findModel("llama-3-8b")), "GQA");
  EXPECT_EQ(attentionWords(*findModel("llama-2-7b")), "MHA");
  EXPECT_EQ(attentionWords(*findModel("gemma-2b")), "MQA");
  EXPECT_EQ(attentionWords(*findModel("deepseek-v3")), "MLA");
  EXPECT_EQ(attentionWords(*findModel("gpt-oss-20b")), "GQA, 12 of 24 layers see 128 tokens");
  EXPECT_EQ(attentionWords(*findModel("gemma-3-1b")), "MQA, 22 of 26 layers see 512 tokens");
  EXPECT_EQ(attentionWords(*findModel("jamba-v0.1")), "GQA, 28 of 32 layers keep a state");
  EXPECT_EQ(attentionWords(*findModel("llama-4-scout")), "GQA, 36 of 48 layers see 8192 tokens");
}

}  // namespace
}  // namespace divvy::sizing
