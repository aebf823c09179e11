// What must hold of any model and question.
#include <gtest/gtest.h>

#include <random>

#include "sizing/advice.h"
#include "sizing/catalog.h"

namespace divvy::sizing {
namespace {

constexpr int kCases = 3000;

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  std::uint64_t upTo(std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(1, most)(engine_);
  }
  template <typename List>
  auto& oneOf(List&& list) {
    return list[upTo(list.size()) - 1];
  }

 private:
  std::mt19937_64 engine_;
};

Question anyQuestion(Dice& dice, const ModelShape& model) {
  Question q;
  q.context = dice.upTo(dice.upTo(2) == 1 ? 200000 : 3000);
  q.concurrency = dice.upTo(dice.upTo(2) == 1 ? 2000 : 8);
  if (dice.upTo(3) == 1) q.average = dice.upTo(q.context);
  if (dice.upTo(2) == 1) q.weights = dice.oneOf(weightFormats());
  q.gpus = dice.oneOf(possibleGpus(model));
  q.eager = dice.upTo(2) == 1;
  q.utilization = dice.upTo(3) == 1 ? 0 : 800 + static_cast<unsigned>(dice.upTo(150));
  if (dice.upTo(3) == 1) q.batched_tokens = q.concurrency + dice.upTo(10000);
  return q;
}

Answer must(const ModelShape& model, const Question& q) {
  const Result<Answer> found = answer(model, q);
  if (!found) ADD_FAILURE() << model.name << ": " << found.error().message();
  return found ? *found : Answer{};
}

TEST(Answer, RandomQuestion_TermsAddUpToGrain) {
  Dice dice(1);
  for (int i = 0; i < kCases; ++i) {
    const ModelShape& model = dice.oneOf(catalog()).model;
    const Answer found = must(model, anyQuestion(dice, model));
    Bytes sum;
    for (const Term& term : found.terms) sum = sum + term.bytes;
    ASSERT_EQ(sum, found.request) << model.name;
    ASSERT_EQ(found.request.count % kGrain.count, 0u);
    ASSERT_EQ(found.terms.back().kind, TermKind::kHeadroom);
  }
}

// vLLM refuses to start when less is free than it is to fill, and the context is there before it.
TEST(Answer, RandomQuestion_FilledLeavesContext) {
  Dice dice(5);
  int lowered = 0;
  for (int i = 0; i < kCases; ++i) {
    const ModelShape& model = dice.oneOf(catalog()).model;
    Question q = anyQuestion(dice, model);
    q.context_cost = mib(dice.upTo(600));
    const Answer found = must(model, q);
    const std::uint64_t filled = found.request.count / 1000 * found.utilization;
    EXPECT_GE(found.request.count - filled, q.context_cost.count) << model.name;
    if (q.utilization == 0) continue;
    const Bytes terms = found.request - found.terms.back().bytes;
    EXPECT_GE(filled + 1000, terms.count) << model.name;
    EXPECT_LE(found.utilization, q.utilization);
    lowered += found.utilization < q.utilization;
  }
  EXPECT_GT(lowered, 10);
}

TEST(Answer, MoreContextOrSequences_NeverLess) {
  Dice dice(2);
  for (int i = 0; i < kCases; ++i) {
    const ModelShape& model = dice.oneOf(catalog()).model;
    Question q = anyQuestion(dice, model);
    const Bytes before = must(model, q).request;
    Question longer = q;
    longer.context += dice.upTo(5000);
    EXPECT_GE(must(model, longer).request, before) << model.name;
    Question more = q;
    more.concurrency += dice.upTo(100);
    if (more.batched_tokens != 0) more.batched_tokens += more.concurrency - q.concurrency;
    EXPECT_GE(must(model, more).request, before) << model.name;
    EXPECT_GE(must(model, more).cache, must(model, q).cache) << model.name;
  }
}

TEST(Answer, WiderNumbers_NeverLess) {
  Dice dice(3);
  for (int i = 0; i < kCases; ++i) {
    const ModelShape& model = dice.oneOf(catalog()).model;
    Question q = anyQuestion(dice, model);
    const WeightFormat& a = dice.oneOf(weightFormats());
    const WeightFormat& b = dice.oneOf(weightFormats());
    if (a.reach != b.reach) continue;
    q.weights = a;
    const Bytes one = must(model, q).weights;
    q.weights = b;
    const Bytes other = must(model, q).weights;
    if (a.bits() <= b.bits()) {
      EXPECT_LE(one, other) << model.name << a.name << b.name;
    }
    if (a.bits() >= b.bits()) {
      EXPECT_GE(one, other) << model.name << a.name << b.name;
    }
  }
  for (const CatalogEntry& entry : catalog()) {
    Question q;
    const Bytes wide = must(entry.model, q).cache;
    q.kv = *findKvFormat("fp8");
    EXPECT_LE(must(entry.model, q).cache, wide);
  }
}

TEST(Answer, TensorParallelParts_AddUp) {
  for (const CatalogEntry& entry : catalog()) {
    const ModelShape& model = entry.model;
    Question q;
    q.concurrency = 8;
    const Answer whole = must(model, q);
    for (const std::uint64_t gpus : possibleGpus(model)) {
      q.gpus = gpus;
      const Answer part = must(model, q);
      EXPECT_GE(part.weights.count * gpus, whole.weights.count) << model.name;
      EXPECT_LT(part.weights.count * gpus, whole.weights.count + gpus) << model.name;
      if (model.isLatent()) {
        EXPECT_EQ(part.cache, whole.cache) << model.name;
      } else if (model.kv_heads % gpus == 0 && model.recurrent.layers == 0) {
        EXPECT_EQ(part.cache.count * gpus, whole.cache.count) << model.name;
      } else {
        EXPECT_GE(part.cache.count * gpus, whole.cache.count) << model.name;
      }
      EXPECT_LE(part.cache, whole.cache) << model.name;
    }
  }
}

TEST(Advice, LargestSuggestion_FitsAndOneMoreDoesNot) {
  Dice dice(4);
  int found = 0;
  for (int i = 0; i < 400; ++i) {
    const ModelShape& model = dice.oneOf(catalog()).model;
    Question q = anyQuestion(dice, model);
    const Bytes room = gib(dice.upTo(300));
    const std::uint64_t context = largestContext(model, q, room);
    ASSERT_LE(context, model.max_context);
    Question best = q;
    const auto setContext = [&](std::uint64_t tokens) {
      best.context = tokens;
      if (q.average) best.average = std::min(*q.average, tokens);
    };
    setContext(context);
    if (context != 0) {
      EXPECT_TRUE(fits(model, best, room)) << model.name;
    }
    setContext(context + 1);
    if (context != model.max_context) {
      EXPECT_FALSE(fits(model, best, room)) << model.name;
    }
    q.batched_tokens = 0;
    const std::uint64_t sequences = largestConcurrency(model, q, room);
    best = q;
    best.concurrency = sequences;
    if (sequences != 0) {
      EXPECT_TRUE(fits(model, best, room)) << model.name;
    }
    best.concurrency = sequences + 1;
    if (sequences != kMaxSequences) {
      EXPECT_FALSE(fits(model, best, room)) << model.name;
    }
    found += context != 0 && sequences != 0;
  }
  EXPECT_GT(found, 50);
}

TEST(Advice, SmallestCard_NoSmallerFits) {
  for (const CatalogEntry& entry : catalog()) {
    Question q;
    q.context = 4096;
    q.concurrency = 4;
    const std::optional<Choice> choice = smallestCard(entry.model, q, std::nullopt);
    if (!choice) continue;
    for (const Card& card : cards()) {
      if (card.usable >= choice->card.usable) break;
      Question asked = onCard(q, card);
      asked.gpus = choice->gpus;
      EXPECT_FALSE(fits(entry.model, asked, card.usable)) << entry.model.name << card.name;
    }
    EXPECT_EQ(fewestGpus(entry.model, q, choice->card), choice->gpus) << entry.model.name;
  }
}

TEST(Answer, HugeNumbers_RefusedNotWrapped) {
  for (const CatalogEntry& entry : catalog()) {
    Question q;
    q.context = kMaxTokens;
    q.concurrency = kMaxSequences;
    const Result<Answer> found = answer(entry.model, q);
    if (found) {
      EXPECT_GT(found->request, gib(1 << 20)) << entry.model.name;
    }
    q.context = kMaxTokens + 1;
    EXPECT_FALSE(answer(entry.model, q));
    q.context = 0;
    EXPECT_FALSE(answer(entry.model, q));
    q.context = UINT64_MAX;
    EXPECT_FALSE(answer(entry.model, q));
  }
}

}  // namespace
}  // namespace divvy::sizing
