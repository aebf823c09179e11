#include "kubelet/checkpoint.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "checkpoint_checksum.h"

namespace divvy::kubelet {
namespace {

// As a kubelet 1.34 writes it.
constexpr const char* kTwo =
    R"({"Data":{"PodDeviceEntries":[)"
    R"({"PodUID":"u-1","ContainerName":"init","ResourceName":"nvidia.com/gpu",)"
    R"("DeviceIDs":{"-1":["GPU-b::1","GPU-a::0"]},"AllocResp":"CgA="},)"
    R"({"PodUID":"u-1","ContainerName":"main","ResourceName":"nvidia.com/gpu",)"
    R"("DeviceIDs":{"0":["GPU-a::0"],"1":["GPU-b::1"]},"AllocResp":""}],)"
    R"("RegisteredDevices":{"nvidia.com/gpu":["GPU-a::0"]}},"Checksum":1129797246})";

TEST(KubeletCheckpoint, TwoContainers_EntriesFoundByDevices) {
  const auto noted = checkpointOf(kTwo);
  ASSERT_TRUE(noted) << noted.error().message();
  const std::vector<std::string> ids{"GPU-a::0", "GPU-b::1"};
  EXPECT_EQ(*noted, (std::vector<CheckpointEntry>{{"u-1", "init", "nvidia.com/gpu", ids},
                                                  {"u-1", "main", "nvidia.com/gpu", ids}}));
  EXPECT_EQ(notedWith(*noted, "nvidia.com/gpu", {"GPU-b::1", "GPU-a::0"}).size(), 2u);
  EXPECT_TRUE(notedWith(*noted, "nvidia.com/gpu", {"GPU-b::1"}).empty());
  EXPECT_TRUE(notedWith(*noted, "divvy.dev/gpu", ids).empty());
}

TEST(KubeletCheckpoint, NoEntries_Empty) {
  for (const char* text :
       {R"({"Data":{"PodDeviceEntries":null}})", R"({"Data":{"PodDeviceEntries":[]}})"}) {
    const auto noted = checkpointOf(text);
    ASSERT_TRUE(noted) << text;
    EXPECT_TRUE(noted->empty());
  }
}

TEST(KubeletCheckpoint, MalformedText_Corrupt) {
  const auto of = [](const std::string& entry) {
    return R"({"Data":{"PodDeviceEntries":[{)" + entry + "}]}}";
  };
  const std::string named = R"("PodUID":"u","ContainerName":"c","ResourceName":"r")";
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("null"), std::string("[]"), std::string("{}"),
        std::string(R"({"Data":{}})"), std::string(R"({"Data":{"PodDeviceEntries":{}}})"), of(""),
        of(named), of(R"("PodUID":"","ContainerName":"c","ResourceName":"r","DeviceIDs":[])"),
        of(named + R"(,"DeviceIDs":{"0":[1]})"), of(named + R"(,"DeviceIDs":"x")")}) {
    const auto noted = checkpointOf(text);
    ASSERT_FALSE(noted) << text;
    EXPECT_EQ(noted.error().code(), ErrorCode::kCorrupt) << text;
  }
}

// By the kubelet's own code: tests/cluster/checkpoints.
std::vector<std::string> kubelets() {
  const char* source = std::getenv("DIVVY_SOURCE_DIR");
  std::ifstream file(std::string(source == nullptr ? "." : source) +
                     "/tests/kubelet/checkpoints.jsonl");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

TEST(KubeletCheckpoint, ChecksumOfData_EqualsKubelets) {
  const std::vector<std::string> all = kubelets();
  ASSERT_GE(all.size(), 50u);
  for (const std::string& text : all) {
    const boost::json::value whole = boost::json::parse(text);
    const auto sum = checksumOf(whole.at("Data"));
    ASSERT_TRUE(sum) << text;
    EXPECT_EQ(*sum, whole.at("Checksum").to_number<std::uint64_t>()) << text;
  }
}

std::string doubtOf(const std::string& text) {
  std::string doubt = "as before";
  EXPECT_TRUE(checkpointOf(text, &doubt)) << text;
  return doubt;
}

// Regression: what could be read was believed, whatever had become of it, and nothing was said.
TEST(KubeletCheckpoint, FlippedBitOrWrongChecksum_DoubtReported) {
  std::string whole = kTwo;
  EXPECT_EQ(doubtOf(whole), "");
  for (const char* word : {"u-1", "init", "GPU-a", "CgA="}) {
    const std::size_t at = whole.find(word);
    ASSERT_NE(at, std::string::npos);
    whole[at] ^= 2;
    EXPECT_NE(doubtOf(whole).find("has checksum 1129797246 of"), std::string::npos) << word;
    whole[at] ^= 2;
  }
  const std::string data = whole.substr(0, whole.find(",\"Checksum\""));
  for (const char* end : {"}", ",\"Checksum\":\"1\"}", ",\"Checksum\":0}"})
    EXPECT_NE(doubtOf(data + end), "") << end;
}

// Where a version writes more than these, nobody knows what it sums.
TEST(KubeletCheckpoint, UnknownMembersInData_ChecksumNotJudged) {
  std::string more = kTwo;
  more.insert(more.find("\"PodUID\""), R"("Since":7,)");
  EXPECT_EQ(doubtOf(more), "");
  std::string beside = kTwo;
  beside.insert(beside.size() - 1, R"(,"BootID":"b")");
  EXPECT_EQ(doubtOf(beside), "") << "the kubelet sums Data";
  beside.insert(beside.find("u-1"), "x");
  EXPECT_NE(doubtOf(beside), "");
}

// Half of it is not taken for all of it, wherever it was cut.
TEST(KubeletCheckpoint, TruncatedAnywhere_Refused) {
  const std::string whole = kTwo;
  for (std::size_t at = 0; at < whole.size(); ++at)
    EXPECT_FALSE(checkpointOf(std::string_view(whole).substr(0, at))) << at;
}

TEST(KubeletCheckpoint, MissingOrDamagedFile_ErrorNamesPath) {
  std::string pattern = ::testing::TempDir() + "/checkpoint-XXXXXX";
  const std::string root = mkdtemp(pattern.data());
  std::filesystem::create_directory(root + "/device-plugins");
  const std::string path = root + "/device-plugins/kubelet_internal_checkpoint";
  LocalKubeletDirs sockets(root);
  const auto none = readCheckpoint(sockets);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::kNotFound);
  EXPECT_NE(none.error().message().find(path), std::string::npos);
  std::ofstream(path) << "{\"Data\":";
  const auto broken = readCheckpoint(sockets);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code(), ErrorCode::kCorrupt);
  EXPECT_NE(broken.error().message().find(path), std::string::npos);
  std::ofstream(path) << kTwo;
  std::string doubt;
  EXPECT_TRUE(readCheckpoint(sockets, &doubt));
  EXPECT_EQ(doubt, "");
  std::ofstream(path)
      << R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":1})";
  EXPECT_TRUE(readCheckpoint(sockets, &doubt));
  EXPECT_NE(doubt.find(path + " has checksum 1 of"), std::string::npos) << doubt;
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace divvy::kubelet
