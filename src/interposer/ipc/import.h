// Blocks of other processes, opened by the 64 bytes that their interposer wrote for a handle.
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/cuda_types.h"
#include "ipc/socket.h"
#include "ipc/token.h"
#include "paging/chunk.h"
#include "support/slab.h"

namespace divvy::interposer {

enum class ImportState : std::uint32_t { kNew = 0, kOpening, kOpen, kClosing };

// The thread that took the record fills it before kOpening, and `block` before kOpen. Constant from
// then on.
struct IpcImport {
  std::atomic<std::uint32_t> taken;
  std::atomic<std::uint32_t> state;   // ImportState
  std::atomic<std::uint32_t> opens;   // above 0 only while kOpen; bringing it to 0 obliges to close
  std::atomic<std::uint64_t> ticket;  // position among opening threads; 0: being drawn
  std::uint32_t number;               // of this record
  IpcToken token;
  CUctx_st* context;  // context that it was opened in; its end closes it
  SwapBlock block;    // the block for the application; it has no chunks here

  ImportState now() const {
    return static_cast<ImportState>(state.load(std::memory_order_seq_cst));
  }
  void become(ImportState next) {
    state.store(static_cast<std::uint32_t>(next), std::memory_order_seq_cst);
  }
};

// One per process, in static storage. Any thread, inside a hook (DriverCallScope).
class IpcImports {
 public:
  // Opens a token of this library, as cuIpcOpenMemHandle opens plain memory.
  CUresult open(const IpcToken& token, unsigned flags, CUdeviceptr* out);
  // Closes as cuIpcCloseMemHandle does. Returns CUDA_ERROR_NOT_FOUND if no opened block begins
  // there.
  CUresult close(CUdeviceptr address);

  // Returns the block that contains an address; nullptr if there is none.
  SwapBlock* find(std::uint64_t address);

  // Closes imports that were opened in a context of a device; with `all`, all of the device.
  void sweep(unsigned device, CUctx_st* context, bool all);

  void forgetAfterFork() {
    imports_.forgetAfterFork();
    any_.store(false, std::memory_order_relaxed);
  }

 private:
  struct Mapping;

  IpcImport* earlier(const IpcImport& own);
  bool join(const IpcImport& own, IpcImport& other);
  bool begin(IpcImport& own, IpcImport** joined);
  CUresult release(IpcImport& import);
  CUresult fetch(IpcImport& own, int ordinal);
  static CUresult receiveAll(const IpcSocket& exporter, Mapping* mapping, std::uint32_t* ordinal);
  static CUresult mapOne(int fd, std::uint64_t bytes, Mapping* mapping, std::uint32_t* ordinal);
  static CUresult allow(const Mapping& mapping, std::uint32_t home, int current);
  static void undo(const Mapping& mapping);
  CUresult end(IpcImport& import, bool wait);

  Slab<IpcImport> imports_;
  std::atomic<bool> any_{false};
  std::atomic<std::uint64_t> tickets_{0};
};

}  // namespace divvy::interposer
