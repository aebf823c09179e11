// A Hugging Face config.json, read: the edge where text becomes a ModelShape.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sizing/model.h"

namespace divvy::sizing {

inline constexpr std::size_t kMaxConfigBytes = 8 << 20;

struct ConfigReading {
  ModelShape model;
  // What the text does not say, or says in a way that is not known, and what was taken for it.
  std::vector<std::string> assumptions;
};

// kCorrupt: "line 3, column 7: ..." where it is no JSON, "text_config.hidden_size: ..." where a
// field is missing or wrong; says what is accepted. Whoever reads a file puts its name in front.
Result<ConfigReading> readConfig(std::string_view text);

}  // namespace divvy::sizing
