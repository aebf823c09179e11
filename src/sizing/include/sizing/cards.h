// Cards that are known by name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace divvy::sizing {

// A kind of card. Source: nvidia-smi and the profiles of the simulated cards (cards.cpp).
struct Card {
  std::string name;   // as users type it
  std::string match;  // a part of its model name that no smaller card of the list contains
  Bytes memory;       // as nvidia-smi shows it
  Bytes usable;       // the part that the driver leaves to programs
  Bytes context;      // memory of a CUDA context
};

// Returns all listed cards, by usable memory, the smallest first. Any thread; valid until the
// program ends.
std::span<const Card> cards();

// Returns a listed card ("4090", "RTX4090", "a100-80"), or for a size ("24Gi") an unlisted card or
// slice of that size. kUsage: neither; the message names similar cards and all accepted ones.
Result<Card> findCard(std::string_view text);

}  // namespace divvy::sizing
