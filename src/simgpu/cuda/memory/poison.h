// Fresh device memory holds a pattern, so that reads of unwritten memory are detected. The pattern
// is laid lazily, in chunks, at the first access of a chunk: 80 GB cost nothing until touched.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace divvy::simgpu {

inline constexpr std::uint64_t kPoisonChunk = 64 << 10;

// The state of each chunk of a file: untouched, being laid, with contents. Lives in shared memory,
// so that processes that map the same bytes agree.
class PoisonBits {
 public:
  static constexpr std::uint64_t kChunksPerWord = 32;

  PoisonBits() = default;
  // `words` covers the chunk numbered `first` (a multiple of kChunksPerWord) and those after it.
  PoisonBits(std::atomic<std::uint64_t>* words, std::uint64_t first)
      : words_(words), first_(first) {}

  bool present() const { return words_ != nullptr; }
  bool touched(std::uint64_t chunk) const;

  // Makes [offset, offset + bytes) of the file have contents; `host` is where offset is mapped, and
  // whole chunks around it must be mapped, too. Thread-safe, also between processes.
  void touch(std::uint64_t offset, std::uint64_t bytes, std::byte* host) const;
  // The same for a range that the caller overwrites completely at once. The pattern is laid only in
  // chunks that extend beyond the range.
  void touchForOverwrite(std::uint64_t offset, std::uint64_t bytes, std::byte* host) const;
  // Marks that the range has contents, without laying the pattern.
  void markTouched(std::uint64_t offset, std::uint64_t bytes) const;
  // Lays the pattern again over contents in the range, for an allocation that reuses it.
  void repoison(std::uint64_t offset, std::uint64_t bytes, std::byte* host) const;
  // Resets the chunks that are completely in the range (their pages have been returned). True if
  // any had contents.
  bool clear(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  std::atomic<std::uint64_t>& word(std::uint64_t chunk) const {
    return words_[(chunk - first_) / kChunksPerWord];
  }
  // The lower of a chunk's two bits: a process lays or has laid the pattern. The upper: it is done.
  std::uint64_t layingBit(std::uint64_t chunk) const {
    return 1ULL << ((chunk - first_) % kChunksPerWord * 2);
  }
  std::uint64_t doneBit(std::uint64_t chunk) const { return layingBit(chunk) << 1; }
  // `host` nullptr: only marks it as touched, after another process that lays the pattern now.
  void lay(std::uint64_t chunk, std::byte* host) const;

  std::atomic<std::uint64_t>* words_ = nullptr;
  std::uint64_t first_ = 0;
};

}  // namespace divvy::simgpu
