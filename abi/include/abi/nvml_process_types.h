// NVML's structures about processes and their use of a device.
#pragma once

#include "abi/nvml_handles.h"

struct nvmlProcessInfo_v1_t {
  unsigned int pid;
  unsigned long long usedGpuMemory;  // bytes, or NVML_VALUE_NOT_AVAILABLE
};

// Also what the _v3 calls fill in.
struct nvmlProcessInfo_v2_t {
  unsigned int pid;
  unsigned long long usedGpuMemory;
  unsigned int gpuInstanceId;      // all ones outside MIG
  unsigned int computeInstanceId;  // all ones outside MIG
};
using nvmlProcessInfo_t = nvmlProcessInfo_v2_t;

struct nvmlProcessDetail_v1_t {
  unsigned int pid;
  unsigned long long usedGpuMemory;
  unsigned int gpuInstanceId;
  unsigned int computeInstanceId;
  unsigned long long usedGpuCcProtectedMemory;
};

struct nvmlProcessDetailList_v1_t {
  unsigned int version;
  unsigned int mode;                 // nvmlProcessMode_t
  unsigned int numProcArrayEntries;  // in: room; out: entries
  nvmlProcessDetail_v1_t* procArray;
};
using nvmlProcessDetailList_t = nvmlProcessDetailList_v1_t;
inline constexpr unsigned nvmlProcessDetailList_v1 =
    nvmlStructVersion<nvmlProcessDetailList_v1_t>(1);

struct nvmlProcessUtilizationSample_t {
  unsigned int pid;
  unsigned long long timeStamp;  // microseconds
  unsigned int smUtil;           // percent, as all below
  unsigned int memUtil;
  unsigned int encUtil;
  unsigned int decUtil;
};

struct nvmlProcessUtilizationInfo_v1_t {
  unsigned long long timeStamp;
  unsigned int pid;
  unsigned int smUtil;
  unsigned int memUtil;
  unsigned int encUtil;
  unsigned int decUtil;
  unsigned int jpgUtil;
  unsigned int ofaUtil;
};

struct nvmlProcessesUtilizationInfo_v1_t {
  unsigned int version;
  unsigned int processSamplesCount;  // in: room; out: entries
  unsigned long long lastSeenTimeStamp;
  nvmlProcessUtilizationInfo_v1_t* procUtilArray;
};
using nvmlProcessesUtilizationInfo_t = nvmlProcessesUtilizationInfo_v1_t;
inline constexpr unsigned nvmlProcessesUtilizationInfo_v1 =
    nvmlStructVersion<nvmlProcessesUtilizationInfo_v1_t>(1);

struct nvmlAccountingStats_t {
  unsigned int gpuUtilization;
  unsigned int memoryUtilization;
  unsigned long long maxMemoryUsage;
  unsigned long long time;       // milliseconds
  unsigned long long startTime;  // microseconds
  unsigned int isRunning;
  unsigned int reserved[5];
};

struct nvmlAccountingStats_v2_t {
  unsigned int pid;
  unsigned int isRunning;
  unsigned int gpuUtilization;
  unsigned int memoryUtilization;
  unsigned long long maxMemoryUsage;
  unsigned int sampleCount;
  unsigned long long sumGpuUtil;
  unsigned long long sumFbUtil;
  unsigned long long time;
  unsigned long long startTime;
};

struct nvmlEncoderSessionInfo_t {
  unsigned int sessionId;
  unsigned int pid;
  nvmlVgpuInstance_t vgpuInstance;
  nvmlEncoderType_t codecType;
  unsigned int hResolution;
  unsigned int vResolution;
  unsigned int averageFps;
  unsigned int averageLatency;
};

struct nvmlFBCStats_t {
  unsigned int sessionsCount;
  unsigned int averageFPS;
  unsigned int averageLatency;
};

struct nvmlFBCSessionInfo_t {
  unsigned int sessionId;
  unsigned int pid;
  nvmlVgpuInstance_t vgpuInstance;
  unsigned int displayOrdinal;
  nvmlFBCSessionType_t sessionType;
  unsigned int sessionFlags;
  unsigned int hMaxResolution;
  unsigned int vMaxResolution;
  unsigned int hResolution;
  unsigned int vResolution;
  unsigned int averageFPS;
  unsigned int averageLatency;
};
