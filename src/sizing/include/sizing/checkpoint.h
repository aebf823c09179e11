// The bytes of a checkpoint's tensors, from the files beside its config.json. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace divvy::sizing {

// Largest accepted index.
inline constexpr std::size_t kMaxIndexBytes = 64 << 20;

// Returns metadata.total_size of model.safetensors.index.json, 1 byte to 1 PiB. kCorrupt: as
// readConfig().
Result<Bytes> readIndex(std::string_view text);

// Returns the size of one safetensors file without its header. `first_bytes`: at least the first 8
// bytes of the file, which hold the header's length. kCorrupt: that length is impossible.
Result<Bytes> tensorsOf(std::string_view first_bytes, std::uint64_t file_bytes);

}  // namespace divvy::sizing
