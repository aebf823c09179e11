#include "interposer/control.h"

#include <elf.h>

#include "runtime.h"
#include "threads/thread_state.h"

// The start of this library in memory, defined by the linker.
extern "C" {
extern __attribute__((visibility("hidden"))) const Elf64_Ehdr __ehdr_start;
}

namespace divvy::interposer {
namespace {

constexpr std::uint32_t kVersion =
    DIVVY_VERSION_MAJOR << 16 | DIVVY_VERSION_MINOR << 8 | DIVVY_VERSION_PATCH;

// The note is in the library's first segment, so its offset in memory is that in the file.
void copyBuildId(std::uint8_t (&out)[20]) {
  const auto* base = reinterpret_cast<const char*>(&__ehdr_start);
  const auto* headers = reinterpret_cast<const Elf64_Phdr*>(base + __ehdr_start.e_phoff);
  for (unsigned i = 0; i < __ehdr_start.e_phnum; ++i) {
    if (headers[i].p_type != PT_NOTE) continue;
    const char* at = base + headers[i].p_vaddr;
    const char* end = at + headers[i].p_memsz;
    while (end - at >= static_cast<long>(sizeof(Elf64_Nhdr))) {
      const auto* note = reinterpret_cast<const Elf64_Nhdr*>(at);
      const char* body = at + sizeof *note + ((note->n_namesz + 3) & ~3u);
      if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz == sizeof out &&
          ::memcmp(at + sizeof *note, "GNU", 4) == 0) {
        ::memcpy(out, body, sizeof out);
        return;
      }
      at = body + ((note->n_descsz + 3) & ~3u);
    }
  }
}

void fillGate(Control* full) {
  const Runtime& state = runtime();
  full->metered = countedMetered();
  full->captured = state.gate.captured();
  full->outstanding = state.meter.usage().unsettled();
  full->ungated = state.gate.ungated() ? 1 : 0;
  full->open_captures = state.captures.open() ? 1 : 0;
  full->helper = state.gate.background().missing() ? 2 : state.gate.background().running() ? 1 : 0;
  if (!state.gate.board().claimed()) return;
  full->waits = ledger::loadRelaxed(state.gate.board().line().waits);
  full->escapes = ledger::loadRelaxed(state.gate.board().line().escapes);
}

void fill(Control* full) {
  Runtime& state = runtime();
  full->version = kVersion;
  copyBuildId(full->build_id);
  full->tenant_state = static_cast<std::uint8_t>(state.tenant.known());
  full->open_status = static_cast<std::uint8_t>(state.tenant.openStatus());
  if (const DeviceTable* table = state.devices.known()) {
    full->devices = static_cast<std::uint32_t>(table->count);
  }
  full->launches = countedFree() + countedExempt() + countedMetered();
  full->refusals = state.refusals.load(std::memory_order_relaxed);
  full->missing_calls = state.driver.missingCalls();
  for (unsigned i = 0; i < kFaultCodes; ++i) {
    full->fault_counts[i] = state.fault_counts[i].load(std::memory_order_relaxed);
  }
  full->unknown_arguments = state.last_use.unknown();
  full->use_turns = state.last_use.turns();
  fillGate(full);
  ::strncpy(full->driver_path, state.driver.path(), sizeof full->driver_path - 1);
}

}  // namespace
}  // namespace divvy::interposer

int divvy_control(divvy::interposer::Control* out) {
  using divvy::interposer::Control;
  if (out == nullptr || out->size < 2 * sizeof(std::uint32_t)) return -1;
  Control full{};
  divvy::interposer::fill(&full);
  full.size = out->size < sizeof full ? out->size : static_cast<std::uint32_t>(sizeof full);
  ::memcpy(out, &full, full.size);
  return 0;
}
