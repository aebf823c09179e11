// Programs that the agent runs for somebody.
#include "tenant_shutdown/shutdown_hook.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace divvy::agent {
namespace {

namespace fs = std::filesystem;

class HookTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "divvy-hook-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
  }
  void TearDown() override { fs::remove_all(dir_); }

  std::string script(const std::string& text) {
    const std::string path = (dir_ / "hook").string();
    std::ofstream(path) << "#!/bin/sh\n" << text;
    chmod(path.c_str(), 0700);
    return path;
  }
  static HookState end(Hook* hook) {
    HookState state = HookState::kRunning;
    for (int i = 0; i < 3000 && state == HookState::kRunning; ++i) {
      state = hook->poll();
      if (state == HookState::kRunning) ::poll(nullptr, 0, 10);
    }
    return state;
  }

  fs::path dir_;
};

TEST_F(HookTest, Start_SeesOnlyGivenEnvironment) {
  Result<Hook> hook = Hook::start(script("echo \"$A|${HOME-none}|$#|$(pwd)\"; echo more >&2\n"),
                                  {"A=1; rm x $(y)"});
  ASSERT_TRUE(hook);
  EXPECT_EQ(end(&*hook), HookState::kSucceeded);
  EXPECT_EQ(hook->output(), "1; rm x $(y)|none|0|/\nmore\n");
  EXPECT_EQ(hook->ending(), "exit status 0");
  EXPECT_EQ(hook->poll(), HookState::kSucceeded);
}

TEST_F(HookTest, Failure_EndingIsNamed) {
  Result<Hook> hook = Hook::start(script("exit 3\n"), {});
  ASSERT_TRUE(hook);
  EXPECT_EQ(end(&*hook), HookState::kFailed);
  EXPECT_EQ(hook->ending(), "exit status 3");
  hook = Hook::start(script("kill -9 $$\n"), {});
  EXPECT_EQ(end(&*hook), HookState::kFailed);
  EXPECT_EQ(hook->ending(), "killed by signal 9");
  hook = Hook::start((dir_ / "none").string(), {});
  EXPECT_EQ(end(&*hook), HookState::kFailed);
  EXPECT_EQ(hook->ending(), "exit status 127");
}

TEST_F(HookTest, LongOutput_IsBounded) {
  Result<Hook> hook = Hook::start(
      script("i=0; while [ $i -lt 30000 ]; do echo 0123456789; i=$((i+1)); done\n"), {});
  ASSERT_TRUE(hook);
  EXPECT_EQ(end(&*hook), HookState::kSucceeded);
  EXPECT_EQ(hook->output().size(), Hook::kMaxOutput);
}

TEST_F(HookTest, Kill_EndsDescendants) {
  const std::string pid = (dir_ / "pid").string();
  Result<Hook> hook = Hook::start(
      script("sleep 1000 & echo $! > " + pid + ".new; mv " + pid + ".new " + pid + "; wait\n"),
      {"PATH=/usr/bin:/bin"});
  ASSERT_TRUE(hook);
  for (int i = 0; i < 3000 && !fs::exists(pid); ++i) ::poll(nullptr, 0, 10);
  int child = 0;
  std::ifstream(pid) >> child;
  ASSERT_GT(child, 1);
  EXPECT_EQ(hook->poll(), HookState::kRunning);
  hook->kill();
  EXPECT_EQ(hook->poll(), HookState::kFailed);
  EXPECT_EQ(hook->ending(), "killed at the deadline");
  // Gone, or dead and waiting for whoever inherited it.
  const auto alive = [&] {
    std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
    std::string word;
    std::string state;
    stat >> word >> word >> state;
    return !state.empty() && state != "Z";
  };
  for (int i = 0; i < 3000 && alive(); ++i) ::poll(nullptr, 0, 10);
  EXPECT_FALSE(alive());
}

}  // namespace
}  // namespace divvy::agent
