// Mutual authentication of two processes before one of them gets memory of the other. Both prove
// that they belong to one tenant or pod, by numbers that only a reader of that tenant's pages can
// compute. The numbers follow from nonces that both draw for each exchange, so they are useless to
// a listener.
#pragma once

#include <cstdint>

#include "ipc/token.h"
#include "ledger/siphash.h"

namespace divvy::interposer {

// Returns the key of this process's tenant. Zero, a key common to all, means that there is none, as
// outside of containers.
ledger::SipKey ipcKey();

// Returns the proof of the exporter that listens at `server`; `nonce` is the exporter's own.
std::uint64_t exporterProof(const ledger::SipKey& key, const IpcHello& hello, std::uint64_t nonce,
                            std::uint64_t server);
// Returns the proof of the importer, for exactly this block of exactly this exporter.
std::uint64_t importerProof(const ledger::SipKey& key, const IpcHello& hello, std::uint64_t nonce,
                            const IpcToken& token);

}  // namespace divvy::interposer
