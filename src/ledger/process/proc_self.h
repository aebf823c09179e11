// Identity of this process and of this boot, read without libc's streams.
#pragma once

#include "ledger/packed_words.h"

namespace divvy::ledger {

// Returns this process's pid and start time in its own pid namespace. `start` is 0 where /proc
// cannot be read, and in a time namespace, where the start time differs inside and outside.
Owner readSelf();

// A number that differs between the program images that a process runs in sequence by exec. It is
// the same for all copies of this code in one image. 0: unknown.
std::uint64_t readExecId();

// Start time in the text of a /proc/PID/stat; 0 if the text has another form. A process name may
// hold spaces and parentheses, so fields are counted from the last ')'.
std::uint64_t parseStartTime(const char* text, std::size_t size);

// Reads the kernel's boot ID as 16 bytes. Returns false if /proc cannot be read.
bool readBootId(char (&id)[16]);

}  // namespace divvy::ledger
