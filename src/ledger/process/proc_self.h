// Who we are and which boot this is, read without libc's streams.
#pragma once

#include "ledger/packed_words.h"

namespace divvy::ledger {

// Our pid and start time in our own pid namespace. start is 0 where /proc cannot be read and in a
// time namespace, which shows another start time inside than outside.
Owner readSelf();

// A number that differs between the program images a process runs one after the other by exec, and
// is the same for all copies of this code in one image. 0: unknown.
std::uint64_t readExecId();

// Start time in the text of a /proc/PID/stat; 0 where the text is not of that form. A process name
// may hold spaces and parentheses: fields are counted from the last ')'.
std::uint64_t parseStartTime(const char* text, std::size_t size);

// The kernel's boot id as 16 bytes. False where /proc cannot be read.
bool readBootId(char (&id)[16]);

}  // namespace divvy::ledger
