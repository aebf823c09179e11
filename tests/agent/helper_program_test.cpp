// What `divvy agent-helper` becomes: a program with no more code than root needs.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "agent/helper_main.h"
#include "helper/client.h"
#include "helper/remote.h"
#include "helper_process/helper_args.h"
#include "sandbox.h"
#include "wire.h"

namespace divvy::test {
namespace {

namespace fs = std::filesystem;

std::string helperProgram() {
  return buildDir() + "/bin/divvy-agent-helper";
}

std::string textOf(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string bytesOf(const fs::path& path) {
  std::string bytes(fs::file_size(path), '\0');
  std::ifstream(path).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

std::uint64_t kibOf(int pid, const std::string& field) {
  const std::string status = textOf("/proc/" + std::to_string(pid) + "/status");
  const std::size_t at = status.find("\n" + field + ":");
  return at == std::string::npos ? 0 : std::stoull(status.substr(at + field.size() + 2));
}

// Names of the libraries that a process has loaded, without their versions.
std::set<std::string> librariesOf(int pid) {
  std::set<std::string> names;
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::string name = line.substr(line.rfind('/') + 1);
    if (line.find('/') != std::string::npos && name.find(".so") != std::string::npos)
      names.insert(name.substr(0, name.find(".so")));
  }
  return names;
}

class HelperProgram : public ::testing::Test {
 protected:
  Child begin() {
    Child helper = sandbox_.start({"agent-helper", "--node", "sim-h100", "--kubelet-dir",
                                   sandbox_.root() + "/kubelet", "--cdi-dir", "none"});
    EXPECT_TRUE(helper.complained("helper is ready socket=" + sandbox_.dir() + "/helper.sock"));
    return helper;
  }

  Sandbox sandbox_;
};

TEST_F(HelperProgram, Start_SeparateProgramAnswers) {
  Child helper = begin();
  EXPECT_EQ(fs::read_symlink("/proc/" + std::to_string(helper.pid()) + "/exe"),
            fs::canonical(helperProgram()));
  const auto link =
      std::make_shared<helper::Client>(sandbox_.dir() + "/helper.sock", std::chrono::seconds(20));
  const auto far = helper::RemoteProcesses::make(link);
  ASSERT_TRUE(far) << far.error().message();
  EXPECT_EQ((*far)->self(), getpid());
  // The driver that is installed with it was found, and asked.
  const Result<helper::Reply> uses = link->call(helper::Op::kUses, 0, "GPU-of-nobody");
  ASSERT_FALSE(uses);
  EXPECT_EQ(uses.error().message(), "no device GPU-of-nobody");
  helper.signal(SIGTERM);
  EXPECT_EQ(helper.wait().code(), 0);
  EXPECT_FALSE(fs::exists(sandbox_.dir() + "/helper.sock"));
}

TEST_F(HelperProgram, Binary_HasNoNetworkLibraries) {
  const std::vector<std::string> others{"grpc_", "OPENSSL", "N5boost4asio", "N5boost4json", "YAML"};
  const std::string small = bytesOf(helperProgram());
  const std::string large = bytesOf(divvyProgram());
  for (const std::string& other : others) {
    EXPECT_EQ(small.find(other), std::string::npos) << other;
    EXPECT_NE(large.find(other), std::string::npos) << other << ": nothing is shown";
  }
  Child helper = begin();
  for (const std::string& name : librariesOf(helper.pid()))
    EXPECT_TRUE((std::set<std::string>{"libc", "libgcc_s", "libm", "libstdc++", "ld-linux-x86-64",
                                       "ld-linux-aarch64"}
                     .contains(name)))
        << name;
  helper.signal(SIGTERM);
  EXPECT_EQ(helper.wait().code(), 0);
}

// It was 11 MiB as a part of `divvy`.
TEST_F(HelperProgram, Running_ResidentMemoryUnder6MiB) {
  constexpr std::uint64_t kMaxKib = 6 * 1024;
  Child helper = begin();
  const std::uint64_t kib = kibOf(helper.pid(), "VmRSS");
  EXPECT_GT(kib, 0u);
  EXPECT_LT(kib, kMaxKib);
  helper.signal(SIGTERM);
  EXPECT_EQ(helper.wait().code(), 0);
}

TEST(AgentHelper, ProgramMissing_ErrorSaysWhereItBelongs) {
  // Where it is found beside itself; a link of another kind would lead back.
  const fs::path alone = fs::path(buildDir()) / ("alone-" + std::to_string(getpid()));
  fs::create_directories(alone / "bin");
  fs::create_hard_link(divvyProgram(), alone / "bin/divvy");
  Child lonely({(alone / "bin/divvy").string(), "agent-helper"}, {});
  const Outcome outcome = lonely.wait();
  fs::remove_all(alone);
  EXPECT_EQ(outcome.code(), 1);
  EXPECT_NE(outcome.err.find("bin/divvy-agent-helper cannot be run: No such file or directory; it "
                             "belongs beside bin/divvy"),
            std::string::npos)
      << outcome.err;
}

TEST(AgentHelper, StartedDirectly_UsageIsPrinted) {
  for (const Words& words : {Words{}, Words{"--help"}, Words{"sim-h100", "none", "/k", "", ""}}) {
    Words all{helperProgram()};
    all.insert(all.end(), words.begin(), words.end());
    const Outcome outcome = Child(all, {}).wait();
    EXPECT_EQ(outcome.code(), 2);
    EXPECT_EQ(outcome.err, "divvy: this program is started by divvy agent-helper\n");
  }
}

TEST(HelperOptions, Words_RoundTrip) {
  for (const agent::HelperOptions& told :
       {agent::HelperOptions{},
        agent::HelperOptions{{"sim-h100x8"}, 4294967294u, "/k dir", "", "/var/lib/divvy"},
        agent::HelperOptions{{"gpu"}, 1, "/k", "/cdi", ""}}) {
    const Result<agent::HelperOptions> heard = agent::optionsOf(agent::wordsOf(told));
    ASSERT_TRUE(heard) << heard.error().message();
    EXPECT_EQ(heard->node.name, told.node.name);
    EXPECT_EQ(heard->agent_uid, told.agent_uid);
    EXPECT_EQ(heard->kubelet_dir, told.kubelet_dir);
    EXPECT_EQ(heard->cdi_dir, told.cdi_dir);
    EXPECT_EQ(heard->install_dir, told.install_dir);
  }
}

TEST(HelperOptions, InvalidWords_AreRefused) {
  const std::vector<std::string> good = agent::wordsOf({});
  for (const auto& [at, word] : {std::pair(0, "h100"), {1, ""}, {1, "-1"}, {1, "1x"}}) {
    std::vector<std::string> words = good;
    words[static_cast<std::size_t>(at)] = word;
    EXPECT_FALSE(agent::optionsOf(words)) << at << " " << word;
  }
  EXPECT_TRUE(agent::optionsOf(good));
}

}  // namespace
}  // namespace divvy::test
