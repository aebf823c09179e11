// The bytes of a chunk, in memory and in the file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "points/point.h"

namespace divvy::history {

// Returns the chunk's bytes: which points have a value, whether all maxima equal the means, a
// common weight, then for each point the difference to the mean before. Typically 15 to 50 bytes.
std::string encodeChunk(const ChunkPoints& points);
// Returns the points. Nothing: the bytes are not those of a chunk.
std::optional<ChunkPoints> decodeChunk(std::string_view bytes);

// Returns `older` with all points of `newer` that have a value.
ChunkPoints mergedChunk(const ChunkPoints& older, const ChunkPoints& newer);

}  // namespace divvy::history
