// Included before any other header in every file of the interposer. Binds functions that moved
// within glibc 2.34 to their earlier versions, so that the libraries load on glibc 2.17. On a glibc
// older than 2.34, these versions come from the NEEDED entries for libdl.so.2 and libpthread.so.0
// (CMakeLists.txt).
#pragma once

#if defined(__x86_64__)
#define DIVVY_GLIBC_BASE "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define DIVVY_GLIBC_BASE "GLIBC_2.17"
#endif

#define DIVVY_BIND_TO_BASE(name) __asm__(".symver " name "," name "@" DIVVY_GLIBC_BASE)

DIVVY_BIND_TO_BASE("dlopen");
DIVVY_BIND_TO_BASE("dlclose");
DIVVY_BIND_TO_BASE("dlsym");
DIVVY_BIND_TO_BASE("dlerror");
DIVVY_BIND_TO_BASE("dladdr");
DIVVY_BIND_TO_BASE("pthread_attr_setstacksize");
DIVVY_BIND_TO_BASE("pthread_create");
DIVVY_BIND_TO_BASE("pthread_key_create");
DIVVY_BIND_TO_BASE("pthread_setspecific");

#undef DIVVY_BIND_TO_BASE
