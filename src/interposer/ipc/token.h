// What stands in the 64 bytes that name a block of ours to other processes, and what its importer
// and its exporter tell each other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/cuda_types.h"

namespace divvy::interposer {

struct IpcToken {
  // No driver's handle begins so; a driver that is given a token refuses it.
  static constexpr std::uint64_t kMagic = 0x3130435049565644;  // "DVVIPC01"

  std::uint64_t magic;
  std::uint64_t server;    // where the exporter listens
  std::uint64_t secret;    // of the block: who has it may open it
  std::uint64_t address;   // of the block in the exporter
  std::uint64_t reserved;  // bytes of its chunks
  std::uint64_t offset;    // of the allocation in it
  std::uint64_t requested;
  std::uint64_t id;  // of the allocation

  bool isOurs() const { return magic == kMagic; }
  // Whatever its bytes are, what follows from it is bounded.
  bool isSound() const {
    constexpr std::uint64_t kMax = std::uint64_t{1} << 46;
    return isOurs() && reserved <= kMax && offset < reserved && requested != 0 &&
           requested <= reserved - offset;
  }
};
static_assert(sizeof(IpcToken) == sizeof(CUipcMemHandle));

// The importer begins. Nobody says whose it is before it was shown that the other one is its own.
struct IpcHello {
  std::uint64_t magic;
  std::uint64_t nonce;  // drawn for this once
};
struct IpcChallenge {
  std::uint64_t magic;
  std::uint64_t nonce;
  std::uint64_t proof;  // exporterProof()
};
struct IpcAsk {
  IpcToken token;
  std::uint64_t proof;  // importerProof()
};

// It is answered with one per chunk, by address, each with a descriptor, or with one that says why
// there is none.
struct IpcReply {
  std::uint64_t magic;
  std::uint64_t result;  // CUresult
  std::uint64_t offset;
  std::uint64_t bytes;
};

}  // namespace divvy::interposer
