// Instances of a partitioned card (MIG), beside a card that is whole, on the simulated driver.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "abi/cuda_protos.h"
#include "driver/context_probe.h"
#include "driver/library.h"
#include "driver/nvml.h"
#include "driver/process_source.h"

namespace divvy::driver {
namespace {

namespace fs = std::filesystem;
using abi::Cu;

std::string product(const std::string& name) {
  const char* build = getenv("DIVVY_BUILD_DIR");
  return std::string(build == nullptr ? "." : build) + "/simgpu/" + name;
}

class MigInstancesTest : public ::testing::Test {
 protected:
  // The simulated driver reads its environment once per process.
  static void SetUpTestSuite() {
    std::string pattern = fs::temp_directory_path() / "divvy-parts-XXXXXX";
    dir() = mkdtemp(pattern.data());
    setenv("SIMGPU_PROFILE", "h100+h100-mig", 1);
    setenv("SIMGPU_DIR", (dir() + "/card").c_str(), 1);
  }
  static void TearDownTestSuite() { fs::remove_all(dir()); }
  static std::string& dir() {
    static std::string path;
    return path;
  }

  void SetUp() override {
    Result<Nvml> opened = Nvml::open(product("libnvidia-ml.so.1"));
    ASSERT_TRUE(opened) << opened.error().message();
    nvml_.emplace(std::move(*opened));
    Result<std::vector<DeviceInfo>> devices = nvml_->devices();
    ASSERT_TRUE(devices) << devices.error().message();
    devices_ = std::move(*devices);
    ASSERT_EQ(devices_.size(), 5u);
  }

