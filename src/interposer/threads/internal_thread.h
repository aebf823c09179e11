// The library's own threads in the application's process.
#pragma once

namespace divvy::interposer {

// Creates a thread with all signals blocked and a small stack. Returns 0, or the error number. Also
// registers an exit handler, so that no such thread calls a driver that is being torn down.
int startOwnThread(void* (*body)(void*), void* argument);

// Registers the exit handler after which contexts that end are not swept. To be called at the
// process's first use of the driver; registers once.
void watchContextsAtExit();

// To be called first by such a thread. Sets its name and marks its driver calls as not the
// application's.
void beginOwnThread(const char* name);

}  // namespace divvy::interposer
