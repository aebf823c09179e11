// libdivvy-nvml.so in a process of its own, in front of a tiny driver: how it gets in, what it
// passes on, what it does where there is nothing to pass on to.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "nvml_fake_driver.h"
#include "run_program.h"

namespace divvy::interposer::test {
namespace {

constexpr char kA[] = "GPU-00000000-0000-4000-8000-00000000000a";
constexpr char kB[] = "GPU-00000000-0000-4000-8000-00000000000b";

std::string ours() {
  return built("lib/libdivvy-nvml.so");
}
std::string tinyDir() {
  return built("tests/tiny-nvml");
}

ledger::DeviceSpec share(const std::string& uuid, const std::string& pci) {
  ledger::DeviceSpec spec;
  spec.uuid = uuid;
  spec.pci_bus_id = pci;
  spec.guarantee = spec.ceiling = mib(64);
  spec.physical = gib(1);
  return spec;
}

// The tiny driver has cards A and B; the tenant has B alone.
class NvmlLibraryTest : public testing::Test {
 protected:
  TenantDir tenant_{{share(kB, "0000:02:00.0")}};
  Environment environment_{
      {"LD_PRELOAD", ours()}, {"LD_LIBRARY_PATH", tinyDir()}, {"DIVVY_TENANT_DIR", tenant_.path()}};

