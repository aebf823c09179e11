// How many bytes of tensors a checkpoint holds, from what lies beside its config.json.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace divvy::sizing {

inline constexpr std::size_t kMaxIndexBytes = 64 << 20;

// Of model.safetensors.index.json: metadata.total_size. kCorrupt as readConfig.
Result<Bytes> readIndex(std::string_view text);

// Of one safetensors file: its size without its header, whose length its first 8 bytes say.
// kCorrupt where that cannot be.
Result<Bytes> tensorsOf(std::string_view first_bytes, std::uint64_t file_bytes);

}  // namespace divvy::sizing