  std::optional<Nvml> nvml_;
  std::vector<DeviceInfo> devices_;
};

// Who asks for it is in another pid namespace than those that work: somebody else says who does.
class Elsewhere : public ProcessSource {
 public:
  std::vector<ProcessUse> processes(const std::string& uuid) override {
    asked.push_back(uuid);
    return {{7, Bytes{1}, false}};
  }
  std::vector<ProcessTime> times(const std::string& uuid) override {
    asked.push_back(uuid);
    return {{8, 50, 1}};
  }
  std::vector<std::string> asked;
};

TEST_F(MigInstancesTest, ProcessSource_AskedByInstanceUuid) {
  const auto elsewhere = std::make_shared<Elsewhere>();
  nvml_->setProcessSource(elsewhere);
  std::vector<std::string> uuids;
  for (const DeviceInfo& device : devices_) {
    // What is asked for every placement costs no question there.
    ASSERT_TRUE(nvml_->use(device.index));
    EXPECT_EQ(nvml_->processes(device.index), (std::vector<ProcessUse>{{7, Bytes{1}, false}}));
    ASSERT_EQ(nvml_->processTimes(device.index).size(), 1u);
    EXPECT_EQ(nvml_->processTimes(device.index).front().pid, 8);
    for (int asked = 0; asked < 3; ++asked) uuids.push_back(device.uuid);
  }
  EXPECT_EQ(elsewhere->asked, uuids);
}

template <Cu id>
auto* find(const Library& cuda, const char* symbol) {
  return cuda.find<typename abi::CuFn<id>::type>(symbol);
}

// Of a process that has the device which it is told, until it is told to end: 0 all went well.
int works(const std::string& uuid, const char* fault) {
  setenv("CUDA_VISIBLE_DEVICES", uuid.c_str(), 1);
  setenv("SIMGPU_FAULTS", fault, 1);
  const Result<Library> cuda = Library::open(product("libcuda.so.1"));
  if (!cuda) return 1;
  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  if (find<Cu::cuInit>(*cuda, "cuInit")(0) != CUDA_SUCCESS) return 2;
  if (find<Cu::cuDevicePrimaryCtxRetain>(*cuda, "cuDevicePrimaryCtxRetain")(&context, 0) !=
      CUDA_SUCCESS)
    return 3;
  find<Cu::cuCtxSetCurrent>(*cuda, "cuCtxSetCurrent")(context);
  // That is where the fault is.
  find<Cu::cuMemAlloc_v2>(*cuda, "cuMemAlloc_v2")(&memory, 1 << 20);
  return 0;
}

// Of such a process; -1: there was none.
int statusOf(const std::string& uuid, const char* fault) {
  const pid_t child = fork();
  if (child == 0) _exit(works(uuid, fault));
  int status = 0;
  return waitpid(child, &status, 0) == child ? status : -1;
}

TEST_F(MigInstancesTest, Instances_ListedAfterDevicesWithOwnUuids) {
  EXPECT_FALSE(devices_[0].instance());
  EXPECT_EQ(devices_[0].index, 0u);
  EXPECT_TRUE(devices_[0].uuid.starts_with("GPU-"));
  for (unsigned at = 0; at < 4; ++at) {
    const DeviceInfo& part = devices_[at + 1];
    EXPECT_EQ(part.index, 2 + at) << "from the number of cards on";
    EXPECT_EQ(part.part, "1:" + std::to_string(at));
    EXPECT_TRUE(part.uuid.starts_with("MIG-")) << part.uuid;
    EXPECT_NE(part.model.find("MIG"), std::string::npos) << part.model;
    EXPECT_EQ(part.pci, devices_[1].pci) << "they are on one card";
    EXPECT_LT(part.physical.count, gib(40).count);
    EXPECT_TRUE(nvml_->answers(part.index));
    EXPECT_EQ(nvml_->use(part.index)->used, Bytes{});
  }
  EXPECT_NE(devices_[0].pci, devices_[1].pci);
  EXPECT_FALSE(nvml_->answers(6));
}

TEST_F(MigInstancesTest, FaultInInstance_ReportedOnceForIt) {
  EXPECT_TRUE(nvml_->faults().empty());
  ASSERT_EQ(statusOf(devices_[3].uuid, "xid=94"), 0);
  EXPECT_EQ(nvml_->faults(), (std::vector<DeviceFault>{{devices_[3].index, 94}}));
  EXPECT_TRUE(nvml_->faults().empty());
}

TEST_F(MigInstancesTest, MemoryErrors_KeptPerInstance) {
  const MemoryErrors none{0, false, false};
  for (const DeviceInfo& device : devices_) EXPECT_EQ(nvml_->memoryErrors(device.index), none);
  ASSERT_EQ(statusOf(devices_[0].uuid, "ecc=2"), 0);
  ASSERT_EQ(statusOf(devices_[2].uuid, "ecc=1"), 0);
  ASSERT_EQ(statusOf(devices_[4].uuid, "xid=64"), 0);
  EXPECT_EQ(nvml_->memoryErrors(devices_[0].index), (MemoryErrors{2, true, false}));
  EXPECT_EQ(nvml_->memoryErrors(devices_[1].index), none) << "another instance of that card";
  EXPECT_EQ(nvml_->memoryErrors(devices_[2].index), (MemoryErrors{1, true, false}));
  EXPECT_EQ(nvml_->memoryErrors(devices_[4].index), (MemoryErrors{0, false, true}));
  EXPECT_EQ(nvml_->memoryErrors(9), MemoryErrors()) << "no such card";
}

// Regression: a card that is lost tells no UUID, and nobody was told that it had a fault.
TEST_F(MigInstancesTest, FaultOfLostDevice_ReportedForIt) {
  EXPECT_TRUE(nvml_->faults().empty());
  ASSERT_EQ(statusOf(devices_[0].uuid, "xid=79"), 0);
  EXPECT_FALSE(nvml_->answers(devices_[0].index));
  EXPECT_EQ(nvml_->faults(), (std::vector<DeviceFault>{{devices_[0].index, 79}}));
  // Who comes when nobody is there any more finds it on the bus again.
  ASSERT_EQ(statusOf(devices_[0].uuid, ""), 0);
  EXPECT_TRUE(nvml_->answers(devices_[0].index));
}

TEST_F(MigInstancesTest, ProbeContext_CostOfInstance) {
  const pid_t child = fork();
  if (child == 0) {
    const Result<Bytes> cost =
        probeContext(product("libcuda.so.1"), product("libnvidia-ml.so.1"), devices_[4].uuid);
    _exit(cost && cost->count > 0 && cost->count < gib(1).count ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace divvy::driver
