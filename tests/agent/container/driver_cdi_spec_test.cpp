// Our spec with what a driver's own says of a container's cards.
#include "container/driver_cdi_spec.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <boost/json.hpp>

#include "container/cdi_spec.h"

namespace divvy::agent {
namespace {

namespace bj = boost::json;

// In the form of nvidia-ctk's, of which it is no copy.
constexpr const char* kDriver = R"(---
cdiVersion: 0.7.0
kind: nvidia.com/gpu
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
      major: 195
      fileMode: 0660
- name: GPU-b
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia1
      major: 195
- name: all
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
    - path: /dev/nvidia1
containerEdits:
  env:
  - NVIDIA_CTK_LIBCUDA_DIR=/usr/lib
  - "FLAG=true"
  deviceNodes:
  - path: /dev/nvidiactl
    permissions: "0660"
  mounts:
  - hostPath: /usr/lib/libcuda.so.1
    containerPath: /usr/lib/libcuda.so.1
    options: [ro, nosuid]
  hooks:
  - hookName: createContainer
    path: /usr/bin/nvidia-cdi-hook
    args: [nvidia-cdi-hook, update-ldcache]
)";

std::string own() {
  return cdiSpec(kPodCdiKind, "pod-1",
                 {{{"NVIDIA_VISIBLE_DEVICES", "void"}}, {{"/rt/control", "/c", true}}, {}});
}

bj::object editsIn(const std::string& text) {
  return bj::parse(text).at("devices").at(0).at("containerEdits").as_object();
}

std::vector<std::string> nodesIn(const bj::object& edits) {
  std::vector<std::string> nodes;
  for (const bj::value& one : edits.at("deviceNodes").as_array())
    nodes.emplace_back(one.at("path").as_string());
  return nodes;
}

TEST(DriverCdiSpec, Merge_HoldsOwnDevicesAndCommonEdits) {
  const Result<std::string> merged = withDriver(own(), kDriver, {{"GPU-b", 1}});
  ASSERT_TRUE(merged) << merged.error().message();
  const bj::value spec = bj::parse(*merged);
  EXPECT_EQ(spec.at("kind").as_string(), kPodCdiKind);
  EXPECT_EQ(spec.at("cdiVersion").as_string(), "0.7.0") << "fields of theirs may need it";
  EXPECT_EQ(spec.as_object().size(), 3U) << "nothing for who does not ask";
  const bj::object edits = editsIn(*merged);
  EXPECT_EQ(nodesIn(edits), (std::vector<std::string>{"/dev/nvidia1", "/dev/nvidiactl"}));
  EXPECT_EQ(edits.at("mounts").as_array().size(), 2U) << "ours and theirs";
  EXPECT_EQ(edits.at("mounts").at(0).at("hostPath").as_string(), "/rt/control");
  EXPECT_EQ(
      edits.at("env").as_array(),
      (bj::array{"NVIDIA_VISIBLE_DEVICES=void", "NVIDIA_CTK_LIBCUDA_DIR=/usr/lib", "FLAG=true"}));
  EXPECT_EQ(edits.at("hooks").at(0).at("hookName").as_string(), "createContainer");
}

TEST(DriverCdiSpec, DeviceNamedByIndex_IsFound) {
  const Result<std::string> merged = withDriver(own(), kDriver, {{"GPU-a", 0}, {"GPU-b", 1}});
  ASSERT_TRUE(merged) << merged.error().message();
  const bj::object edits = editsIn(*merged);
  EXPECT_EQ(nodesIn(edits),
            (std::vector<std::string>{"/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl"}));
  const bj::object& node = edits.at("deviceNodes").at(0).as_object();
  EXPECT_EQ(node.at("major").as_int64(), 195) << "numbers stay numbers";
  EXPECT_EQ(node.at("fileMode").as_int64(), 0660) << "counted in eights";
  EXPECT_EQ(edits.at("deviceNodes").at(2).at("permissions").as_string(), "0660");
}

// NVIDIA's tools call an instance (MIG) by its card and its place there.
TEST(DriverCdiSpec, MigInstance_FoundByPlaceOnDevice) {
  std::string driver = kDriver;
  driver.replace(driver.find("name: \"0\""), 9, "name: \"2:1\"");
  const Result<std::string> merged = withDriver(own(), driver, {{"MIG-x", 9, "2:1"}});
  ASSERT_TRUE(merged) << merged.error().message();
  EXPECT_EQ(nodesIn(editsIn(*merged)),
            (std::vector<std::string>{"/dev/nvidia0", "/dev/nvidiactl"}));
  const Result<std::string> missing = withDriver(own(), driver, {{"MIG-y", 9, "2:3"}});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message().find("2:3"), std::string::npos);
}

