#include "landlock.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/fd.h"

namespace divvy::helper {
namespace {

// The kernel's numbers, equal on all architectures; a distribution's headers may lack them.
constexpr long kCreateRuleset = 444;
constexpr long kAddRule = 445;
constexpr long kRestrictSelf = 446;
constexpr unsigned kAskVersion = 1;
constexpr int kRuleOfPath = 1;

struct Ruleset {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scopes = 0;
};

struct [[gnu::packed]] PathRule {
  std::uint64_t rights = 0;
  std::int32_t parent = -1;
};

// Rights that a version handles: all of them are denied unless a rule grants them.
Ruleset knownBy(int version) {
  Ruleset known;
  known.files = (1u << 13) - 1;
  if (version >= 2) known.files |= 1u << 13;  // links and renames across folders
  if (version >= 3) known.files |= kTruncate;
  if (version >= 4) known.network = 3;  // bind, connect
  if (version >= 5) known.files |= kDeviceCall;
  if (version >= 6) known.scopes = 3;  // abstract sockets, signals
  return known;
}

constexpr std::uint64_t kOfPlainFiles = 1u | kWriteFile | kReadFile | kTruncate | kDeviceCall;
constexpr std::uint64_t kRead = kReadFile | kReadFolder;

// Directories of NVIDIA's libraries, by distribution and installer, and the files that they read.
constexpr const char* kSystem[] = {"/usr",
                                   "/lib",
                                   "/lib32",
                                   "/lib64",
                                   "/opt",
                                   "/etc/ld.so.cache",
                                   "/etc/nvidia",
                                   "/sys",
                                   "/proc",
                                   "/run/nvidia",
                                   "/home/kubernetes/bin/nvidia"};

void addPattern(const char* pattern, std::uint64_t rights, std::vector<FileRule>* rules) {
  glob_t found{};
  if (glob(pattern, GLOB_NOSORT, nullptr, &found) == 0)
    for (std::size_t at = 0; at < found.gl_pathc; ++at)
      rules->push_back({found.gl_pathv[at], rights});
  globfree(&found);
}

void addList(std::string_view list, std::uint64_t rights, std::vector<FileRule>* rules) {
  while (!list.empty()) {
    const std::size_t end = list.find(':');
    const std::string_view path = list.substr(0, end);
    if (path.starts_with('/')) rules->push_back({std::string(path), rights});
    list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
  }
}

std::string parentOf(const std::string& path) {
  const std::size_t at = path.rfind('/');
  return at == std::string::npos ? "." : path.substr(0, at == 0 ? 1 : at);
}

Error refused(const std::string& what) {
  return {ErrorCode::kUnsupported,
          "limiting files by Landlock: " + what + ": " + std::string(std::strerror(errno))};
}

Result<void> addRule(const Fd& ruleset, const FileRule& rule, std::uint64_t known) {
  const Fd path(open(rule.path.c_str(), O_PATH | O_CLOEXEC));
  struct stat info {};
  if (!path.valid() || fstat(path.get(), &info) != 0) return {};
  PathRule wanted;
  wanted.rights = rule.rights & known & (S_ISDIR(info.st_mode) ? ~0ull : kOfPlainFiles);
  wanted.parent = path.get();
  if (wanted.rights == 0) return {};
  if (syscall(kAddRule, ruleset.get(), kRuleOfPath, &wanted, 0u) == 0) return {};
  return refused(rule.path);
}

}  // namespace

std::vector<FileRule> fileRules(const ServerOptions& options) {
  std::vector<FileRule> rules;
  for (const char* path : kSystem) rules.push_back({path, kRead});
  if (const char* list = std::getenv("LD_LIBRARY_PATH")) addList(list, kRead, &rules);
  for (const std::string& path : options.libraries) rules.push_back({path, kRead});
  addPattern("/dev/nvidia*", kRead | kWriteFile | kDeviceCall, &rules);
  rules.push_back({"/dev/null", kReadFile | kWriteFile});
  rules.push_back({"/dev/urandom", kReadFile});
  // Their contents are the agent's; modes are changed through descriptors open for reading.
  for (const std::string& folder : options.lent)
    rules.push_back({folder, kRead | kMakeFolder | kRemoveFolder});
  rules.push_back({parentOf(options.socket), kMakeSocket | kRemoveFile});
  rules.push_back({options.sockets->pathOf(""), kRead | kMakeSocket | kRemoveFile});
  const std::uint64_t written = kRead | kWriteFile | kMakeFile | kRemoveFile;
  if (!options.cdi_dir.empty()) rules.push_back({options.cdi_dir, written});
  if (!options.cards.empty()) rules.push_back({options.cards, written | kMakeFolder | kTruncate});
  return rules;
}

int landlockVersion() {
  const long version = syscall(kCreateRuleset, nullptr, 0, kAskVersion);
  return version > 0 ? static_cast<int>(version) : 0;
}

Result<void> limitFiles(const std::vector<FileRule>& rules, int version) {
  const Ruleset known = knownBy(version);
  const Fd ruleset(static_cast<int>(syscall(kCreateRuleset, &known, sizeof known, 0u)));
  if (!ruleset.valid()) return refused("making a set of rules");
  for (const FileRule& rule : rules)
    if (Result<void> added = addRule(ruleset, rule, known.files); !added) return added;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(kRestrictSelf, ruleset.get(), 0u) != 0)
    return refused("beginning");
  return {};
}

}  // namespace divvy::helper
