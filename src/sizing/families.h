// What a model_type says that its configuration does not. Private.
#pragma once

#include <string_view>

#include "sizing/model.h"

namespace divvy::sizing {

struct Family {
  std::string_view model_type;
  bool tied = false;  // where tie_word_embeddings is absent
  bool gated = true;
  bool qkv_bias = false;  // where attention_bias is absent
  bool out_bias = false;
  bool mlp_bias = false;
  bool norm_bias = false;
  bool head_bias = false;
  std::uint64_t norms = 2;
  QkNorm qk_norm = QkNorm::kNone;
  bool learned_positions = false;
  std::uint64_t extra_positions = 0;  // of those, beyond max_position_embeddings
  bool router_bias = false;
};

// nullptr: not known.
const Family* findFamily(std::string_view model_type);

}  // namespace divvy::sizing
