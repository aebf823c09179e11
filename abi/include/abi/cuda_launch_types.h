// Structures of kernel launches and of operations that streams do on memory words.
#pragma once

#include "abi/cuda_handles.h"

struct CUaccessPolicyWindow {
  void* base_ptr;
  std::size_t num_bytes;
  float hitRatio;
  CUaccessProperty hitProp;
  CUaccessProperty missProp;
};

struct CUlaunchMemSyncDomainMap {
  unsigned char default_;
  unsigned char remote;
};

// Padded to 64 bytes for good: attributes of newer releases fit without changing the layout.
union CUlaunchAttributeValue {
  char pad[64];
  CUaccessPolicyWindow accessPolicyWindow;
  int cooperative;
  CUsynchronizationPolicy syncPolicy;
  struct {
    unsigned int x;
    unsigned int y;
    unsigned int z;
  } clusterDim;
  CUclusterSchedulingPolicy clusterSchedulingPolicyPreference;
  int programmaticStreamSerializationAllowed;
  struct {
    CUevent event;
    int flags;
    int triggerAtBlockStart;
  } programmaticEvent;
  struct {
    CUevent event;
    int flags;
  } launchCompletionEvent;
  int priority;
  CUlaunchMemSyncDomainMap memSyncDomainMap;
  CUlaunchMemSyncDomain memSyncDomain;
  struct {
    unsigned int x;
    unsigned int y;
    unsigned int z;
  } preferredClusterDim;
  struct {
    int deviceUpdatable;
    CUgraphDeviceNode devNode;
  } deviceUpdatableKernelNode;
  unsigned int sharedMemCarveout;
  unsigned int nvlinkUtilCentricScheduling;
};

struct CUlaunchAttribute {
  CUlaunchAttributeID id;
  char pad[8 - sizeof(CUlaunchAttributeID)];
  CUlaunchAttributeValue value;
};

struct CUlaunchConfig {
  unsigned int gridDimX;
  unsigned int gridDimY;
  unsigned int gridDimZ;
  unsigned int blockDimX;
  unsigned int blockDimY;
  unsigned int blockDimZ;
  unsigned int sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned int numAttrs;
};

// One element of cuLaunchCooperativeKernelMultiDevice's list.
struct CUDA_LAUNCH_PARAMS {
  CUfunction function;
  unsigned int gridDimX;
  unsigned int gridDimY;
  unsigned int gridDimZ;
  unsigned int blockDimX;
  unsigned int blockDimY;
  unsigned int blockDimZ;
  unsigned int sharedMemBytes;
  CUstream hStream;
  void** kernelParams;
};

struct CUstreamMemOpValueParams {
  CUstreamBatchMemOpType operation;
  CUdeviceptr address;
  union {
    cuuint32_t value;
    cuuint64_t value64;
  };
  unsigned int flags;
  CUdeviceptr alias;
};

struct CUstreamMemOpFlagParams {
  CUstreamBatchMemOpType operation;
  unsigned int flags;
};

struct CUstreamMemOpReductionParams {
  CUstreamBatchMemOpType operation;
  unsigned int flags;
  CUstreamAtomicReductionOpType reductionOp;
  CUstreamAtomicReductionDataType dataType;
  CUdeviceptr address;
  cuuint64_t value;
  CUdeviceptr alias;
};

union CUstreamBatchMemOpParams {
  CUstreamBatchMemOpType operation;
  CUstreamMemOpValueParams waitValue;
  CUstreamMemOpValueParams writeValue;
  CUstreamMemOpFlagParams flushRemoteWrites;
  CUstreamMemOpFlagParams memoryBarrier;
  CUstreamMemOpReductionParams atomicReduction;  // since 13.0; larger than the padding
  cuuint64_t pad[6];
};

using CUkernelNodeAttrValue = CUlaunchAttributeValue;
using CUstreamAttrValue = CUlaunchAttributeValue;
