// Which card, and how much fits on one. Pure: searches over `answer`.
#pragma once

#include <cstdint>
#include <optional>

#include "sizing/answer.h"
#include "sizing/cards.h"

namespace divvy::sizing {

// The question as `card` would have it: its context's cost.
Question onCard(Question question, const Card& card);

bool fits(const ModelShape& model, const Question& question, Bytes capacity);

// The most that fit into `capacity` on each card, all else as asked; 0: not even one. A context
// is never longer than the model's own (where that is known) or kMaxTokens.
std::uint64_t largestContext(const ModelShape& model, Question question, Bytes capacity);
std::uint64_t largestConcurrency(const ModelShape& model, Question question, Bytes capacity);

struct Choice {
  Card card;
  std::uint64_t gpus = 1;
};
// The smallest listed card that is enough alone, or else together with others (tensor parallel);
// with `gpus`, the smallest of which so many are enough.
std::optional<Choice> smallestCard(const ModelShape& model, const Question& question,
                                   std::optional<std::uint64_t> gpus);
// How many of `card` together are enough.
std::optional<std::uint64_t> fewestGpus(const ModelShape& model, const Question& question,
                                        const Card& card);

// Percent of a card's compute to ask for with `request` of its memory: in proportion, so that both
// run out together. Not a measured need: what a model needs depends on its requests.
unsigned proportionalCores(Bytes request, const Card& card);

}  // namespace divvy::sizing
