// What is said to podman and docker, taken apart and put together again.
#include "options/container_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "options/options.h"

namespace divvy::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Words = std::vector<std::string>;

ContainerArguments parsed(const Words& words, Runtime runtime = Runtime::kPodman) {
  Result<ContainerArguments> result = parseContainerWords(runtime, words);
  EXPECT_TRUE(result) << result.error().message();
  return result ? *result : ContainerArguments();
}

std::string refusalOf(const Words& words, Runtime runtime = Runtime::kPodman) {
  const Result<ContainerArguments> result = parseContainerWords(runtime, words);
  EXPECT_FALSE(result);
  if (result) return "";
  EXPECT_EQ(result.error().code(), ErrorCode::kUsage);
  return result.error().message();
}

// `divvy WORDS`, as far as it is parsed.
Result<Options> commandLine(Words words) {
  words.insert(words.begin(), "divvy");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  return parseOptions(static_cast<int>(arguments.size()), arguments.data());
}

RunOptions runOf(const Words& words) {
  const Result<Options> options = commandLine(words);
  EXPECT_TRUE(options) << options.error().message();
  return options ? std::get<RunOptions>(*options) : RunOptions();
}

TEST(ContainerCommand, Options_FirstOtherWordIsImage) {
  struct Case {
    Words words;
    std::string image;
  };
  for (const auto& [words, image] :
       {Case{{"image"}, "image"}, Case{{"--rm", "image", "--rm"}, "image"},
        Case{{"-it", "image", "sh"}, "image"}, Case{{"-itv", "/a:/b", "image"}, "image"},
        Case{{"-v/a:/b", "image"}, "image"}, Case{{"-e", "A=1", "image"}, "image"},
        Case{{"--env=A=1", "image"}, "image"}, Case{{"--rm=true", "image"}, "image"},
        Case{{"--name", "web", "--read-only", "image"}, "image"},
        Case{{"-d", "-u", "1000", "--", "image"}, "image"}, Case{{"-m=1g", "image"}, "image"},
        Case{{"-im", "1g", "image"}, "image"}, Case{{"-h", "host", "image"}, "image"},
        Case{{"--what-comes-next-year", "value", "image"}, "image"}}) {
    const ContainerArguments result = parsed(words);
    ASSERT_FALSE(result.rest.empty());
    EXPECT_EQ(result.rest[0], image) << ::testing::PrintToString(words);
  }
}

TEST(ContainerCommand, CommandAfterImage_NotInspected) {
  const Words rest{"image", "prog", "--gpus", "all", "--privileged", "--device", "/dev/nvidia0"};
  Words words{"--rm"};
  words.insert(words.end(), rest.begin(), rest.end());
  EXPECT_EQ(parsed(words).rest, rest);
}

TEST(ContainerCommand, OptionsThatGrantDevices_Refused) {
  for (const Words& words :
       {Words{"--gpus", "all", "i"}, Words{"--gpus=1", "i"}, Words{"--privileged", "i"},
        Words{"--device", "/dev/nvidia1", "i"}, Words{"--device=nvidia.com/gpu=all", "i"},
        Words{"--device", "divvy.dev/share=other", "i"}, Words{"--device", "/dev", "i"},
        Words{"-e", "NVIDIA_VISIBLE_DEVICES=all", "i"}, Words{"-e", "NVIDIA_VISIBLE_DEVICES", "i"},
        Words{"--env=NVIDIA_VISIBLE_DEVICES=0", "i"},
        Words{"-ite", "NVIDIA_VISIBLE_DEVICES=0", "i"},
        Words{"--device-cgroup-rule", "c 195:* rwm", "i"},
        Words{"--device-cgroup-rule", "a *:* rwm", "i"},
        Words{"--device-cgroup-rule", "c 508:0 rw", "i"}}) {
    for (const Runtime runtime : {Runtime::kPodman, Runtime::kDocker})
      EXPECT_THAT(refusalOf(words, runtime), HasSubstr("accepted: "));
  }
}

