// What entry points answer where a pointer is NULL. null_probe calls every one of them with each of
// its pointers NULL in turn; nothing may crash.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "driver_process.h"

namespace divvy::simgpu {
namespace {

// Where a row comes from.
enum class Source {
  kMeasured,    // a driver of NVIDIA's answered so (issue 27)
  kDocumented,  // cuda.h of CUDA 12.9 says that the parameter can be NULL, or what NULL gives
  kListed,      // cuda.h lists the code for the call, and says nothing of NULL
  kUnstated,    // cuda.h does not say; the simulated driver takes NULL for "not wanted" or "none"
  kOtherFirst,  // another argument of the probe is refused first: the row holds that nothing
                // crashes
};

struct Row {
  const char* entry;
  std::vector<int> parameters;  // indices
  CUresult code;
  Source source;
};

// What differs from byDefault().

const std::vector<Row> kRows = {
    {"cuMemFreeHost", {0}, CUDA_SUCCESS, Source::kMeasured},
    {"cuMemHostUnregister", {0}, CUDA_ERROR_INVALID_VALUE, Source::kMeasured},
    {"cuCtxSetCurrent", {0}, CUDA_SUCCESS, Source::kDocumented},
    {"cuCtxGetId", {0}, CUDA_SUCCESS, Source::kDocumented},
    {"cuCtxGetApiVersion", {0}, CUDA_SUCCESS, Source::kDocumented},
    {"cuCtxGetStreamPriorityRange", {0, 1}, CUDA_SUCCESS, Source::kDocumented},
    {"cuKernelGetName", {1}, CUDA_ERROR_INVALID_VALUE, Source::kDocumented},
    {"cuKernelGetParamInfo", {0}, CUDA_ERROR_INVALID_VALUE, Source::kDocumented},
    {"cuLinkComplete", {2}, CUDA_SUCCESS, Source::kDocumented},
    {"cuFuncGetName", {1}, CUDA_ERROR_INVALID_VALUE, Source::kDocumented},
    {"cuFuncGetParamInfo", {0}, CUDA_ERROR_INVALID_VALUE, Source::kDocumented},
    {"cuOccupancyMaxPotentialBlockSize", {3}, CUDA_SUCCESS, Source::kDocumented},
    {"cuOccupancyMaxPotentialBlockSizeWithFlags", {3}, CUDA_SUCCESS, Source::kDocumented},
    {"cuMemGetAddressRange_v2", {0, 1}, CUDA_SUCCESS, Source::kDocumented},
    {"cuStreamGetCaptureInfo", {2}, CUDA_SUCCESS, Source::kDocumented},
    {"cuStreamGetCaptureInfo_v2", {2, 3, 4, 5}, CUDA_SUCCESS, Source::kDocumented},
    {"cuStreamGetCaptureInfo_v3", {2, 3, 4, 5, 6}, CUDA_SUCCESS, Source::kDocumented},
    {"cuLaunchKernel", {10}, CUDA_SUCCESS, Source::kDocumented},
    {"cuLaunchCooperativeKernel", {9}, CUDA_SUCCESS, Source::kDocumented},
    {"cuLaunchHostFunc", {2}, CUDA_SUCCESS, Source::kDocumented},
    {"cuLaunchHostFunc_v2", {2}, CUDA_SUCCESS, Source::kDocumented},
    {"cuGraphGetNodes", {1}, CUDA_SUCCESS, Source::kDocumented},
    {"cuGraphGetRootNodes", {1}, CUDA_SUCCESS, Source::kDocumented},
    {"cuGraphGetEdges_v2", {3}, CUDA_SUCCESS, Source::kDocumented},
    {"cuGraphNodeGetDependencies", {1}, CUDA_SUCCESS, Source::kDocumented},
    {"cuGraphNodeGetDependencies_v2", {1, 2}, CUDA_SUCCESS, Source::kDocumented},
    {"cuGraphNodeGetDependentNodes", {1}, CUDA_SUCCESS, Source::kDocumented},
    {"cuGraphNodeGetDependentNodes_v2", {1, 2}, CUDA_SUCCESS, Source::kDocumented},
    {"cuUserObjectCreate", {1}, CUDA_SUCCESS, Source::kDocumented},
    {"cuCtxPushCurrent", {0}, CUDA_ERROR_INVALID_CONTEXT, Source::kListed},
    {"cuCtxPushCurrent_v2", {0}, CUDA_ERROR_INVALID_CONTEXT, Source::kListed},
    {"cuCtxDetach", {0}, CUDA_ERROR_INVALID_CONTEXT, Source::kListed},
    {"cuMemcpyPeer", {1, 3}, CUDA_ERROR_INVALID_CONTEXT, Source::kListed},
    {"cuMemcpyPeerAsync", {1, 3}, CUDA_ERROR_INVALID_CONTEXT, Source::kListed},
    {"cuStreamDestroy", {0}, CUDA_ERROR_INVALID_HANDLE, Source::kListed},
    {"cuStreamDestroy_v2", {0}, CUDA_ERROR_INVALID_HANDLE, Source::kListed},
    {"cuCtxDisablePeerAccess", {0}, CUDA_ERROR_INVALID_CONTEXT, Source::kListed},
    {"cuCtxCreate_v3", {1}, CUDA_SUCCESS, Source::kUnstated},
    {"cuCtxCreate_v4", {1}, CUDA_SUCCESS, Source::kUnstated},
    {"cuCtxPopCurrent", {0}, CUDA_SUCCESS, Source::kUnstated},
    {"cuCtxPopCurrent_v2", {0}, CUDA_SUCCESS, Source::kUnstated},
    {"cuCtxGetDevice_v2", {1}, CUDA_SUCCESS, Source::kUnstated},
    {"cuCtxSynchronize_v2", {0}, CUDA_SUCCESS, Source::kUnstated},
    {"cuCtxRecordEvent", {0}, CUDA_SUCCESS, Source::kUnstated},
    {"cuCtxWaitEvent", {0}, CUDA_SUCCESS, Source::kUnstated},
    {"cuLibraryLoadData", {5, 6}, CUDA_SUCCESS, Source::kUnstated},
    {"cuMemGetInfo", {0, 1}, CUDA_SUCCESS, Source::kUnstated},
    {"cuMemGetInfo_v2", {0, 1}, CUDA_SUCCESS, Source::kUnstated},
    {"cuMemcpy3DBatchAsync", {2}, CUDA_SUCCESS, Source::kUnstated},
    {"cuStreamGetCtx_v2", {1, 2}, CUDA_SUCCESS, Source::kUnstated},
    {"cuGraphExecUpdate", {2}, CUDA_SUCCESS, Source::kUnstated},
    {"cuGraphInstantiate", {2, 3}, CUDA_SUCCESS, Source::kUnstated},
    {"cuGraphInstantiate_v2", {2, 3}, CUDA_SUCCESS, Source::kUnstated},
    {"cuCtxFromGreenCtx", {0}, CUDA_ERROR_INVALID_HANDLE, Source::kOtherFirst},
    {"cuCtxGetDevResource", {0}, CUDA_ERROR_INVALID_RESOURCE_TYPE, Source::kOtherFirst},
    {"cuGreenCtxGetDevResource", {1}, CUDA_ERROR_INVALID_HANDLE, Source::kOtherFirst},
    {"cuGreenCtxStreamCreate", {0}, CUDA_ERROR_INVALID_HANDLE, Source::kOtherFirst},
    {"cuGreenCtxGetId", {1}, CUDA_ERROR_INVALID_HANDLE, Source::kOtherFirst},
    {"cuModuleGetGlobal_v2", {0, 1}, CUDA_ERROR_NOT_FOUND, Source::kOtherFirst},
    {"cuLibraryLoadFromFile", {5, 6}, CUDA_ERROR_FILE_NOT_FOUND, Source::kOtherFirst},
    {"cuLibraryGetGlobal", {0, 1}, CUDA_ERROR_NOT_FOUND, Source::kOtherFirst},
    {"cuLibraryGetManaged", {0, 1}, CUDA_ERROR_NOT_FOUND, Source::kOtherFirst},
    {"cuLinkAddData", {4, 6, 7}, CUDA_ERROR_INVALID_IMAGE, Source::kOtherFirst},
    {"cuLinkAddData_v2", {4, 6, 7}, CUDA_ERROR_INVALID_IMAGE, Source::kOtherFirst},
    {"cuLinkAddFile", {4, 5}, CUDA_ERROR_FILE_NOT_FOUND, Source::kOtherFirst},
    {"cuLinkAddFile_v2", {4, 5}, CUDA_ERROR_FILE_NOT_FOUND, Source::kOtherFirst},
    {"cuMemGetAddressRange", {0, 1}, CUDA_ERROR_NOT_FOUND, Source::kOtherFirst},
    {"cuMipmappedArrayGetSparseProperties", {0}, CUDA_ERROR_INVALID_HANDLE, Source::kOtherFirst},
    {"cuMipmappedArrayGetMemoryRequirements", {0}, CUDA_ERROR_INVALID_HANDLE, Source::kOtherFirst},
    {"cuMipmappedArrayGetLevel", {0}, CUDA_ERROR_INVALID_HANDLE, Source::kOtherFirst},
    {"cuMemcpyAtoA_v2", {0}, CUDA_ERROR_INVALID_VALUE, Source::kOtherFirst},
    {"cuStreamUpdateCaptureDependencies", {1}, CUDA_ERROR_ILLEGAL_STATE, Source::kOtherFirst},
    {"cuStreamUpdateCaptureDependencies_v2", {1, 2}, CUDA_ERROR_ILLEGAL_STATE, Source::kOtherFirst},
    {"cuGraphAddEventRecordNode", {4}, CUDA_ERROR_INVALID_VALUE, Source::kOtherFirst},
    {"cuGraphAddEventWaitNode", {4}, CUDA_ERROR_INVALID_VALUE, Source::kOtherFirst},
    {"cuDeviceGetP2PAttribute", {0}, CUDA_ERROR_INVALID_DEVICE, Source::kOtherFirst},
};

// Cu types whose NULL is a bad handle.
constexpr const char* kHandles[] = {
    "CUevent", "CUmodule",         "CUfunction",  "CUkernel",   "CUlibrary",
    "CUarray", "CUmipmappedArray", "CUlinkState", "CUgreenCtx", "CUexternalMemory"};

struct Answer {
  std::string entry;
  int parameter;
  std::string type;  // "CUstream", "pointer" or a handle's
  int code;
};

// cuda.h lists CUDA_ERROR_INVALID_VALUE for a parameter that is not acceptable, and
// CUDA_ERROR_INVALID_HANDLE for a handle that is none. A NULL stream is the default one.
bool isByDefault(const Answer& answer) {
  if (answer.code == CUDA_ERROR_NOT_SUPPORTED) return true;
  if (answer.type == "CUstream") return answer.code != CUDA_ERROR_INVALID_HANDLE;
  for (const char* handle : kHandles) {
    if (answer.type == handle) return answer.code == CUDA_ERROR_INVALID_HANDLE;
  }
  return answer.code == CUDA_ERROR_INVALID_VALUE;
}

class NullArguments : public DriverTest {
 protected:
  // The probe's answers; the test fails with its last words where it crashes.
  std::vector<Answer> probe() const {
    const std::string command = "LD_LIBRARY_PATH=" + driverPath(driverVariant(), "") +
                                " SIMGPU_PROFILE=" + profile() + " SIMGPU_DIR=" + dir() + " " +
                                driverPath("tests", "null_probe") + " 2>" + dir() + "/calls";
    FILE* const pipe = popen(command.c_str(), "r");
    std::string text;
    char part[4096];
    for (std::size_t got = 0; (got = fread(part, 1, sizeof part, pipe)) > 0;)
      text.append(part, got);
    EXPECT_EQ(pclose(pipe), 0) << "the last call was the one after:\n"
                               << text.substr(text.size() -
                                              std::min<std::size_t>(text.size(), 200));
    std::vector<Answer> answers;
    std::istringstream stream(text);
    for (Answer a; stream >> a.entry >> a.parameter >> a.type >> a.code;) answers.push_back(a);
    return answers;
  }
};

TEST_F(NullArguments, EachNullPointer_AnsweredAsDocumented) {
  std::map<std::pair<std::string, int>, CUresult> expected;
  for (const Row& row : kRows) {
    for (const int parameter : row.parameters) expected[{row.entry, parameter}] = row.code;
  }
  const std::vector<Answer> answers = probe();
  EXPECT_GT(answers.size(), 1000U);
  for (const Answer& answer : answers) {
    const auto row = expected.find({answer.entry, answer.parameter});
    const std::string what = answer.entry + ", parameter " + std::to_string(answer.parameter) +
                             " of type " + answer.type;
    if (row == expected.end()) {
      EXPECT_TRUE(isByDefault(answer)) << what << ": " << answer.code;
    } else {
      EXPECT_EQ(answer.code, row->second) << what;
      expected.erase(row);
    }
  }
  for (const auto& [call, code] : expected) ADD_FAILURE() << call.first << " was not called";
}

}  // namespace
}  // namespace divvy::simgpu
