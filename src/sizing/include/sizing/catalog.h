// Models that people ask for by name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sizing/model.h"

namespace divvy::sizing {

struct CatalogEntry {
  ModelShape model;                 // named
  std::uint64_t published = 0;      // parameters, as whoever made it counts them
  std::uint64_t tolerance_ppm = 0;  // of ours, of that; the reason in note
  std::string note;
};

// models.json, read once. In the order of the file: by maker.
std::span<const CatalogEntry> catalog();

// "llama-3-8b", "Llama_3.1-8B", "meta-llama/Meta-Llama-3-8B-Instruct". kUsage names what is near.
Result<ModelShape> findModel(std::string_view text);

}  // namespace divvy::sizing
