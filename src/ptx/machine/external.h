// Functions that the system has, not the text.
#pragma once

#include "machine/thread.h"

namespace divvy::ptx {

// Calls one; false after a fault.
bool callExternal(const Inst& inst, Thread& thread, const CallSite& site, External which);

}  // namespace divvy::ptx
