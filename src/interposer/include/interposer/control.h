// A loaded interposer's report on itself within its process: for tests, benchmarks and debuggers.
// The only name that libdivvy-cuda.so exports in addition to the driver's names and dlopen.
#pragma once

#include <cstdint>

namespace divvy::interposer {

// Fixed layout; later versions only append members. Counters are of this process and only grow.
struct Control {
  std::uint32_t size;         // in: bytes that the caller has room for; out: bytes filled in
  std::uint32_t version;      // major << 16 | minor << 8 | patch
  std::uint8_t build_id[20];  // GNU build id of the library, zero if it has none
  std::uint8_t tenant_state;  // TenantState: 2 none, 3 ready, 4 broken; 0 and 1: not known yet
  std::uint8_t open_status;   // ledger::OpenStatus that caused state 4
  std::uint16_t reserved;
  std::uint32_t devices;           // of the tenant, as this process sees them
  std::uint64_t launches;          // launch-like calls that passed the gate
  std::uint64_t refusals;          // calls that the library answered with out of memory
  std::uint64_t missing_calls;     // calls of entry points that the driver lacks
  std::uint64_t fault_counts[32];  // by Fault (16 and above)
  char driver_path[256];           // empty before the driver is opened
  // At the launch gate. Values that the work page has too are there for the agent.
  std::uint64_t metered;        // launches under a grant
  std::uint64_t captured;       // launches into captures, which pass the gate
  std::uint64_t waits;          // launches that waited for a grant
  std::uint64_t escapes;        // launches admitted because work in flight may depend on them
  std::uint64_t outstanding;    // ns, estimated, in flight
  std::uint32_t ungated;        // 1: the agent seems to have ended, launches are not limited
  std::uint32_t open_captures;  // 1: at least one
  std::uint32_t helper;         // 1: the background thread runs; 2: it could not be created
  std::uint32_t reserved_gate;
  // Where memory can be swapped: examined launches and graphs with arguments that are not all
  // known.
  std::uint64_t unknown_arguments;
  std::uint64_t use_turns;  // times that the limits of hot and cold memory moved
};

}  // namespace divvy::interposer

// Fills at most out->size bytes of *out. Returns 0; -1 if `out` is null or its size is below 8.
// Starts nothing: an unused interposer stays unused.
extern "C" __attribute__((visibility("default"))) int divvy_control(
    divvy::interposer::Control* out);
