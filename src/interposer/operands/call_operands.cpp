#include "operands/call_operands.h"

#include "runtime.h"

namespace divvy::interposer {

void noteLaunchUse(CUfunction function, void* const* params, void* const* extra) {
  runtime().last_use.noteLaunch(function, params, extra);
}

void noteRangeUse(std::uint64_t address, std::uint64_t bytes) {
  runtime().last_use.noteRange(address, bytes);
}

void noteUnknownUse() {
  runtime().last_use.noteUnknown();
}

}  // namespace divvy::interposer
