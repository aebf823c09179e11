// A tenant's files with arbitrary bytes in them, given to everything that reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace divvy::ledger {

// `data` is a list of edits to the files of a tenant in the middle of its life (processes with
// bytes in use and spare, operations cut off, faults): 12 bytes each, little-endian,
//   what (1): bits 0-1 file and action: 0 set 8 bytes of control, 1 set 8 bytes of report,
//             2 flip bit (value mod 64) of 8 bytes of report, 3 truncate report to offset
//   offset (3): in units of 8 bytes, wrapped to the interesting part of the file
//   value (8)
// A rest shorter than an edit is ignored. Both halves of the ledger then do all they can with the
// files. Returns what they did wrong: a value outside its bounds, a slot that cannot be reaped or
// retired; empty when nothing. Crashes and hangs are for the caller's tools to see.
std::string judgeHostilePages(const std::uint8_t* data, std::size_t size);

}  // namespace divvy::ledger
