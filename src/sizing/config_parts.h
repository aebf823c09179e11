// The parts of a configuration, each read into its part of the shape. Private.
#pragma once

#include "families.h"
#include "fields.h"
#include "sizing/config.h"

namespace divvy::sizing {

inline constexpr Fields::Range kWidth{1, 1 << 20};
inline constexpr Fields::Range kLayers{1, 10'000};
inline constexpr Fields::Range kHeads{1, 1 << 16};

struct Draft {
  Fields root;     // the whole text
  Fields thinker;  // its thinker_config, or the whole text: what has the vision tower
  Fields fields;   // of it, what is said of the language model
  const Family* family;
  ModelShape model;
  std::vector<std::string> assumptions;

  bool is(std::string_view model_type) const { return model.family == model_type; }
  void assume(const std::string& what) { assumptions.push_back(what); }
};

void readAttention(Draft& draft);
void readDense(Draft& draft);
void readExperts(Draft& draft);
void readRecurrent(Draft& draft);
void readCache(Draft& draft);
void readVision(Draft& draft);
void readQuantization(Draft& draft);

}  // namespace divvy::sizing
