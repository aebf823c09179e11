// Physical memory that crosses processes in a file descriptor.
//
// A shareable handle is one more open file of the exporter's memfd. Its file position is that of
// the export table's entry. Open file locks show which processes still need the bytes, and vanish
// with the last descriptor, even if its owner was killed. Byte i is read-locked by shareable
// handles of entry i, byte i + kMaxExports by the processes that imported it.
#pragma once

#include "cuda/vmm/vmm.h"

namespace divvy::simgpu {

// Another process's memfd in this process. Kept while something imported from it lives.
struct ForeignWindow {
  ForeignWindow() = default;
  ForeignWindow(const ForeignWindow&) = delete;
  ForeignWindow& operator=(const ForeignWindow&) = delete;
  ~ForeignWindow();

  int fd = -1;
  std::byte* front = nullptr;  // everything before the bytes: header, exports, poison bits
  std::uint64_t front_bytes = 0;
  PoisonBits bits;

  const WindowHeader& header() const { return *reinterpret_cast<const WindowHeader*>(front); }
  ExportEntry& entry(std::uint32_t index) const {
    return reinterpret_cast<ExportEntry*>(front + header().exports_offset)[index];
  }
};

// Opens the memfd behind a descriptor of any process (or finds it, if already open). nullptr: it is
// not one. Under MemoryTable::mutex, exclusive.
std::shared_ptr<ForeignWindow> openForeign(int fd);

// The device of this process that is a given card; nullptr if CUDA_VISIBLE_DEVICES hides it.
Device* deviceOfCard(std::uint32_t card_index);

// An entry of this process's export table. 0: the table is full.
std::uint32_t addExport(const ExportEntry& entry);

// Turns the memory's charge into a shared block, once. False: the card has no room for more blocks.
bool shareBlock(Physical& physical);
// Ends one region's part in a shared block: the process holds it until the end of its last region
// of the block. The region itself must have ended already. Under MemoryTable::mutex.
void releaseBlock(Device& device, std::uint64_t block);
// A new descriptor, close-on-exec; -1: none left.
CUresult exportPhysical(const std::shared_ptr<Physical>& physical, int* fd);
// The memory behind a descriptor, with one more handle reference. `fd` stays the caller's.
CUresult importPhysical(int fd, std::shared_ptr<Physical>* out);

// Exported memory of this process without references here. It is freed at once, or when the last
// shareable handle and import have ended.
void retireExported(const Physical& physical);
void collectRetired();
// Ends this process's part in memory of another one.
void dropImported(Physical& physical);

}  // namespace divvy::simgpu
