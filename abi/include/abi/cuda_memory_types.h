// Structures of the CUDA driver's memory calls: locations, handles, pools, IPC and multicast.
// Layouts follow CUDA 13.x; sizes are the same back to the release that introduced each one.
#pragma once

#include "abi/cuda_handles.h"

struct CUipcEventHandle {
  char reserved[64];
};
struct CUipcMemHandle {
  char reserved[64];
};
struct CUmemFabricHandle {
  unsigned char data[64];
};
struct CUmemPoolPtrExportData {
  unsigned char reserved[64];
};

struct CUmemLocation {
  CUmemLocationType type;
  union {
    int id;  // device ordinal or NUMA node, by type
    struct {
      unsigned char deviceId;
      unsigned char localityDomainId;
    } localized;
  };
};

struct CUmemAccessDesc {
  CUmemLocation location;
  CUmemAccess_flags flags;
};

struct CUmemAllocationProp {
  CUmemAllocationType type;
  CUmemAllocationHandleType requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  struct {
    unsigned char compressionType;
    unsigned char gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];
  } allocFlags;
};

struct CUmemPoolProps {
  CUmemAllocationType allocType;
  CUmemAllocationHandleType handleTypes;
  CUmemLocation location;
  void* win32SecurityAttributes;
  std::size_t maxSize;  // bytes; 0 is the driver's own bound
  unsigned short usage;
  unsigned char gpuDirectRDMACapable;
  unsigned char reserved[53];
};

struct CUmulticastObjectProp {
  unsigned int numDevices;
  std::size_t size;
  unsigned long long handleTypes;
  unsigned long long flags;
};

struct CUmemDecompressParams {
  std::size_t srcNumBytes;
  std::size_t dstNumBytes;
  cuuint32_t* dstActBytes;
  const void* src;
  void* dst;
  CUmemDecompressAlgorithm algo;
  unsigned char padding[20];
};

struct CUDA_POINTER_ATTRIBUTE_P2P_TOKENS {
  unsigned long long p2pToken;
  unsigned int vaSpaceToken;
};

using CUipcEventHandle_v1 = CUipcEventHandle;
using CUipcMemHandle_v1 = CUipcMemHandle;
using CUmemLocation_v1 = CUmemLocation;
using CUmemAccessDesc_v1 = CUmemAccessDesc;
using CUmemAllocationProp_v1 = CUmemAllocationProp;
using CUmemPoolProps_v1 = CUmemPoolProps;
