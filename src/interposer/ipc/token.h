// The 64 bytes that name a block of this library to other processes, and the messages between
// importer and exporter.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/cuda_types.h"

namespace divvy::interposer {

struct IpcToken {
  // No handle of a driver begins with this; a driver that is given a token refuses it.
  static constexpr std::uint64_t kMagic = 0x3130435049565644;  // "DVVIPC01"

  std::uint64_t magic;
  std::uint64_t server;    // where the exporter listens
  std::uint64_t secret;    // of the block; a holder may open the block
  std::uint64_t address;   // of the block in the exporter
  std::uint64_t reserved;  // bytes of its chunks
  std::uint64_t offset;    // of the allocation in the block
  std::uint64_t requested;
  std::uint64_t id;  // of the allocation

  bool isOurs() const { return magic == kMagic; }
  // Returns whether the values are bounded, so that any bytes are safe to use.
  bool isSound() const {
    constexpr std::uint64_t kMax = std::uint64_t{1} << 46;
    return isOurs() && reserved <= kMax && offset < reserved && requested != 0 &&
           requested <= reserved - offset;
  }
};
static_assert(sizeof(IpcToken) == sizeof(CUipcMemHandle));

// The importer sends first. Neither side names the block or the tenant before the other has proved
// that it belongs to the same tenant.
struct IpcHello {
  std::uint64_t magic;
  std::uint64_t nonce;  // drawn for each exchange
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

// The answer to IpcAsk: one reply for each chunk, by address, each with a descriptor; or one reply
// that carries the error.
struct IpcReply {
  std::uint64_t magic;
  std::uint64_t result;  // CUresult
  std::uint64_t offset;
  std::uint64_t bytes;
};

}  // namespace divvy::interposer
