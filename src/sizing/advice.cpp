#include "sizing/advice.h"

#include <algorithm>

namespace divvy::sizing {
namespace {

// Of 1..most, the largest that `test` accepts, 0 if none. `test` accepts all below what it accepts.
template <typename Test>
std::uint64_t largest(std::uint64_t most, Test test) {
  std::uint64_t low = 0;
  std::uint64_t high = most;
  while (low < high) {
    const std::uint64_t middle = low + (high - low + 1) / 2;
    if (test(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace

Question onCard(Question question, const Card& card) {
  question.context_cost = card.context;
  return question;
}

bool fits(const ModelShape& model, const Question& question, Bytes capacity) {
  const Result<Answer> found = answer(model, question);
  return found && found->request <= capacity;
}

std::uint64_t largestContext(const ModelShape& model, Question question, Bytes capacity) {
  const std::uint64_t most = model.max_context != 0 ? model.max_context : kMaxTokens;
  const std::optional<std::uint64_t> average = question.average;
  return largest(std::min(most, kMaxTokens), [&](std::uint64_t context) {
    question.context = context;
    if (average) question.average = std::min(*average, context);
    return fits(model, question, capacity);
  });
}

std::uint64_t largestConcurrency(const ModelShape& model, Question question, Bytes capacity) {
  const std::uint64_t told = question.max_sequences;
  const std::uint64_t most = question.batched_tokens != 0
                                 ? std::min(question.batched_tokens, kMaxSequences)
                                 : kMaxSequences;
  return largest(most, [&](std::uint64_t concurrency) {
    question.concurrency = concurrency;
    question.max_sequences = told == 0 ? 0 : std::max(told, concurrency);
    return fits(model, question, capacity);
  });
}

std::optional<std::uint64_t> fewestGpus(const ModelShape& model, const Question& question,
                                        const Card& card) {
  Question asked = onCard(question, card);
  for (const std::uint64_t gpus : possibleGpus(model)) {
    asked.gpus = gpus;
    if (fits(model, asked, card.usable)) return gpus;
  }
  return std::nullopt;
}

std::optional<Choice> smallestCard(const ModelShape& model, const Question& question,
                                   std::optional<std::uint64_t> gpus) {
  for (const std::uint64_t count : possibleGpus(model)) {
    if (gpus && count != *gpus) continue;
    for (const Card& card : cards()) {
      Question asked = onCard(question, card);
      asked.gpus = count;
      if (fits(model, asked, card.usable)) return Choice{card, count};
    }
  }
  return std::nullopt;
}

unsigned proportionalCores(Bytes request, const Card& card) {
  using Wide = unsigned __int128;
  const Wide percent = (Wide(request.count) * 100 + card.usable.count - 1) / card.usable.count;
  return percent > 100 ? 100 : std::max(1u, static_cast<unsigned>(percent));
}

}  // namespace divvy::sizing
