// Reads a Hugging Face config.json into a ModelShape. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sizing/model.h"

namespace divvy::sizing {

// Largest accepted file.
inline constexpr std::size_t kMaxConfigBytes = 8 << 20;

// A model, and the assumptions about it.
struct ConfigReading {
  ModelShape model;
  // Facts that the text does not state, or states in an unknown form, with the assumed values. For
  // users.
  std::vector<std::string> assumptions;
};

// Parses the file's text. kCorrupt: "line 3, column 7: ..." if it is not JSON,
// "text_config.hidden_size: ..." if a field is missing or wrong; the message names the accepted
// values. The caller puts the file's name in front.
Result<ConfigReading> readConfig(std::string_view text);

}  // namespace divvy::sizing
