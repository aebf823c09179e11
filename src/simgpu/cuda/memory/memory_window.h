// The addresses of device memory and the bytes behind them.
//
// Two windows of equal size are reserved. Device addresses lie in the first, which the host cannot
// touch. The bytes of device address a are at a + constant, in the second. One sparse memfd is
// behind all memory of this process; its first part describes its contents to processes that import
// some.
//
//   window:  [ small | large | physical | virtual ]
//            small, large: allocations live at file offset = window offset
//            physical:     what cuMemCreate makes; has bytes but no usable addresses
//            virtual:      reserved addresses and imports; bytes are mapped in as asked for
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/cuda_types.h"
#include "cuda/memory/address_space.h"
#include "cuda/memory/poison.h"

namespace divvy::simgpu {

inline constexpr std::uint64_t kAllocationUnit = 512;     // plain allocations are rounded to this
inline constexpr std::uint64_t kLargePage = 2ULL << 20;   // of pools, managed memory and addresses
inline constexpr std::uint64_t kSmallLimit = 1ULL << 20;  // from here on, allocations are "large"
inline constexpr std::uint64_t kWindowMagic = 0x31304e4957475344;  // "DSGWIN01"

// The header at the start of the memfd.
struct WindowHeader {
  std::uint64_t magic;
  std::uint64_t window_bytes;
  std::uint64_t bits_offset;     // of the poison bits, in the file
  std::uint64_t exports_offset;  // of the export table, in the file
  std::uint64_t data_offset;     // of window offset 0, in the file
  std::uint32_t pid;
  std::uint32_t exports;  // entries of the export table in use or used before
  std::uint64_t start_time;
};

// Something another process may import. Entries are never reused: the table is sparse.
enum class ExportKind : std::uint32_t { kNone, kHandle, kPool, kIpc };
struct ExportEntry {
  ExportKind kind;
  std::uint32_t card_index;
  std::uint64_t offset;  // window offset of the bytes
  std::uint64_t bytes;
  std::uint64_t block;  // shared block of the card, 0 for host memory
  CUmemAllocationProp prop;
};
inline constexpr std::uint32_t kMaxExports = 1 << 20;

class Window {
 public:
  static Window& get();

  // Reserves everything; as much as the process's limits allow, at least 64 GiB. Once.
  bool open();

  bool contains(CUdeviceptr address) const { return address - base_ < bytes_ || isNarrow(address); }
  CUdeviceptr base() const { return base_; }
  std::uint64_t bytes() const { return bytes_; }
  std::byte* alias(CUdeviceptr address) const { return alias_ + offsetOf(address); }
  std::uint64_t offsetOf(CUdeviceptr address) const {
    return isNarrow(address) ? narrow_offset_ + (address - narrow_base_) : address - base_;
  }
  // Addresses of 32 bits for the calls from before CUDA 3.2. They have their own window; its bytes
  // are a piece of the large part.
  bool isNarrow(CUdeviceptr address) const { return address - narrow_base_ < narrow_bytes_; }
  CUdeviceptr reserveNarrow(std::uint64_t bytes);  // 0: no such addresses left
  void releaseNarrow(CUdeviceptr address, std::uint64_t bytes);
  std::uint64_t fileOffset(std::uint64_t window_offset) const {
    return header_->data_offset + window_offset;
  }
  int fd() const { return fd_; }
  WindowHeader& header() const { return *header_; }
  ExportEntry& exported(std::uint32_t index) const { return exports_[index]; }
  const PoisonBits& bits() const { return bits_; }

  // Window offsets. Guarded by MemoryTable::mutex, like the pages below.
  AddressSpace small;
  AddressSpace large;
  AddressSpace physical;
  AddressSpace reserved;  // the virtual part

  // Puts `bytes` of a file behind virtual addresses, or nothing again.
  bool mapBytes(CUdeviceptr address, std::uint64_t bytes, int fd, std::uint64_t file_offset);
  void unmapBytes(CUdeviceptr address, std::uint64_t bytes);
  // Lets the host use small or large addresses directly (managed memory), or not any more.
  bool openToHost(CUdeviceptr address, std::uint64_t bytes);
  void closeToHost(CUdeviceptr address, std::uint64_t bytes);
  // The same for virtual addresses with bytes of a file.
  bool openToHost(CUdeviceptr address, std::uint64_t bytes, int fd, std::uint64_t file_offset,
                  bool writable);

  // Returns the pages of whole chunks in the range to the host and drops their contents.
  void discard(std::uint64_t window_offset, std::uint64_t bytes);
  // The same for physical memory that only devices wrote. The pages of its first part, which is
  // taken first, stay: new pages cost far more than copying to existing ones.
  void discardPhysical(std::uint64_t window_offset, std::uint64_t bytes);

 private:
  bool reserve(std::uint64_t bytes);
  bool reserveNarrow();
  void punch(std::uint64_t window_offset, std::uint64_t bytes);

  CUdeviceptr base_ = 0;
  std::uint64_t bytes_ = 0;
  CUdeviceptr narrow_base_ = 0;
  std::uint64_t narrow_bytes_ = 0;
  std::uint64_t narrow_offset_ = 0;
  AddressSpace narrow_;
  std::byte* alias_ = nullptr;
  int fd_ = -1;
  WindowHeader* header_ = nullptr;
  ExportEntry* exports_ = nullptr;
  PoisonBits bits_;
};

}  // namespace divvy::simgpu
