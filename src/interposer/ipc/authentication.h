// How two processes, of which one is to have memory of the other, show each other that both are of
// one tenant, or of one pod: by numbers that only who can read that tenant's pages can make. They
// follow from what both drew for this once, so that whoever hears them can do nothing with them.
#pragma once

#include <cstdint>

#include "ipc/token.h"
#include "ledger/siphash.h"

namespace divvy::interposer {

// That of this process's tenant. Zero, which everybody has: it has none, as outside of containers.
ledger::SipKey ipcKey();

// By the exporter that listens at `server`; `nonce`: its own.
std::uint64_t exporterProof(const ledger::SipKey& key, const IpcHello& hello, std::uint64_t nonce,
                            std::uint64_t server);
// By the importer, of just that block of just that exporter.
std::uint64_t importerProof(const ledger::SipKey& key, const IpcHello& hello, std::uint64_t nonce,
                            const IpcToken& token);

}  // namespace divvy::interposer
