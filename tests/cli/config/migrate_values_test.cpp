#include "config/migrate_values.h"
#include "config/node_settings.h"

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

namespace divvy::cli {
namespace {

std::string migrated(const std::string& text) {
  const Result<std::string> values = valuesFromHami(text, "values.yaml");
  EXPECT_TRUE(values) << values.error().message();
  return values ? *values : "";
}

TEST(MigrateValues, HamiKeysWithEquivalent_Translated) {
  const std::string text = migrated(R"(
devicePlugin:
  deviceSplitCount: 20
  deviceMemoryScaling: 1.3
  runtimeClassName: nvidia
  nvidiaNodeSelector: {gpu: "on", zone: a}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1}}
  podAnnotations: {prometheus.io/scrape: "true"}
scheduler:
  replicas: 3
  defaultSchedulerPolicy: {nodeSchedulerPolicy: spread, gpuSchedulerPolicy: binpack}
  kubeScheduler: {image: {registry: here.example, tag: v1.33.1}}
  tolerations: [{key: a, operator: Exists}]
imagePullSecrets: [{name: mine}]
legacyMetrics: true
)");
  const YAML::Node values = YAML::Load(text);
  EXPECT_EQ(values["agent"]["perDevice"].as<int>(), 20);
  EXPECT_EQ(values["agent"]["overcommit"].as<std::string>(), "1.3");
  EXPECT_EQ(values["agent"]["runtimeClassName"].as<std::string>(), "nvidia");
  EXPECT_EQ(values["agent"]["nodeSelector"]["zone"].as<std::string>(), "a");
  EXPECT_FALSE(values["agent"]["nodeSelector"]["gpu"]);
  EXPECT_EQ(values["agent"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"].as<int>(), 1);
  EXPECT_EQ(values["agent"]["podAnnotations"]["prometheus.io/scrape"].as<std::string>(), "true");
  EXPECT_EQ(values["scheduler"]["replicas"].as<int>(), 3);
  EXPECT_EQ(values["scheduler"]["nodePolicy"].as<std::string>(), "spread");
  EXPECT_EQ(values["scheduler"]["devicePolicy"].as<std::string>(), "binpack");
  EXPECT_EQ(values["kubeScheduler"]["image"]["tag"].as<std::string>(), "v1.33.1");
  EXPECT_EQ(values["scheduler"]["tolerations"].size(), 1u);
  EXPECT_EQ(values["imagePullSecrets"][0]["name"].as<std::string>(), "mine");
  EXPECT_TRUE(values["scheduler"]["compatMetrics"].as<bool>());
  EXPECT_TRUE(values["agent"]["metrics"]["compat"].as<bool>()) << "HAMi has one switch for both";
  EXPECT_NE(text.find("# Unknown keys: 0\n"), std::string::npos) << text;
}

// Regression: what the chart's schema has as text came out as booleans and numbers, and was
// refused.
TEST(MigrateValues, TextValues_StayQuoted) {
  const std::string text = migrated(
      "devicePlugin:\n  deviceMemoryScaling: 1.5\n  podAnnotations: {prometheus.io/scrape: "
      "\"true\", plain: word}\n  nvidiaNodeSelector: {nvidia.com/gpu.present: 'true'}\n");
  for (const char* line : {"overcommit: \"1.5\"\n", "prometheus.io/scrape: \"true\"\n",
                           "plain: word\n", "nvidia.com/gpu.present: \"true\"\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

// Regression: names came out as they were, which the chart's schema refused, and an empty list took
// away what the other one had.
TEST(MigrateValues, PullSecretsOfBothLists_MergedByName) {
  const std::string text = migrated(
      "global: {imagePullSecrets: [one]}\nimagePullSecrets: [{name: two}]\nscheduler: {replicas: "
      "2}\n");
  const YAML::Node secrets = YAML::Load(text)["imagePullSecrets"];
  ASSERT_EQ(secrets.size(), 2u) << text;
  EXPECT_EQ(secrets[0]["name"].as<std::string>(), "one");
  EXPECT_EQ(secrets[1]["name"].as<std::string>(), "two");
  EXPECT_EQ(YAML::Load(migrated(
                "global: {imagePullSecrets: [one]}\nimagePullSecrets: []\n"))["imagePullSecrets"]
                .size(),
            1u);
}

// What its own page on how to install it says to everybody.
TEST(MigrateValues, KubeSchedulerVersionAndPaths_NotTakenOver) {
  const std::string text = migrated(
      "scheduler: {kubeScheduler: {imageTag: v1.30.4}}\nglobal: {imageRegistry: here.example}\n"
      "devicePlugin: {pluginPath: /var/lib/kubelet/device-plugins, libPath: /usr/local/vgpu}\n");
  EXPECT_EQ(YAML::Load(text).size(), 0u) << text;
  EXPECT_NE(text.find("#   scheduler.kubeScheduler.imageTag: the cluster's version is used"),
            std::string::npos);
  EXPECT_NE(text.find("# Decide by hand: 1\n#   global.imageRegistry: image.registry"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("# Unknown keys: 0\n"), std::string::npos) << text;
}

// Its chart's own false would have switched off the names that it always tells.
// What comes of it is what agents read.
TEST(MigrateValues, NodeConfiguration_BecomesNodeSettings) {
  const std::string text = migrated(
      "devicePlugin:\n  nodeConfiguration:\n    config: |\n      {\"nodeconfig\": [{\"name\": "
      "\"n\",\n"
      "        \"devicesplitcount\": 3, \"filterdevices\": {\"uuid\": [], \"index\": [1]}}]}\n"
      "    externalConfigName: mine\n");
  const YAML::Node settings = YAML::Load(text)["agent"]["nodeSettings"];
  ASSERT_TRUE(settings && settings.IsScalar()) << text;
  const Result<NodeSettings> read = readNodeSettings(settings.Scalar(), "values");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(settingsFor(*read, "n").per_device, 3u);
  EXPECT_EQ(settingsFor(*read, "n").exclude, (agent::DeviceExclusions{{}, {1}}));
  EXPECT_NE(text.find("nodeConfiguration.externalConfigName: agent.nodeSettings"),
            std::string::npos)
      << text;
}

TEST(MigrateValues, LegacyMetricsNotTrue_HamiMetricNamesMentioned) {
  for (const char* said : {"legacyMetrics: false\n", "imagePullSecrets: []\n"}) {
    const std::string text = migrated(said);
    EXPECT_FALSE(YAML::Load(text)["agent"]) << text;
    EXPECT_NE(text.find("hami_*"), std::string::npos) << text;
  }
  EXPECT_EQ(migrated("legacyMetrics: true\n").find("hami_*"), std::string::npos);
}

TEST(MigrateValues, UnknownKeys_NamedAndCounted) {
  const std::string text = migrated("madeUp: {a: 1, b: [2]}\nempty: {}\nscheduler: {newKnob: x}\n");
  EXPECT_NE(text.find("# Unknown keys: 3\n#   madeUp.a\n#   madeUp.b\n#   scheduler.newKnob\n"),
            std::string::npos)
      << text;
}

TEST(MigrateValues, HamiDefaults_NoValuesWritten) {
  const std::string text = migrated(
      "resourceName: nvidia.com/gpu\nresourceMem: nvidia.com/gpumem\n"
      "schedulerName: hami-scheduler\nscheduler: {replicas: 1}\n"
      "devicePlugin: {deviceMemoryScaling: 1}\n");
  EXPECT_EQ(YAML::Load(text).size(), 0u) << text;
  EXPECT_EQ(text.find("Decide by hand"), std::string::npos) << text;
}

TEST(MigrateValues, ManualDecisions_ListedWithReason) {
  const std::string text = migrated(
      "resourceName: example.com/gpu\nresourceCores: example.com/cores\n"
      "global: {gpuHookPath: /usr/local}\n");
  EXPECT_NE(text.find("# Decide by hand: 2\n#   resourceName: "), std::string::npos) << text;
  EXPECT_NE(text.find("#   global.gpuHookPath: "), std::string::npos) << text;
  EXPECT_EQ(YAML::Load(text)["agent"]["resource"].as<std::string>(), "example.com/gpu");
}

TEST(MigrateValues, ReleaseWithoutValues_EmptyMap) {
  EXPECT_TRUE(YAML::Load(migrated("null\n")).IsMap());
  EXPECT_TRUE(YAML::Load(migrated("# none\n")).IsMap());
}

// Regression: a pipe from a helm that failed made a values file without settings.
TEST(MigrateValues, EmptyText_Refused) {
  for (const char* text : {"", " \n"}) {
    const Result<std::string> empty = valuesFromHami(text, "-");
    ASSERT_FALSE(empty);
    EXPECT_NE(empty.error().message().find("does the release exist"), std::string::npos);
  }
}

TEST(MigrateValues, NoValuesFile_RefusedWithPlace) {
  const Result<std::string> broken = valuesFromHami("a: 1\nb: [", "v.yaml");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code(), ErrorCode::kUsage);
  EXPECT_EQ(broken.error().message().rfind("v.yaml:", 0), 0u) << broken.error().message();
  EXPECT_FALSE(valuesFromHami("- a\n", "v.yaml"));
}

}  // namespace
}  // namespace divvy::cli
