#include "sizing/cards.h"

#include <algorithm>
#include <vector>

#include "sizing/answer.h"
#include "sizing/names.h"

namespace divvy::sizing {
namespace {

struct Row {
  const char* name;
  const char* match;
  std::uint64_t memory_mib;
  std::uint64_t reserved_mib;  // 0: not known, then 1.5 %
  std::uint64_t context_mib;   // 0: not known
};

// Memory as nvidia-smi shows it. What is reserved and a context's cost are those of the simulated
// cards where there is one of that kind (a test compares them).
constexpr Row kRows[] = {
    {"rtx4070", "RTX 4070", 12282, 404, 264},
    {"t4", "T4", 15360, 0, 0},
    {"v100", "V100", 16384, 235, 308},
    {"rtx5080", "RTX 5080", 16303, 0, 0},
    {"a10", "A10", 23028, 0, 0},
    {"l4", "L4", 23034, 0, 0},
    {"rtx4090", "RTX 4090", 24564, 357, 392},
    {"rtx3090", "RTX 3090", 24576, 0, 0},
    {"rtx5090", "RTX 5090", 32607, 0, 0},
    {"v100-32", "V100", 32768, 268, 308},
    {"a100", "A100", 40960, 625, 416},
    {"a40", "A40", 46068, 0, 0},
    {"l40s", "L40S", 46068, 613, 400},
    {"l20", "L20", 46068, 613, 400},
    {"a6000", "RTX A6000", 49140, 0, 0},
    {"h100", "H100", 81559, 551, 520},
    {"a100-80", "A100", 81920, 768, 416},
    {"h20", "H20", 97871, 590, 520},
    {"h200", "H200", 143771, 690, 520},
    {"b200", "B200", 183359, 0, 0},
};

Card cardOf(const Row& row) {
  const std::uint64_t reserved =
      row.reserved_mib != 0 ? row.reserved_mib : row.memory_mib * 3 / 200;
  return {row.name, row.match, mib(row.memory_mib), mib(row.memory_mib - reserved),
          row.context_mib != 0 ? mib(row.context_mib) : kUnknownContextCost};
}

std::vector<Card> makeCards() {
  std::vector<Card> all;
  for (const Row& row : kRows) all.push_back(cardOf(row));
  std::stable_sort(all.begin(), all.end(),
                   [](const Card& a, const Card& b) { return a.usable < b.usable; });
  return all;
}

// "NVIDIA GeForce RTX 4090", "rtx-4090" and "4090" are one.
std::string cardName(std::string_view text) {
  std::string name = plainName(text);
  for (const char* word : {"nvidia-", "geforce-", "tesla-", "rtx-", "rtx"}) {
    if (name.starts_with(word)) name.erase(0, std::string_view(word).size());
  }
  for (const char* unit : {"gib", "gb", "g"}) {
    if (name.find('-') != std::string::npos && name.ends_with(unit))
      name.erase(name.size() - std::string_view(unit).size());
  }
  if (name == "a100-40") return "a100";
  if (name == "v100-16") return "v100";
  if (name == "h100-80") return "h100";
  return name;
}

}  // namespace

std::span<const Card> cards() {
  static const std::vector<Card> all = makeCards();
  return all;
}

Result<Card> findCard(std::string_view text) {
  const std::string wanted = cardName(text);
  std::vector<std::string> names;
  for (const Card& card : cards()) {
    if (cardName(card.name) == wanted) return card;
    names.push_back(card.name);
  }
  // A bare number is a card that is not known, not so many bytes.
  const bool sized = !text.empty() && text.back() >= 'A' && text.front() <= '9';
  if (sized) {
    const Result<Bytes> bytes = parseBytes(text);
    if (!bytes) return Error(bytes.error()).context("--gpu");
    return Card{std::string(text), "", *bytes, *bytes, kUnknownContextCost};
  }
  std::vector<std::string> near = nearNames(cardName(text), names);
  std::string what = "--gpu \"" + std::string(text) + "\" is not known; ";
  if (!near.empty()) what += "did you mean " + listed(near) + "? ";
  return Error{ErrorCode::kUsage, what + "accepted: " + listed(names) + ", or a size (24Gi)"};
}

}  // namespace divvy::sizing
