// Cards that people ask for by name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace divvy::sizing {

struct Card {
  std::string name;   // as people type it
  std::string match;  // a part of its model's name that no smaller card of the list has
  Bytes memory;       // as nvidia-smi shows it
  Bytes usable;       // of it, what the driver gives to programs
  Bytes context;      // what a CUDA context costs
};

// By usable memory, the smallest first.
std::span<const Card> cards();

// "4090", "RTX4090", "a100-80"; or a size ("24Gi"), for a card or slice that is not listed. kUsage
// names what is near, or all.
Result<Card> findCard(std::string_view text);

}  // namespace divvy::sizing
