// What a loaded interposer tells about itself, to whoever runs in the same process: tests, benches,
// people with a debugger. The only name that libdivvy-cuda.so exports beside the driver's and
// dlopen.
#pragma once

#include <cstdint>

namespace divvy::interposer {

// Fixed layout; later versions only append. Counters are of this process and only grow.
struct Control {
  std::uint32_t size;         // in: room that the caller has; out: bytes that were filled in
  std::uint32_t version;      // major << 16 | minor << 8 | patch
  std::uint8_t build_id[20];  // GNU build id of the library, zero if it has none
  std::uint8_t tenant_state;  // TenantState: 2 none, 3 ready, 4 broken; 0 and 1: not known yet
  std::uint8_t open_status;   // ledger::OpenStatus that made the state 4
  std::uint16_t reserved;
  std::uint32_t devices;           // of the tenant, as this process sees them
  std::uint64_t launches;          // launch-like calls that passed the gate
  std::uint64_t refusals;          // calls that were answered with out-of-memory by us
  std::uint64_t missing_calls;     // calls of entry points that the driver lacks
  std::uint64_t fault_counts[32];  // by Fault (16 and above)
  char driver_path[256];           // empty before the driver was opened
  // At the gate. Those that the work page has too are there for the agent.
  std::uint64_t metered;        // launches under a grant
  std::uint64_t captured;       // launches into captures, which the gate lets pass
  std::uint64_t waits;          // launches that had to wait for a grant
  std::uint64_t escapes;        // launches let go because work in flight may depend on them
  std::uint64_t outstanding;    // ns, estimated, in flight
  std::uint32_t ungated;        // 1: the agent seemed gone, nobody arbitrates
  std::uint32_t open_captures;  // 1: at least one
  std::uint32_t helper;         // 1: our thread runs, 2: none could be made
  std::uint32_t reserved_gate;
  // Where memory can be swapped: launches that were looked at and of whose arguments not all is
  // known.
  std::uint64_t unknown_arguments;
  std::uint64_t use_turns;  // times that it was decided anew what of its memory is hot and cold
};

}  // namespace divvy::interposer

// Fills *out, at most out->size bytes of it. 0, or -1 if out is null or its size is below 8. Starts
// nothing: an interposer that did nothing yet is left so.
extern "C" __attribute__((visibility("default"))) int divvy_control(
    divvy::interposer::Control* out);
