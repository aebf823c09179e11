#include <sstream>

#include "ptx/run.h"

namespace divvy::ptx {
namespace {

const char* nameOf(FaultKind kind) {
  switch (kind) {
    case FaultKind::kNone:
      return "no fault";
    case FaultKind::kIllegalAddress:
      return "illegal address";
    case FaultKind::kMisaligned:
      return "misaligned address";
    case FaultKind::kTrap:
      return "trap";
    case FaultKind::kAssert:
      return "assertion failed";
    case FaultKind::kDeadlock:
      return "every thread waits for another";
    case FaultKind::kStackOverflow:
      return "stack overflow";
    case FaultKind::kIllegalCall:
      return "call to what is no such function";
  }
  return "unknown fault";
}

}  // namespace

std::string Fault::text() const {
  std::ostringstream out;
  out << "line " << line << ": " << nameOf(kind);
  if (kind == FaultKind::kIllegalAddress || kind == FaultKind::kMisaligned) {
    out << " 0x" << std::hex << address;
  }
  return out.str();
}

}  // namespace divvy::ptx
