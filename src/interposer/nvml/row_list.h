// The driver's lists of processes, read as a whole and reduced to the tenant's own rows.
#pragma once

#include "abi/nvml_types.h"
#include "nvml/tenant_processes.h"

namespace divvy::interposer {

// Reads a list of unknown length. `ask(count, rows)` calls the driver with NVML's convention:
// `count` holds the capacity before the call. After it, `count` holds the number of rows, or with
// NVML_ERROR_INSUFFICIENT_SIZE the number needed. Returns NVML_ERROR_MEMORY if there is no memory
// for the list.
template <typename Row, typename Ask>
nvmlReturn_t readWhole(MmapBuffer<Row>& list, unsigned* count, Ask ask) {
  for (unsigned capacity = kUsualRows; capacity <= kMaxRows; capacity *= 4) {
    if (!list.grow(capacity)) return NVML_ERROR_MEMORY;
    *count = capacity;
    const nvmlReturn_t result = ask(count, list.rows());
    if (result == NVML_ERROR_INSUFFICIENT_SIZE) continue;
    if (*count > capacity) *count = capacity;
    return result;
  }
  return NVML_ERROR_MEMORY;
}

// Moves the rows of own processes to the front, with the pids that the tenant knows. Returns their
// number. `pid_of(row)` returns a reference to a row's pid.
template <typename Row, typename PidOf>
unsigned keepOwn(const TenantProcesses& own, Row* rows, unsigned count, PidOf pid_of) {
  const PidTranslator translator(own, count, [&](unsigned i) { return pid_of(rows[i]); });
  unsigned kept = 0;
  for (unsigned i = 0; i < count; ++i) {
    const TenantProcess* process = translator.find(pid_of(rows[i]));
    if (process == nullptr) continue;
    rows[kept] = rows[i];
    pid_of(rows[kept]) = process->pid;
    ++kept;
  }
  return kept;
}

// Copies `kept` rows to a caller that has room for *count rows, and stores `kept` in *count.
template <typename Row>
nvmlReturn_t deliver(const Row* rows, unsigned kept, unsigned* count, Row* out) {
  const bool fits = out != nullptr && kept <= *count;
  for (unsigned i = 0; fits && i < kept; ++i) out[i] = rows[i];
  *count = kept;
  return fits || kept == 0 ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

}  // namespace divvy::interposer
