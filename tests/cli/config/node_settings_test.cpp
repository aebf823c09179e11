// What is said of single nodes: the files, and which of their entries hold.
#include "config/node_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace divvy::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

NodeSettings read(const std::string& text) {
  Result<NodeSettings> all = readNodeSettings(text, "nodes.yaml");
  EXPECT_TRUE(all) << all.error().message();
  return all ? std::move(*all) : NodeSettings();
}

std::string refusal(const std::string& text) {
  const Result<NodeSettings> all = readNodeSettings(text, "nodes.yaml");
  EXPECT_FALSE(all) << text;
  return all ? "" : all.error().message();
}

constexpr const char* kOwn =
    "settings:\n"
    "- nodes: ['*']\n"
    "  per_device: 5\n"
    "  overcommit: 1.25\n"
    "  exclude: {indices: [0, 3]}\n"
    "- nodes: [gpu-*, 'rack[12]-?']\n"
    "  per_device: 3\n"
    "  cores: 80\n"
    "  announce_numa: true\n"
    "  host_reserve: 8Gi\n"
    "- nodes: [gpu-7]\n"
    "  overcommit: '1.5,2=2'\n"
    "  device_budget: 1=20Gi\n"
    "  exclude: {uuids: [GPU-5c2e, GPU-77aa-1]}\n";

TEST(NodeSettings, SeveralEntriesFit_LastOnePerKeyCounts) {
  const NodeSettings all = read(kOwn);
  EXPECT_TRUE(all.unheeded.empty());
  const CardSettings other = settingsFor(all, "cpu-1");
  EXPECT_EQ(other.per_device, 5u);
  EXPECT_EQ(other.overcommit->all, 1250u);
  EXPECT_EQ(other.exclude, (agent::DeviceExclusions{{}, {0, 3}}));
  EXPECT_FALSE(other.cores || other.device_budget || other.host_reserve || other.announce_numa);
  const CardSettings group = settingsFor(all, "rack2-a");
  EXPECT_EQ(group.per_device, 3u);
  EXPECT_EQ(group.cores, 80u);
  EXPECT_EQ(group.announce_numa, true);
  EXPECT_EQ(group.host_reserve, gib(8));
  EXPECT_EQ(group.overcommit->all, 1250u) << "what a later entry does not say stays";
  const CardSettings one = settingsFor(all, "gpu-7");
  EXPECT_EQ(one.per_device, 3u);
  EXPECT_EQ(one.overcommit->all, 1500u);
  EXPECT_EQ(one.overcommit->some.size(), 1u);
  EXPECT_EQ(one.device_budget->some.front(), std::pair(std::string("1"), gib(20)));
  // As a whole: a later entry can take an earlier one back.
  EXPECT_EQ(one.exclude, (agent::DeviceExclusions{{"GPU-5c2e", "GPU-77aa-1"}, {}}));
}

TEST(NodeSettings, Patterns_MatchFullNames) {
  const NodeSettings all = read(kOwn);
  for (const char* name : {"my-gpu-7", "rack3-a", "rack1-ab", "GPU-7"})
    EXPECT_EQ(settingsFor(all, name).per_device, 5u) << name;
}

TEST(NodeSettings, NoEntryFits_NothingSet) {
  const NodeSettings all = read("settings:\n- nodes: [a]\n  per_device: 2\n");
  EXPECT_FALSE(settingsFor(all, "b").per_device);
  EXPECT_FALSE(settingsFor(all, "").per_device);
}

// As HAMi's chart renders it, and with all that its plugin reads.
constexpr const char* kHami = R"({
  "nodeconfig": [
    {"name": "worker-1", "operatingmode": "hami-core", "devicememoryscaling": 1.8,
     "devicesplitcount": 12, "devicecorescaling": 0.5, "migstrategy": "none",
     "filterdevices": {"uuid": [], "index": []}},
    {"name": "worker-*", "devicesplitcount": 2},
    {"name": "worker-2", "devicesplitcount": 0, "devicememoryscaling": 0, "devicecorescaling": 1,
     "preconfigureddevicememory": 0, "libcudaloglevel": 0, "enablenumatopology": false,
     "filterdevices": {"uuid": ["GPU-b41e6e9a"], "index": [1, 2]}}
  ]
})";

TEST(NodeSettings, HamiConfig_ReadUnchanged) {
  const NodeSettings all = read(kHami);
  EXPECT_TRUE(all.unheeded.empty()) << all.unheeded.front();
  const CardSettings first = settingsFor(all, "worker-1");
  EXPECT_EQ(first.per_device, 12u) << "names there are no patterns";
  EXPECT_EQ(first.overcommit->all, 1800u);
  EXPECT_EQ(first.cores, 50u);
  EXPECT_EQ(first.exclude, agent::DeviceExclusions());
  const CardSettings second = settingsFor(all, "worker-2");
  EXPECT_FALSE(second.per_device || second.overcommit) << "0 says nothing";
  EXPECT_EQ(second.cores, 100u);
  EXPECT_EQ(second.announce_numa, false);
  EXPECT_EQ(second.exclude, (agent::DeviceExclusions{{"GPU-b41e6e9a"}, {1, 2}}));
  EXPECT_FALSE(settingsFor(all, "worker-3").per_device);
}