TEST(ContainerCommand, SimilarHarmlessOptions_Accepted) {
  for (const Words& words :
       {Words{"--privileged=false", "i"}, Words{"--device", "/dev/fuse", "i"},
        Words{"-e", "NVIDIA_DRIVER_CAPABILITIES=all", "i"},
        Words{"--device-cgroup-rule", "c 1:3 rw", "i"},
        Words{"-v", "/run/divvyish:/run/divvyish", "i"}, Words{"-v", "/run:/run", "i"},
        Words{"--tmpfs", "/run", "i"}, Words{"-v", "data", "i"}})
    EXPECT_EQ(parsed(words).rest, Words{"i"});
}

TEST(ContainerCommand, MountOverShare_Refused) {
  for (const Words& words :
       {Words{"-v", "/a:/run/divvy/tenant", "i"}, Words{"-v", "/a:/etc/ld.so.preload:ro", "i"},
        Words{"--volume=/a:/run/divvy/", "i"}, Words{"--tmpfs", "/run/divvy:rw", "i"},
        Words{"--mount", "type=bind,src=/a,dst=/run/divvy/lib", "i"},
        Words{"--mount", "type=tmpfs,destination=/etc/ld.so.preload", "i"},
        Words{"-v", "/run/divvy", "i"}})
    EXPECT_THAT(refusalOf(words), HasSubstr("hides the mount of its share"));
}

TEST(ContainerCommand, DivvyOptionBehindRuntime_CorrectPlaceNamed) {
  EXPECT_THAT(refusalOf({"--cores", "30", "image"}),
              HasSubstr("accepted: divvy run --cores ... --podman"));
  EXPECT_THAT(refusalOf({"--sim", "image"}, Runtime::kDocker),
              HasSubstr("--sim is an option of divvy run"));
  // Podman has that one, too.
  EXPECT_THAT(parsed({"--memory", "4g", "image"}).remarks,
              ElementsAre(HasSubstr("limits host memory")));
}

TEST(ContainerCommand, NoImage_Refused) {
  for (const Words& words : {Words{}, Words{"--rm"}, Words{"--name", "web"}, Words{"-it", "--"}})
    EXPECT_THAT(refusalOf(words), HasSubstr("no image"));
}

TEST(ContainerCommand, DetachedWithRestart_Refused) {
  EXPECT_THAT(refusalOf({"-d", "--restart", "always", "i"}), HasSubstr("--restart"));
  EXPECT_TRUE(parsed({"-d", "--restart", "no", "i"}).detached);
  EXPECT_FALSE(parsed({"--restart=always", "i"}).detached);
  EXPECT_FALSE(parsed({"-d=false", "i"}).detached);
}

TEST(ContainerCommand, Edits_InsertedBeforeImage) {
  agent::ContainerEdits edits;
  edits.mounts = {{"/rt/control", "/run/divvy/tenant/control", true},
                  {"/rt/a,b", "/run/divvy/tenant/report", false}};
  edits.devices = {"/dev/nvidiactl"};
  edits.environment = {{"LD_LIBRARY_PATH", "/run/divvy/driver"},
                       {"NVIDIA_VISIBLE_DEVICES", "void"}};
  EXPECT_THAT(
      containerCommand(
          parsed({"--rm", "-e", "LD_LIBRARY_PATH=/opt", "image", "sh"}, Runtime::kDocker), edits),
      ElementsAre("docker", "run", "--rm", "-e", "LD_LIBRARY_PATH=/opt", "--mount",
                  "type=bind,src=/rt/control,dst=/run/divvy/tenant/control,readonly", "--mount",
                  "type=bind,\"src=/rt/a,b\",dst=/run/divvy/tenant/report", "--device",
                  "/dev/nvidiactl", "--env", "LD_LIBRARY_PATH=/run/divvy/driver:/opt", "--env",
                  "NVIDIA_VISIBLE_DEVICES=void", "image", "sh"));
}

