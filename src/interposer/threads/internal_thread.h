// Threads of ours in the application's process.
#pragma once

namespace divvy::interposer {

// Makes one, with every signal blocked and a small stack: 0, or why there is none. From then on the
// end of the process is watched for, so that none of ours calls a driver that is torn down.
int startOwnThread(void* (*body)(void*), void* argument);

// Registers the exit handler after which a context that ends is not swept. Once per process, when
// it first uses the driver.
void watchContextsAtExit();

// What such a thread does first: its name, and that its calls of the driver are none of the
// application's.
void beginOwnThread(const char* name);

}  // namespace divvy::interposer