TEST(NodeSettings, HamiConfigMap_ReadUnchanged) {
  std::string text =
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hami-device-plugin}\n"
      "data:\n  config.json: |\n";
  for (const char* at = kHami; *at != '\0';) {
    const std::string line(at, std::strcspn(at, "\n"));
    text += "    " + line + "\n";
    at += line.size() + (at[line.size()] == '\n' ? 1 : 0);
  }
  EXPECT_EQ(settingsFor(read(text), "worker-1").per_device, 12u);
  EXPECT_THAT(refusal("kind: ConfigMap\ndata: {}\n"), HasSubstr("ConfigMap with config.json"));
  EXPECT_THAT(refusal("kind: ConfigMap\ndata: {config.json: '{\"nodeconfig\": 3}'}\n"),
              HasSubstr("nodes.yaml (config.json):1:16: nodeconfig is not a list"));
}

TEST(NodeSettings, OwnAndHamiSettings_OwnPrevail) {
  const NodeSettings all = read(
      "settings:\n- nodes: [n]\n  per_device: 3\n"
      "nodeconfig:\n- {name: n, devicesplitcount: 9, devicememoryscaling: 2}\n");
  EXPECT_EQ(settingsFor(all, "n").per_device, 3u);
  EXPECT_EQ(settingsFor(all, "n").overcommit->all, 2000u);
}

TEST(NodeSettings, UnheededKeys_NamedWithLine) {
  const NodeSettings all = read(
      "settings:\n- nodes: [n]\n  perdevice: 3\n  exclude: {uuid: [GPU-12]}\n"
      "nodeconfig:\n- name: n\n  operatingmode: mig\n  devicecorescaling: 2\n  color: red\n"
      "more: 1\n");
  EXPECT_THAT(all.unheeded,
              ElementsAre(HasSubstr("nodes.yaml:10:1: \"more\" is unknown"),
                          HasSubstr("nodes.yaml:9:3: \"color\" is unknown; accepted: name, "),
                          HasSubstr("nodes.yaml:8:22: \"devicecorescaling\" above 1"),
                          HasSubstr("nodes.yaml:7:18: \"operatingmode\" is ignored"),
                          HasSubstr("nodes.yaml:3:3: \"perdevice\" is unknown"),
                          HasSubstr("nodes.yaml:4:13: \"uuid\" is unknown; accepted: uuids")));
  EXPECT_EQ(settingsFor(all, "n").cores, 100u);
  EXPECT_EQ(settingsFor(all, "n").exclude, agent::DeviceExclusions());
}

struct Wrong {
  const char* text;
  const char* says;
};

TEST(NodeSettings, WrongValues_RefusedWithPlaceAndAccepted) {
  const Wrong cases[] = {
      {"", "accepted: a map with settings, nodeconfig"},
      {"other: 1\n", "has no settings; accepted: a map with settings, or HAMi's nodeconfig"},
      {"settings: 3\n", "nodes.yaml:1:11: settings is not a list"},
      {"settings:\n- per_device: 3\n", "nodes.yaml:2:3: lacks nodes"},
      {"settings:\n- nodes: []\n", "nodes is not a list; accepted: a list that is not empty"},
      {"settings:\n- nodes: ['']\n", "accepted: a node's name, or a pattern"},
      {"settings:\n- nodes: [n]\n  per_device: 0\n",
       "nodes.yaml:3:15: \"0\"; accepted: a whole number from 1 to 100"},
      {"settings:\n- nodes: [n]\n  per_device: 101\n", "from 1 to 100"},
      {"settings:\n- nodes: [n]\n  per_device: 3\n  per_device: 4\n", "is given twice"},
      {"settings:\n- nodes: [n]\n  cores: 101\n", "from 1 to 100"},
      {"settings:\n- nodes: [n]\n  announce_numa: 1\n", "accepted: true or false"},
      {"settings:\n- nodes: [n]\n  overcommit: 5\n",
       "nodes.yaml:3:15: overcommit \"5\" is not understood; accepted: 1.0 to 4.0"},
      {"settings:\n- nodes: [n]\n  overcommit: [1]\n", "nodes.yaml:3:15: accepted: a text"},
      {"settings:\n- nodes: [n]\n  device_budget: much\n", "nodes.yaml:3:18: "},
      {"settings:\n- nodes: [n]\n  host_reserve: -1\n", "nodes.yaml:3:17: "},
      {"settings:\n- nodes: [n]\n  exclude: [0]\n", "accepted: a map with uuids, indices"},
      {"settings:\n- nodes: [n]\n  exclude: {indices: [-1]}\n", "from 0 to 1023"},
      {"settings:\n- nodes: [n]\n  exclude: {uuids: [GPU-]}\n", "a prefix longer than GPU-"},
      {"nodeconfig: [{devicesplitcount: 3}]\n", "lacks name"},
      {"nodeconfig: [{name: n, devicememoryscaling: 0.8}]\n", "accepted: 1.0 to 4.0"},
      {"nodeconfig: [{name: n, devicesplitcount: 200}]\n", "from 1 to 100"},
      {"nodeconfig: [{name: n, devicecorescaling: half}]\n", "a number from 0"},
      {"{\"nodeconfig\": [", "nodes.yaml:"}};
  for (const Wrong& one : cases) EXPECT_THAT(refusal(one.text), HasSubstr(one.says)) << one.text;
}

}  // namespace
}  // namespace divvy::cli