TEST(ContainerCommand, NoEdits_CommandUnchanged) {
  EXPECT_THAT(containerCommand(parsed({"-it", "--name", "web", "image", "a b"}), {}),
              ElementsAre("podman", "run", "-it", "--name", "web", "image", "a b"));
}

TEST(ContainerCommand, PodmanOption_SplitsCommandLine) {
  const RunOptions run = runOf({"run", "--memory", "4Gi", "--podman", "--memory", "1g", "--name",
                                "web", "image", "--", "--docker"});
  ASSERT_TRUE(run.container);
  EXPECT_EQ(run.ask.memory.text(), "4 GiB");
  EXPECT_EQ(run.name, "web");
  EXPECT_THAT(run.container->options, ElementsAre("--memory", "1g", "--name", "web"));
  EXPECT_THAT(run.container->rest, ElementsAre("image", "--", "--docker"));
  EXPECT_THAT(run.container->remarks, IsEmpty());
  EXPECT_THAT(run.command, ElementsAre("podman", "run", "--memory", "1g", "--name", "web", "image",
                                       "--", "--docker"));
}

TEST(ContainerCommand, CommandWithSameOption_NotTakenForContainer) {
  const RunOptions bare = runOf({"run", "--memory", "4Gi", "build", "--docker", "image"});
  EXPECT_FALSE(bare.container);
  EXPECT_THAT(bare.command, ElementsAre("build", "--docker", "image"));
  const RunOptions dashed = runOf({"run", "--", "--podman", "image"});
  EXPECT_FALSE(dashed.container);
  EXPECT_THAT(dashed.command, ElementsAre("--podman", "image"));
}

TEST(ContainerCommand, TenantName_OwnNameElseEmpty) {
  EXPECT_EQ(runOf({"run", "--name", "mine", "--podman", "--name", "web", "image"}).name, "mine");
  EXPECT_EQ(runOf({"run", "--podman", "image"}).name, "");
}

TEST(ContainerCommand, OtherBackends_Refused) {
  for (const char* backend : {"mps", "timeslice"}) {
    const Result<Options> options =
        commandLine({"run", "--cores", "30", "--enforce", backend, "--podman", "image"});
    ASSERT_FALSE(options);
    EXPECT_THAT(options.error().message(), HasSubstr("accepted: interposer"));
  }
}

TEST(ShareOptions, Create_ParsedLikeRunWithName) {
  const Result<Options> options = commandLine(
      {"share", "create", "web", "--memory", "4Gi", "--cores", "30", "--wait", "5m", "--sim"});
  ASSERT_TRUE(options) << options.error().message();
  const auto& share = std::get<ShareOptions>(*options);
  EXPECT_EQ(share.what, ShareOptions::What::kCreate);
  EXPECT_EQ(share.run.name, "web");
  EXPECT_EQ(share.run.ask.memory.text(), "4 GiB");
  EXPECT_EQ(share.run.ask.cores, 30u);
  EXPECT_TRUE(share.run.wait && share.run.sim);
  EXPECT_EQ(share.cdi_dir, "/run/cdi");
}

TEST(ShareOptions, InvalidShares_UsageError) {
  for (const Words& words :
       {Words{"share"}, Words{"share", "create"}, Words{"share", "rm"},
        Words{"share", "create", "a b"}, Words{"share", "create", "web", "--cdi-dir", "cdi"},
        Words{"share", "create", "web", "--cores", "9", "--enforce", "mps"},
        Words{"share", "create", "web", "--podman", "image"}, Words{"share", "none", "web"}}) {
    const Result<Options> options = commandLine(words);
    ASSERT_FALSE(options) << ::testing::PrintToString(words);
    EXPECT_EQ(options.error().code(), ErrorCode::kUsage);
  }
}

}  // namespace
}  // namespace divvy::cli
