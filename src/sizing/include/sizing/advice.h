// Which card suffices, and how much fits on one. Pure: searches over answer(). A question that
// answer() refuses fits nowhere.
#pragma once

#include <cstdint>
#include <optional>

#include "sizing/answer.h"
#include "sizing/cards.h"

namespace divvy::sizing {

// Returns the question with the memory cost of a CUDA context on `card`.
Question onCard(Question question, const Card& card);

// Returns whether each card's request is at most `capacity`.
bool fits(const ModelShape& model, const Question& question, Bytes capacity);

// Return the longest context in tokens, and the most sequences at once, that fit into `capacity` on
// each card, with all else as in `question`. 0: not even one. A context is at most the model's own,
// if known, and at most kMaxTokens.
std::uint64_t largestContext(const ModelShape& model, Question question, Bytes capacity);
std::uint64_t largestConcurrency(const ModelShape& model, Question question, Bytes capacity);

// A number of equal cards.
struct Choice {
  Card card;
  std::uint64_t gpus = 1;
};
// Returns the smallest listed card that suffices alone; otherwise the fewest cards that suffice
// together (tensor parallel), of the smallest kind. With `gpus`, exactly that number of cards.
// Nothing: none suffices.
std::optional<Choice> smallestCard(const ModelShape& model, const Question& question,
                                   std::optional<std::uint64_t> gpus);
// Returns the fewest cards of this kind that suffice together; nothing: no number does.
std::optional<std::uint64_t> fewestGpus(const ModelShape& model, const Question& question,
                                        const Card& card);

// Returns the percentage of a card's compute, 1 to 100, in proportion to `request` of its memory.
// So memory and compute of a card are used up together. It is not a measured need.
unsigned proportionalCores(Bytes request, const Card& card);

}  // namespace divvy::sizing
