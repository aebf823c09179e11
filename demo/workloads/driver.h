// The CUDA driver API as the demo's programs use it: found at run time, like any program that
// ships without the driver. Own declarations; names and signatures are those of NVIDIA's CUDA
// Driver API reference. Nothing here knows of Divvy.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st* CUcontext;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct CUstream_st* CUstream;
typedef struct CUevent_st* CUevent;

enum { kSuccess = 0, kOutOfMemory = 2 };  // CUDA_SUCCESS, CUDA_ERROR_OUT_OF_MEMORY

struct Driver {
  CUresult (*init)(unsigned flags);
  CUresult (*deviceGet)(CUdevice* device, int ordinal);
  CUresult (*deviceGetName)(char* name, int length, CUdevice device);
  CUresult (*primaryCtxRetain)(CUcontext* context, CUdevice device);
  CUresult (*ctxSetCurrent)(CUcontext context);
  CUresult (*ctxSynchronize)(void);
  CUresult (*memGetInfo)(size_t* free_bytes, size_t* total_bytes);
  CUresult (*memAlloc)(CUdeviceptr* pointer, size_t bytes);
  CUresult (*memFree)(CUdeviceptr pointer);
  CUresult (*copyHtoD)(CUdeviceptr to, const void* from, size_t bytes);
  CUresult (*copyDtoH)(void* to, CUdeviceptr from, size_t bytes);
  CUresult (*copyDtoD)(CUdeviceptr to, CUdeviceptr from, size_t bytes);
  CUresult (*moduleLoadData)(CUmodule* module, const void* image);
  CUresult (*moduleGetFunction)(CUfunction* function, CUmodule module, const char* name);
  CUresult (*eventCreate)(CUevent* event, unsigned flags);
  CUresult (*eventRecord)(CUevent event, CUstream stream);
  CUresult (*eventSynchronize)(CUevent event);
  CUresult (*launchKernel)(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                           unsigned by, unsigned bz, unsigned shared, CUstream stream,
                           void** params, void** extra);
};

// The driver with a context current on the first device. Ends the program with status 1 and a line
// on stderr when there is none.
struct Driver openDriver(void);

// Ends the program with status 1 and a line on stderr unless `result` is success.
void must(CUresult result, const char* what);