  ProgramResult probe(const std::vector<std::string>& questions) {
    std::vector<std::string> command{built("tests/nvml_probe")};
    command.insert(command.end(), questions.begin(), questions.end());
    return runProgram(command, environment_);
  }
};

TEST_F(NvmlLibraryTest, Preloaded_FoundByDlopenAndShareShown) {
  const ProgramResult seen =
      probe({"init", "count", "uuid:0", "uuid:1", "memory:0", "driver", "byuuid:" + std::string(kA),
             "byuuid:" + std::string(kB), "shutdown"});
  EXPECT_EQ(seen.status, 0) << seen.out << seen.err;
  EXPECT_EQ(seen.err, "") << "never prints";
  EXPECT_EQ(seen.answer("init"), "0");
  EXPECT_EQ(seen.answer("count"), "0 1");
  EXPECT_EQ(seen.answer("uuid:0"), "0 " + std::string(kB));
  EXPECT_EQ(seen.answer("uuid:1"), "2 ");
  EXPECT_EQ(seen.answer("memory:0"), "0 67108864 0 67108864");
  EXPECT_EQ(seen.answer("driver"), "0 1.0-tiny");
  EXPECT_EQ(seen.answer("byuuid:" + std::string(kA)), "6 0");
  EXPECT_EQ(seen.answer("byuuid:" + std::string(kB)), "0 0");
  EXPECT_EQ(seen.answer("shutdown"), "0");
}

// The tiny driver's functions call each other through us; what they see inside is the node.
TEST_F(NvmlLibraryTest, DriverCallsItself_S4PassThrough) {
  for (const char* bind : {"", "1"}) {
    environment_["LD_BIND_NOW"] = bind;
    const ProgramResult seen = probe({"init", "byuuid:" + std::string(kB), "memory:0"});
    EXPECT_EQ(seen.status, 0) << seen.out << seen.err;
    EXPECT_EQ(seen.answer("byuuid:" + std::string(kB)), "0 0");
    EXPECT_EQ(seen.answer("memory:0"), "0 67108864 0 67108864");
  }
}

TEST_F(NvmlLibraryTest, GlobalLookup_FindsPreloadedLibrary) {
  environment_["PROBE_OPEN"] = "global";
  const ProgramResult seen = probe({"init", "count", "uuid:0"});
  EXPECT_EQ(seen.status, 0) << seen.out << seen.err;
  EXPECT_EQ(seen.answer("count"), "0 1");
  EXPECT_EQ(seen.answer("uuid:0"), "0 " + std::string(kB));
}

TEST_F(NvmlLibraryTest, FunctionMissingInDriver_FunctionNotFound) {
  const ProgramResult seen = probe({"init", "memory2:0", "compute:0", "bar1:0", "oldcount"});
  EXPECT_EQ(seen.status, 0) << seen.out << seen.err;
  EXPECT_EQ(seen.answer("memory2:0").substr(0, 3), "13 ");
  EXPECT_EQ(seen.answer("compute:0"), "13");
  EXPECT_EQ(seen.answer("bar1:0").substr(0, 3), "13 ");
  EXPECT_EQ(seen.answer("oldcount").substr(0, 3), "13 ");
}

TEST_F(NvmlLibraryTest, BeforeInit_DriversErrorReturned) {
  const ProgramResult seen = probe({"count", "uuid:0", "driver", "error:1"});
  EXPECT_EQ(seen.answer("count"), "1 0");
  EXPECT_EQ(seen.answer("uuid:0"), "1 ");
  EXPECT_EQ(seen.answer("driver"), "1 ");
  EXPECT_EQ(seen.answer("error:1"), "0 tiny failure");
}

TEST_F(NvmlLibraryTest, NoTenant_B4AllDevicesSeen) {
  environment_.erase("DIVVY_TENANT_DIR");
  const ProgramResult seen = probe({"init", "count", "uuid:0", "memory:1"});
  EXPECT_EQ(seen.answer("count"), "0 2");
  EXPECT_EQ(seen.answer("uuid:0"), "0 " + std::string(kA));
  EXPECT_EQ(seen.answer("memory:1"), "0 2000 1600 400");
}

TEST_F(NvmlLibraryTest, PathInControlPage_PrecedesSearchPath) {
  const std::string elsewhere = tenant_.path() + "-driver";
  std::filesystem::create_directory(elsewhere);
  std::filesystem::copy_file(tinyDir() + "/libnvidia-ml.so.1", elsewhere + "/libnvidia-ml.so.1");
  ledger::ControlPage& page = tenant_.agent().control();
  ::strcpy(page.header.nvml_path, (elsewhere + "/libnvidia-ml.so.1").c_str());
  environment_.erase("LD_LIBRARY_PATH");
  EXPECT_EQ(probe({"init", "count"}).answer("count"), "0 1");
}

TEST_F(NvmlLibraryTest, NoDriver_InitSaysLibraryNotFound) {
  environment_.erase("LD_LIBRARY_PATH");
  Environment bare = environment_;
  bare.erase("LD_PRELOAD");
  if (runProgram({built("tests/nvml_probe"), "init"}, bare).status == 0) {
    GTEST_SKIP() << "SKIPPED: this machine has a driver of its own";
  }
  const ProgramResult seen = probe({"init", "oldinit", "count", "error:12", "shutdown"});
  EXPECT_EQ(seen.status, 0) << seen.out << seen.err;
  EXPECT_EQ(seen.answer("init"), "12");
  EXPECT_EQ(seen.answer("oldinit"), "12");
  EXPECT_EQ(seen.answer("count"), "1 0");
  EXPECT_NE(seen.answer("error:12"), "0 ");
  EXPECT_EQ(seen.answer("shutdown"), "1");
}

// As pynvml does it: ctypes, every function looked up by name, unversioned names first.
TEST_F(NvmlLibraryTest, PythonCtypes_B7ShareShown) {
  const char* script = R"(
import ctypes, sys
lib = ctypes.CDLL("libnvidia-ml.so.1")
class Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong),
                ("used", ctypes.c_ulonglong)]
def function(name):
    return getattr(lib, name)
assert function("nvmlInit_v2")() == 0
count = ctypes.c_uint()
assert function("nvmlDeviceGetCount_v2")(ctypes.byref(count)) == 0
for i in range(count.value):
    device = ctypes.c_void_p()
    assert function("nvmlDeviceGetHandleByIndex_v2")(i, ctypes.byref(device)) == 0
    uuid = ctypes.create_string_buffer(96)
    assert function("nvmlDeviceGetUUID")(device, uuid, 96) == 0
    memory = Memory()
    assert function("nvmlDeviceGetMemoryInfo")(device, ctypes.byref(memory)) == 0
    print("card=%s %d %d" % (uuid.value.decode(), memory.total, memory.used + memory.free))
try:
    function("nvmlDeviceGetNoSuchThing")
except AttributeError:
    print("unknown=AttributeError")
error = function("nvmlErrorString")
error.restype = ctypes.c_char_p
print("error=" + error(0).decode())
)";
  const ProgramResult seen = runProgram({"python3", "-c", script}, environment_);
  EXPECT_EQ(seen.status, 0) << seen.out << seen.err;
  EXPECT_EQ(seen.answer("card"), std::string(kB) + " 67108864 67108864");
  EXPECT_EQ(seen.answer("unknown"), "AttributeError");
  EXPECT_EQ(seen.answer("error"), "Success");
}

TEST_F(NvmlLibraryTest, ProgramWithoutNvml_B4NoSlotAndNoOutput) {
  const ProgramResult seen = runProgram({"/bin/echo", "hello"}, environment_);
  EXPECT_EQ(seen.out, "hello\n");
  EXPECT_EQ(seen.err, "");
  EXPECT_TRUE(tenant_.agent().readReport()->slots.empty());
}

}  // namespace
}  // namespace divvy::interposer::test
