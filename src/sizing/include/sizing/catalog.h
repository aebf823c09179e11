// Models that are known by name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sizing/model.h"

namespace divvy::sizing {

// A model, and the check of its shape.
struct CatalogEntry {
  ModelShape model;
  std::uint64_t published = 0;      // parameters, as its maker counts them
  std::uint64_t tolerance_ppm = 0;  // allowed difference of our count; `note` has the reason
  std::string note;
};

// Returns the entries of models.json, in the order of the file: by maker. Read once; any thread;
// valid until the program ends.
std::span<const CatalogEntry> catalog();

// Returns a model by name or repository: "llama-3-8b", "Llama_3.1-8B",
// "meta-llama/Meta-Llama-3-8B-Instruct". kUsage: not listed; the message names similar ones.
Result<ModelShape> findModel(std::string_view text);

}  // namespace divvy::sizing
