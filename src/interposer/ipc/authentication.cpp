#include "ipc/authentication.h"

#include "runtime.h"

namespace divvy::interposer {
namespace {

// So that the tags of both sides differ.
enum class Side : std::uint64_t { kExporter = 1, kImporter = 2 };

constexpr unsigned kTokenWords = sizeof(IpcToken) / sizeof(std::uint64_t);

ledger::SipKey keyIn(const ledger::SwapPages& pages) {
  const ledger::ResidencyHeader& header = pages.residency().header;
  return {{header.ipc_key[0], header.ipc_key[1]}};
}

}  // namespace

ledger::SipKey ipcKey() {
  Runtime& state = runtime();
  if (state.swap_board.claimed()) return keyIn(state.swap_board.pages());
  const char* dir = ledger::findTenantDir();
  ledger::SwapPages pages;
  if (!state.tenant.ready() || dir == nullptr ||
      ledger::SwapPages::open(dir, state.tenant.control().header, &pages) !=
          ledger::OpenStatus::kOk) {
    return {};
  }
  const ledger::SipKey key = keyIn(pages);
  pages.close();
  return key;
}

std::uint64_t exporterProof(const ledger::SipKey& key, const IpcHello& hello, std::uint64_t nonce,
                            std::uint64_t server) {
  const std::uint64_t words[] = {static_cast<std::uint64_t>(Side::kExporter), hello.nonce, nonce,
                                 server};
  return ledger::sipHash(key, words, sizeof words / sizeof *words);
}

std::uint64_t importerProof(const ledger::SipKey& key, const IpcHello& hello, std::uint64_t nonce,
                            const IpcToken& token) {
  std::uint64_t words[3 + kTokenWords] = {static_cast<std::uint64_t>(Side::kImporter), hello.nonce,
                                          nonce};
  __builtin_memcpy(words + 3, &token, sizeof token);
  return ledger::sipHash(key, words, sizeof words / sizeof *words);
}

}  // namespace divvy::interposer