TEST(DriverCdiSpec, OtherVersionOrMissingDevice_IsNotUsed) {
  std::string driver = kDriver;
  driver.replace(driver.find("/usr/lib/libcuda.so.1"), 21, "/usr/lib/libcuda.so.580.95.05");
  const std::vector<DeviceId> both = {{"GPU-a", 0}, {"GPU-b", 1}};
  EXPECT_EQ(whyNotBy(driver, both, "580.95.05"), "");
  EXPECT_NE(whyNotBy(driver, both, "575.57.08").find("575.57.08"), std::string::npos);
  EXPECT_NE(whyNotBy(driver, both, "0.95.05"), "") << "the end of another version";
  EXPECT_NE(whyNotBy(kDriver, both, "580.95.05"), "") << "it names no version at all";
  EXPECT_NE(whyNotBy(driver, {{"GPU-b", 1}, {"GPU-c", 7}}, "580.95.05").find("GPU-c"),
            std::string::npos);
  EXPECT_NE(whyNotBy("a: [b", both, "580.95.05"), "");
  EXPECT_NE(
      whyNotBy(R"({"kind": "nvidia.com/gpu", "devices": [{"name": "0"}]})", {{"GPU-a", 0}}, "1"),
      "")
      << "nothing is mounted";
}

TEST(DriverCdiSpec, MissingDeviceOrInvalidSpec_IsRefused) {
  const Result<std::string> missing = withDriver(own(), kDriver, {{"GPU-c", 7}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::kNotFound);
  EXPECT_NE(missing.error().message().find("GPU-c"), std::string::npos);
  for (const std::string& bad : {std::string("a: [b"), std::string("just text"), std::string(),
                                 std::string(200, '[') + std::string(200, ']')})
    EXPECT_FALSE(withDriver(own(), bad, {{"GPU-b", 1}})) << bad;
}

TEST(DriverCdiSpec, SpecSearch_SkipsOtherKindsAndOwnFiles) {
  std::string dir = "/tmp/divvy-spec-XXXXXX";
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  EXPECT_EQ(findDriverSpec({dir + "/none", dir}).error().code(), ErrorCode::kNotFound);
  const auto put = [&](const std::string& name, const std::string& text) {
    std::ofstream(dir + "/" + name) << text;
  };
  put("a.json", R"({"kind": "vendor.com/other", "x": "nvidia.com/gpu"})");
  put("divvy.dev-pod-1.json", R"({"kind": "nvidia.com/gpu", "devices": []})");
  put("b.txt", kDriver);
  EXPECT_FALSE(findDriverSpec({dir}));
  put("nvidia.yaml", kDriver);
  EXPECT_EQ(findDriverSpec({dir + "/none", dir}).value(), kDriver);
  std::filesystem::remove_all(dir);
}

// Regression: aliases were expanded without a bound, on the agent's loop.
TEST(DriverCdiSpec, ExcessiveAliases_AreRefused) {
  std::string text = "cdiVersion: 0.7.0\nkind: nvidia.com/gpu\na0: &a0 [x, x]\n";
  for (int level = 1; level < 40; ++level) {
    const std::string below = "*a" + std::to_string(level - 1);
    text += "a" + std::to_string(level) + ": &a" + std::to_string(level) + " [" + below + ", " +
            below + "]\n";
  }
  EXPECT_NE(whyNotBy(text, {}, "1").find("its aliases stand for too much"), std::string::npos);
}

}  // namespace
}  // namespace divvy::agent
