#include "sizing/checkpoint.h"

#include "fields.h"
#include "json_text.h"

namespace divvy::sizing {
namespace {

constexpr std::uint64_t kMaxBytes = 1ull << 50;

}  // namespace

Result<Bytes> readIndex(std::string_view text) {
  const Result<bj::value> json = parseText(text, kMaxIndexBytes);
  if (!json) return json.error();
  if (!json->is_object()) return Error{ErrorCode::kCorrupt, "not an object; an index is"};
  std::optional<std::string> fault;
  Fields root(json->get_object(), "", &fault);
  std::optional<Fields> metadata = root.object("metadata");
  if (!metadata && root.ok()) root.fail("metadata", "missing; an object is expected");
  const std::uint64_t total = metadata ? metadata->need({"total_size"}, {1, kMaxBytes}) : 0;
  if (fault) return Error{ErrorCode::kCorrupt, *fault};
  return Bytes{total};
}

Result<Bytes> tensorsOf(std::string_view first_bytes, std::uint64_t file_bytes) {
  constexpr std::size_t kLength = 8;
  std::uint64_t header = 0;
  for (std::size_t i = 0; i < kLength && first_bytes.size() >= kLength; ++i)
    header |= std::uint64_t(static_cast<unsigned char>(first_bytes[i])) << (8 * i);
  const bool possible = first_bytes.size() >= kLength && file_bytes <= kMaxBytes && header >= 2 &&
                        header < file_bytes && header + kLength < file_bytes;
  if (!possible) {
    return Error{ErrorCode::kCorrupt,
                 "not a safetensors file: its first 8 bytes are the length of a header within it"};
  }
  return Bytes{file_bytes - kLength - header};
}

}  // namespace divvy::sizing
