#include "landlock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <seccomp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/fd.h"
#include "seccomp_filter.h"

namespace divvy::helper {
namespace {

namespace fs = std::filesystem;

class LandlockTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "landlock-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
    for (const char* name :
         {"run", "install", "device-plugins", "cdi", "elsewhere", "cards", "drv"})
      fs::create_directories(root_ + "/" + name);
    for (const char* name : {"install/library.so", "device-plugins/checkpoint", "elsewhere/secret"})
      std::ofstream(root_ + "/" + name) << "x";
  }
  void TearDown() override { fs::remove_all(root_); }

  ServerOptions terms() const {
    ServerOptions terms;
    terms.socket = root_ + "/run/helper.sock";
    terms.lent = {root_ + "/run", root_ + "/install"};
    terms.sockets = std::make_shared<kubelet::LocalKubeletDirs>(root_);
    terms.cdi_dir = root_ + "/cdi";
    terms.libraries = {root_ + "/drv"};
    return terms;
  }

  std::string root_;
};

std::uint64_t rightsOn(const std::vector<FileRule>& rules, const std::string& path) {
  std::uint64_t rights = 0;
  for (const FileRule& rule : rules)
    if (rule.path == path) rights |= rule.rights;
  return rights;
}

// Also where the kernel has no Landlock.
TEST_F(LandlockTest, FileRules_NameOnlyWhatAnsweringNeeds) {
  const std::vector<FileRule> rules = fileRules(terms());
  const std::uint64_t read = kReadFile | kReadFolder;
  EXPECT_EQ(rightsOn(rules, root_ + "/run"),
            read | kMakeFolder | kRemoveFolder | kMakeSocket | kRemoveFile);
  EXPECT_EQ(rightsOn(rules, root_ + "/install"), read | kMakeFolder | kRemoveFolder);
  EXPECT_EQ(rightsOn(rules, root_ + "/device-plugins"), read | kMakeSocket | kRemoveFile);
  EXPECT_EQ(rightsOn(rules, root_ + "/cdi"), read | kWriteFile | kMakeFile | kRemoveFile);
  EXPECT_EQ(rightsOn(rules, root_ + "/drv"), read);
  EXPECT_EQ(rightsOn(rules, "/proc"), read);
  for (const char* path : {"/", "/etc", "/dev", "/run", "/var", "/root", "/home"})
    EXPECT_EQ(rightsOn(rules, path), 0u) << path;
  for (const FileRule& rule : rules)
    EXPECT_TRUE(rule.path.starts_with(root_) || rule.path.starts_with("/dev/") ||
                (rule.rights & ~read) == 0)
        << rule.path << " may be changed";
}

TEST_F(LandlockTest, SimulatedCards_FolderWritableOnlyThen) {
  ServerOptions with = terms();
  with.cards = root_ + "/cards";
  EXPECT_NE(rightsOn(fileRules(with), root_ + "/cards") & kWriteFile, 0u);
  EXPECT_EQ(rightsOn(fileRules(terms()), root_ + "/cards"), 0u);
}

// Of a child under the rules, as a kernel of `version` has them.
bool underRules(const std::vector<FileRule>& rules, int version, const std::function<bool()>& is) {
  const pid_t child = fork();
  if (child == 0) {
    // As serve() does: with CAP_PERFMON root reads of others what Landlock alone would refuse.
    if (version > 0 && (!dropCapabilities() || !limitFiles(rules, version))) _exit(2);
    _exit(is() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 2) << "no rules could be made";
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool opens(const std::string& path, int flags) {
  return Fd(open(path.c_str(), flags | O_CLOEXEC, 0600)).valid();
}

bool bindsSocket(const std::string& path) {
  const std::string other = path + ".new";
  return mknod(other.c_str(), S_IFSOCK | 0600, 0) == 0 && unlink(other.c_str()) == 0;
}

// Every version that this kernel can stand for: those that it knows have what earlier ones have.
class LandlockVersions : public LandlockTest, public testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    LandlockTest::SetUp();
    if (landlockVersion() < GetParam())
      GTEST_SKIP() << "SKIPPED: this kernel has version " << landlockVersion() << " of Landlock";
  }
  bool may(const std::function<bool()>& is) {
    return underRules(fileRules(terms()), GetParam(), is);
  }
};

TEST_P(LandlockVersions, WhatAnsweringNeeds_Allowed) {
  EXPECT_TRUE(may([&] { return opens("/proc", O_RDONLY | O_DIRECTORY); }));
  EXPECT_TRUE(may([&] { return opens(root_ + "/install/library.so", O_RDONLY); }));
  EXPECT_TRUE(may([&] { return opens(root_ + "/device-plugins/checkpoint", O_RDONLY); }));
  EXPECT_TRUE(may([&] { return bindsSocket(root_ + "/run/helper.sock"); }));
  EXPECT_TRUE(may([&] { return bindsSocket(root_ + "/device-plugins/divvy-a.sock"); }));
  EXPECT_TRUE(may([&] {
    const std::string fresh = root_ + "/cdi/fresh";
    const std::string spec = root_ + "/cdi/spec";
    return opens(fresh, O_RDWR | O_CREAT | O_EXCL) && rename(fresh.c_str(), spec.c_str()) == 0 &&
           unlink(spec.c_str()) == 0;
  }));
  EXPECT_TRUE(may([&] { return opens("/usr", O_RDONLY | O_DIRECTORY); }));
}

