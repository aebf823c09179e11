// NVML's structures about a device: identity, memory, samples, events, fabric.
#pragma once

#include "abi/nvml_handles.h"

// What the _v2 and _v3 calls fill in; the first one stops after pciSubSystemId, reads and writes
// only the short bus id, and has four reserved words where the long one stands.
struct nvmlPciInfo_t {
  char busIdLegacy[NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE];
  unsigned int domain;
  unsigned int bus;
  unsigned int device;
  unsigned int pciDeviceId;
  unsigned int pciSubSystemId;
  char busId[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE];
};

struct nvmlPciInfoExt_v1_t {
  unsigned int version;
  unsigned int domain;
  unsigned int bus;
  unsigned int device;
  unsigned int pciDeviceId;
  unsigned int pciSubSystemId;
  unsigned int baseClass;
  unsigned int subClass;
  char busId[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE];
};
using nvmlPciInfoExt_t = nvmlPciInfoExt_v1_t;
inline constexpr unsigned nvmlPciInfoExt_v1 = nvmlStructVersion<nvmlPciInfoExt_v1_t>(1);

struct nvmlExcludedDeviceInfo_t {
  nvmlPciInfo_t pciInfo;
  char uuid[NVML_DEVICE_UUID_BUFFER_SIZE];
};

union nvmlUUIDValue_t {
  char str[41];
  unsigned char bytes[16];
};

struct nvmlUUID_v1_t {
  unsigned int version;
  unsigned int type;  // nvmlUUIDType_t
  nvmlUUIDValue_t value;
};
using nvmlUUID_t = nvmlUUID_v1_t;
inline constexpr unsigned nvmlUUID_v1 = nvmlStructVersion<nvmlUUID_v1_t>(1);

struct nvmlMemory_t {
  unsigned long long total;  // bytes, as all here
  unsigned long long free;
  unsigned long long used;  // includes what the driver reserves
};

struct nvmlMemory_v2_t {
  unsigned int version;
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;  // without `reserved`
};
inline constexpr unsigned nvmlMemory_v2 = nvmlStructVersion<nvmlMemory_v2_t>(2);

struct nvmlBAR1Memory_t {
  unsigned long long bar1Total;
  unsigned long long bar1Free;
  unsigned long long bar1Used;
};

// Since 13.4: limits that the driver itself holds, for a namespace.
struct nvmlSetMemoryLimits_v1_t {
  const char* nameSpace;
  unsigned long long softLimit;
  unsigned long long hardLimit;
};
struct nvmlGetMemoryLimits_v1_t {
  const char* nameSpace;
  unsigned long long softLimit;
  unsigned long long hardLimit;
  unsigned long long currentUsed;
};

struct nvmlUtilization_t {
  unsigned int gpu;  // percent of time
  unsigned int memory;
};

struct nvmlDeviceAttributes_t {
  unsigned int multiprocessorCount;
  unsigned int sharedCopyEngineCount;
  unsigned int sharedDecoderCount;
  unsigned int sharedEncoderCount;
  unsigned int sharedJpegCount;
  unsigned int sharedOfaCount;
  unsigned int gpuInstanceSliceCount;
  unsigned int computeInstanceSliceCount;
  unsigned long long memorySizeMB;
};

struct nvmlEccErrorCounts_t {
  unsigned long long l1Cache;
  unsigned long long l2Cache;
  unsigned long long deviceMemory;
  unsigned long long registerFile;
};

struct nvmlRowRemapperHistogramValues_t {
  unsigned int max;
  unsigned int high;
  unsigned int partial;
  unsigned int low;
  unsigned int none;
};

union nvmlValue_t {
  double dVal;
  int siVal;
  unsigned int uiVal;
  unsigned long ulVal;
  unsigned long long ullVal;
  signed long long sllVal;
  unsigned short usVal;
};

struct nvmlSample_t {
  unsigned long long timeStamp;  // microseconds
  nvmlValue_t sampleValue;
};

struct nvmlFieldValue_t {
  unsigned int fieldId;
  unsigned int scopeId;
  long long timestamp;  // microseconds
  long long latencyUsec;
  nvmlValueType_t valueType;
  nvmlReturn_t nvmlReturn;
  nvmlValue_t value;
};

struct nvmlViolationTime_t {
  unsigned long long referenceTime;
  unsigned long long violationTime;
};

struct nvmlTemperature_v1_t {
  unsigned int version;
  nvmlTemperatureSensors_t sensorType;
  int temperature;  // degrees Celsius
};
using nvmlTemperature_t = nvmlTemperature_v1_t;
inline constexpr unsigned nvmlTemperature_v1 = nvmlStructVersion<nvmlTemperature_v1_t>(1);

struct nvmlEventData_t {
  nvmlDevice_t device;
  unsigned long long eventType;
  unsigned long long eventData;  // the XID, for such an event
  unsigned int gpuInstanceId;
  unsigned int computeInstanceId;
};

struct nvmlGpmSupport_t {
  unsigned int version;
  unsigned int isSupportedDevice;
};

struct nvmlConfComputeMemSizeInfo_t {
  unsigned long long protectedMemSizeKib;
  unsigned long long unprotectedMemSizeKib;
};

struct nvmlGpuFabricInfo_t {
  unsigned char clusterUuid[16];
  nvmlReturn_t status;
  unsigned int cliqueId;
  nvmlGpuFabricState_t state;
};

struct nvmlGpuFabricInfo_v2_t {
  unsigned int version;
  unsigned char clusterUuid[16];
  nvmlReturn_t status;
  unsigned int cliqueId;
  nvmlGpuFabricState_t state;
  unsigned int healthMask;
};

// The caller's `version` says which of v2 and v3 it passes.
struct nvmlGpuFabricInfo_v3_t {
  unsigned int version;
  unsigned char clusterUuid[16];
  nvmlReturn_t status;
  unsigned int cliqueId;
  nvmlGpuFabricState_t state;
  unsigned int healthMask;
  unsigned char healthSummary;
};
using nvmlGpuFabricInfoV_t = nvmlGpuFabricInfo_v3_t;
