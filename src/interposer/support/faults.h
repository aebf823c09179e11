// Failures inside the library that no call returns, by name. Written to the tenant's report page
// and kept in the process for divvy_control.
#pragma once

#include <cstdint>

namespace divvy::interposer {

// The ledger's own codes end below 16; see ledger/fault.h. Values never change their meaning.
enum class Fault : std::uint32_t {
  kPagesUnusable = 16,   // the tenant directory cannot be used; detail: ledger::OpenStatus
  kForeignDevice = 17,   // a device that is not the tenant's was requested; detail: CUdevice
  kUncounted = 18,       // memory consumed without a known device; detail: bytes
  kBlockForgotten = 19,  // no memory to record a block, which stays charged; detail: bytes
  kPoolOutgrew = 20,     // a pool grew more than was admitted; detail: bytes
  kGraphOutgrew = 21,    // graph memory grew more than was admitted; detail: bytes
  kUnknownName = 22,     // cuGetProcAddress of a name newer than our list; arg: hash of the name
  kIpcRefused = 23,      // memory not exported to, or imported from, a process; detail: address
  kUnknownVersion = 24,  // a structure of unknown version was passed on; detail: version
  kPoolUnknown = 25,     // refused: more pools than the tracker holds; detail: bytes
  kNoHelper = 26,        // no background thread: launching threads do its work; detail: errno
  kNoWorkLine = 27,      // no line in the work page (any more): this process runs ungated
  // the agent seems to have ended: ungated until it returns; detail: seq, arg: beat
  kAgentSilent = 28,
  kGateEscaped = 29,   // work in flight did not shrink: a launch passed; detail: ns in flight
  kSwapUnusable = 30,  // memory cannot be swapped: no pages (detail 1: lost them), or the driver
  kSwapRefused = 31,   // an agent's order cannot be carried out; detail: SwapRefusal, arg: bytes
};
inline constexpr unsigned kFaultCodes = 32;

// Counts the fault; `site` is the entry point (abi::Cu). Any thread and signal handler.
void noteFault(Fault fault, std::uint32_t site, std::uint64_t detail = 0, std::uint64_t arg = 0);

}  // namespace divvy::interposer