// Findings of a review: what root without a capability may do to the processes that it sees.
TEST_P(LandlockVersions, OtherFilesAndProcesses_Refused) {
  const std::string other = "/proc/" + std::to_string(getpid());
  const std::vector<std::pair<const char*, std::function<bool()>>> tries{
      {"a file elsewhere", [&] { return opens(root_ + "/elsewhere/secret", O_RDONLY); }},
      {"the machine's users", [] { return opens("/etc/passwd", O_RDONLY); }},
      {"who is ended when memory is short",
       [&] { return opens(other + "/oom_score_adj", O_WRONLY); }},
      {"the kernel's settings", [] { return opens("/proc/sys/kernel/core_pattern", O_WRONLY); }},
      {"another's variables", [&] { return opens(other + "/environ", O_RDONLY); }},
      {"another's files", [&] { return opens(other + "/root", O_RDONLY | O_DIRECTORY); }},
      {"what tenants load", [&] { return opens(root_ + "/install/library.so", O_WRONLY); }},
      {"a new file there", [&] { return opens(root_ + "/install/new", O_WRONLY | O_CREAT); }},
      {"a plain file among plugins",
       [&] { return opens(root_ + "/device-plugins/new", O_WRONLY | O_CREAT); }}};
  for (const auto& [name, is] : tries) {
    EXPECT_FALSE(may(is)) << name;
    if (geteuid() == 0) {
      EXPECT_TRUE(underRules({}, 0, is)) << name << ": nothing is shown";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, LandlockVersions, testing::Values(1, 2, 3, 4, 5, 6, 7));

TEST_F(LandlockTest, Version6_ForeignSocketsAndSignalsRefused) {
  if (landlockVersion() < 6) GTEST_SKIP() << "SKIPPED: this kernel's Landlock has no scopes";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "divvy-" + std::to_string(getpid());
  name.copy(address.sun_path + 1, name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  const Fd listening(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(listening.get(), where, size), 0);
  ASSERT_EQ(listen(listening.get(), 4), 0);
  const auto connects = [&] {
    const Fd own(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return connect(own.get(), where, size) == 0;
  };
  const auto signals = [parent = getpid()] { return kill(parent, 0) == 0; };
  EXPECT_TRUE(underRules({}, 0, connects));
  EXPECT_FALSE(underRules(fileRules(terms()), 6, connects));
  EXPECT_TRUE(underRules({}, 0, signals));
  EXPECT_FALSE(underRules(fileRules(terms()), 6, signals));
}

TEST_F(LandlockTest, DropCapabilities_ChrootRefused) {
  EXPECT_FALSE(underRules({}, 0, [] { return !dropCapabilities() || chroot("/") == 0; }));
  if (geteuid() == 0) {
    EXPECT_TRUE(underRules({}, 0, [] { return chroot("/") == 0; }));
  }
}

TEST_F(LandlockTest, RuleForMissingPath_NoError) {
  if (landlockVersion() == 0) GTEST_SKIP() << "SKIPPED: this kernel has no Landlock";
  EXPECT_TRUE(underRules({{"/none/of/this", kReadFile}}, 1, [] { return true; }));
}

// What a helper says from its beginning to its end, in a process of its own.
std::string saidBy(const ServerOptions& told, bool landlock) {
  std::array<int, 2> lines{};
  if (pipe2(lines.data(), O_CLOEXEC) != 0) return "";
  const pid_t helper = fork();
  if (helper == 0) {
    if (!landlock) {
      // As a kernel that was started without it.
      void* const filter = seccomp_init(SCMP_ACT_ALLOW);
      if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(EOPNOTSUPP), 444, 0) != 0 ||
          seccomp_load(filter) != 0)
        _exit(3);
    }
    ServerOptions terms = told;
    terms.say = [&](const std::string& line) {
      (void)!write(lines[1], (line + "\n").data(), line.size() + 1);
    };
    _exit(serve(terms) ? 0 : 1);
  }
  close(lines[1]);
  const Fd said(lines[0]);
  std::string text;
  std::array<char, 512> part;
  for (bool asked = false;;) {
    pollfd ready{said.get(), POLLIN, 0};
    if (poll(&ready, 1, 20'000) != 1) break;
    const ssize_t got = read(said.get(), part.data(), part.size());
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
    // What it says before it reads a signal it has said by its end.
    if (!asked) kill(helper, SIGTERM);
    asked = true;
  }
  int status = 0;
  waitpid(helper, &status, 0);
  EXPECT_EQ(status, 0);
  return text;
}

TEST_F(LandlockTest, FolderMissingAtStart_HelperNamesIt) {
  if (landlockVersion() == 0) GTEST_SKIP() << "SKIPPED: this kernel has no Landlock";
  EXPECT_EQ(saidBy(terms(), true).find("is missing"), std::string::npos);
  ServerOptions early = terms();
  early.sockets = std::make_shared<kubelet::LocalKubeletDirs>(root_ + "/later");
  const std::string said = saidBy(early, true);
  EXPECT_NE(
      said.find("restart the helper once it exists directory=" + root_ + "/later/device-plugins"),
      std::string::npos)
      << said;
}

TEST_F(LandlockTest, KernelWithoutLandlock_HelperSaysSo) {
  const std::string without = saidBy(terms(), false);
  EXPECT_NE(without.find("helper is ready "), std::string::npos);
  EXPECT_NE(without.find("no Landlock"), std::string::npos) << without;
  if (landlockVersion() == 0) GTEST_SKIP() << "SKIPPED: this kernel has no Landlock";
  const std::string with = saidBy(terms(), true);
  EXPECT_NE(with.find("helper is ready "), std::string::npos);
  EXPECT_EQ(with.find("no Landlock"), std::string::npos) << with;
}

}  // namespace
}  // namespace divvy::helper
