// Structures about devices, contexts, parts of a device, and process checkpoints.
#pragma once

#include "abi/cuda_memory_types.h"

struct CUdevprop {
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int sharedMemPerBlock;
  int totalConstantMemory;
  int SIMDWidth;
  int memPitch;
  int regsPerBlock;
  int clockRate;
  int textureAlign;
};

struct CUexecAffinitySmCount {
  unsigned int val;
};

struct CUexecAffinityParam {
  CUexecAffinityType type;
  union {
    CUexecAffinitySmCount smCount;
  } param;
};

struct CUctxCigParam {
  CUcigDataType sharedDataType;
  void* sharedData;
};

struct CUctxCreateParams {
  CUexecAffinityParam* execAffinityParams;
  int numExecAffinityParams;
  CUctxCigParam* cigParams;
};

struct CUstreamCigParam {
  CUstreamCigDataType streamSharedDataType;
  void* streamSharedData;
};

struct CUstreamCigCaptureParams {
  CUstreamCigParam* streamCigParams;
};

struct CUlibraryHostUniversalFunctionAndDataTable {
  void* functionTable;
  std::size_t functionWindowSize;
  void* dataTable;
  std::size_t dataWindowSize;
};

struct CUasyncNotificationInfo {
  CUasyncNotificationType type;
  union {
    struct {
      unsigned long long bytesOverBudget;
    } overBudget;
  } info;
};
using CUasyncCallback = void (*)(CUasyncNotificationInfo* info, void* userData,
                                 CUasyncCallbackHandle callback);

struct CUdevSmResource {
  unsigned int smCount;
  unsigned int minSmPartitionSize;
  unsigned int smCoscheduledAlignment;
  unsigned int flags;
  unsigned int localityDomainId;
};

struct CUdevResource {
  CUdevResourceType type;
  unsigned char _internal_padding[92];
  union {
    CUdevSmResource sm;
    unsigned char _oversize[40];
  };
  CUdevResource* nextResource;  // since 13.1; reserved bytes before
};

struct CU_DEV_SM_RESOURCE_GROUP_PARAMS {
  unsigned int smCount;
  unsigned int coscheduledSmCount;
  unsigned int preferredCoscheduledSmCount;
  unsigned int flags;
  unsigned int localityDomainId;
  unsigned int reserved[11];
};

struct CUcliqueInfo {
  CUcliqueType type;
  unsigned int id;
};

struct CUlogicalEndpointProp {
  CUlogicalEndpointType type;
  union {
    struct {
      CUdevice device;
    } unicast;
    struct {
      unsigned int numDevices;
    } multicast;
  };
  unsigned long long size;
  unsigned int ipcHandleTypes;
  unsigned int flags;
};

struct CUcheckpointLockArgs {
  unsigned int timeoutMs;  // 0 waits without bound
  unsigned int reserved0;
  cuuint64_t reserved1[7];
};

struct CUcheckpointGpuPair {
  CUuuid oldUuid;
  CUuuid newUuid;
};

// The custom-storage members came with CUDA 13.4; reserved and zero before.
struct CUcheckpointCustomStorageInfo;

struct CUcheckpointCheckpointArgs {
  CUcheckpointCustomStorageInfo** customStorageInfo_out;
  char reserved[56];
};

struct CUcheckpointRestoreArgs {
  CUcheckpointGpuPair* gpuPairs;
  unsigned int gpuPairsCount;
  unsigned int padding0;
  CUcheckpointCustomStorageInfo** customStorageInfo_out;
  char reserved[40];
};

struct CUcheckpointUnlockArgs {
  cuuint64_t reserved[8];
};
