// The part of the CUDA driver API that busy.c and swapper.c use, found at run time. Own
// declarations; names and signatures are those of NVIDIA's CUDA Driver API reference.
#pragma once

#include <stddef.h>

typedef unsigned long long CUdeviceptr;
typedef void* Handle;  // context, module, function, stream, event, graph

enum {
  kMaxDevices = 4,
  kNonBlocking = 1,   // CU_STREAM_NON_BLOCKING
  kAttachGlobal = 1,  // CU_MEM_ATTACH_GLOBAL
  kBlockingSync = 1,  // CU_EVENT_BLOCKING_SYNC
  kCaptureGlobal = 0,
  kCaptureRelaxed = 2,
  kLazyPeerAccess = 1,     // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
  kPortableDeviceMap = 3,  // CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP
};

// CUipcMemHandle
struct IpcName {
  unsigned char bytes[64];
};

struct Entries {
  int (*init)(unsigned);
  int (*deviceGet)(int*, int);
  int (*primaryRetain)(Handle*, int);
  int (*ctxCreate)(Handle*, unsigned, int);
  int (*ctxDestroy)(Handle);
  int (*ctxSetCurrent)(Handle);
  int (*ctxSynchronize)(void);
  int (*memAlloc)(CUdeviceptr*, size_t);
  int (*memAllocManaged)(CUdeviceptr*, size_t, unsigned);
  int (*memFree)(CUdeviceptr);
  int (*copyHtoD)(CUdeviceptr, const void*, size_t);
  int (*copyDtoH)(void*, CUdeviceptr, size_t);
  int (*copyHtoDAsync)(CUdeviceptr, const void*, size_t, Handle);
  int (*ipcGet)(struct IpcName*, CUdeviceptr);
  int (*ipcOpen)(CUdeviceptr*, struct IpcName, unsigned);
  int (*hostRegister)(void*, size_t, unsigned);
  int (*hostDevicePointer)(CUdeviceptr*, void*, unsigned);
  int (*moduleLoadData)(Handle*, const void*);
  int (*moduleGetFunction)(Handle*, Handle, const char*);
  int (*launchKernel)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      Handle, void**, void**);
  int (*streamCreate)(Handle*, unsigned);
  int (*streamSynchronize)(Handle);
  int (*streamBeginCapture)(Handle, int);
  int (*streamEndCapture)(Handle, Handle*);
  int (*exchangeCaptureMode)(int*);
  int (*eventCreate)(Handle*, unsigned);
  int (*eventRecord)(Handle, Handle);
  int (*eventSynchronize)(Handle);
  int (*graphInstantiate)(Handle*, Handle, unsigned long long);
  int (*graphLaunch)(Handle, Handle);
  int (*graphDestroy)(Handle);
};

// A context with the kernels that are needed, on one device.
struct Place {
  Handle context, spin, until, fill, add;
  unsigned blocks, threads;  // of launches that touch much memory
};

extern struct Entries cu;

// Binds all entries and initialises the driver. 0, or a driver error code.
int bindDriver(void);
// Loads the kernels into place->context, which is current: those that the simulated card has, else
// as PTX. 0, or a driver error code.
int loadKernels(struct Place* place);

// Launches. 0, or a driver error code. Times are of the card.
int launchSpin(const struct Place* place, Handle stream, unsigned long long us);
int launchUntil(const struct Place* place, Handle stream, CUdeviceptr flag);  // until it is 1
// Adds `value` to `count` words.
int launchAdd(const struct Place* place, Handle stream, CUdeviceptr words, unsigned long long count,
              unsigned value);
int launchSet(const struct Place* place, Handle stream, CUdeviceptr flag);  // to 1
