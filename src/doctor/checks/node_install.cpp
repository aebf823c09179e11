// Checks of the files that containers and programs load: present, intact, and in one place.
#include <algorithm>

#include "base/bytes.h"
#include "checks/check_lists.h"
#include "report/format.h"

namespace divvy::doctor {
namespace {

// Messages name their file; the path is removed where it precedes the message anyway.
std::string withoutPath(const std::string& message, const std::string& path) {
  if (!message.starts_with(path)) return message;
  const std::size_t begin = message.find_first_not_of(": ", path.size());
  return begin == std::string::npos ? message : message.substr(begin);
}

// The fault of a file that should be our library; empty: none.
std::string faultOf(const LibraryFile& file, std::uint16_t machine) {
  if (file.fault) return withoutPath(file.fault->message(), file.path);
  if (!file.elf64) return "is not a 64-bit ELF library";
  if (machine != 0 && file.machine != machine)
    return "is for another processor (ELF machine " + std::to_string(file.machine) +
           ", this program's is " + std::to_string(machine) + ")";
  const bool cuda = file.path.find("cuda") != std::string::npos;
  const std::string wanted = cuda ? "libcuda.so.1" : "libnvidia-ml.so.1";
  if (file.soname != wanted) return "calls itself \"" + file.soname + "\", not " + wanted;
  return "";
}

void checkOwn(const NodeFacts& facts, FindingBuilder& sink) {
  const LibraryFolder& own = facts.install.own;
  if (own.files.empty()) return sink.skip("the installation directory of this program is unknown");
  for (const LibraryFile& file : own.files) {
    const std::string fault = faultOf(file, facts.install.machine);
    if (!fault.empty())
      sink.fault({fault, "no program gets a share: its limits cannot be enforced",
                  "install Divvy again: the libraries belong beside bin/divvy, in lib/"},
                 file.path);
  }
  if (!sink.hasFindings()) sink.ok("complete, for this processor", own.path);
}

void checkStagedOne(const NodeFacts& facts, const LibraryFolder& folder, FindingBuilder& sink) {
  for (const LibraryFile& file : folder.files) {
    const std::string fault = faultOf(file, facts.install.machine);
    if (!fault.empty())
      sink.fault({fault, "containers that start with it have no limits, or do not start",
                  "rm -r " + folder.path + " and restart the agent, once no container uses it"},
                 file.path);
  }
  if (folder.half_written)
    sink.warn({"an agent was killed while it wrote it", "it is not used",
               "nothing: the next agent writes it again"},
              folder.path);
}

void checkStaged(const NodeFacts& facts, FindingBuilder& sink) {
  const InstallFacts& install = facts.install;
  if (!install.staged_there)
    return sink.skip(install.staged_dir + ": no node agent has installed anything there");
  if (install.staged_space) {
    const FileSystemSpace& space = *install.staged_space;
    if (space.noexec)
      sink.fault({"is on a file system that is mounted noexec",
                  "containers cannot load the libraries, and run without limits or not at all",
                  "helm upgrade ... --set agent.installDir=DIR, or mount -o remount,exec"},
                 install.staged_dir);
    if (space.free < (16u << 20))
      sink.warn({formatBytes({space.free}) + " free", "the next version's libraries may not fit",
                 "remove directories of versions that no container uses"},
                install.staged_dir);
  }
  bool same = false;
  for (const LibraryFolder& folder : install.staged) {
    checkStagedOne(facts, folder, sink);
    same = same || (!folder.files.empty() &&
                    std::all_of(folder.files.begin(), folder.files.end(),
                                [](const LibraryFile& file) { return file.same; }));
  }
  if (!sink.content()) return;
  if (same) return sink.ok(counted(install.staged.size(), "version") + ", this one among them");
  if (install.own.files.empty() || install.own.files.front().fault)
    return sink.ok(counted(install.staged.size(), "version") + "; there is none to compare with");
  sink.warn({counted(install.staged.size(), "version") + ", none with this build's libraries",
             "the node's agent is of another build than this program",
             "check with the program of the agent's image, or upgrade one of them"},
            install.staged_dir);
}

bool isOurs(const std::string& line) {
  return line.find("libdivvy-") != std::string::npos;
}

void checkPreload(const NodeFacts& facts, FindingBuilder& sink) {
  const InstallFacts& install = facts.install;
  if (isAbsent(install.preload)) return sink.ok("there is none");
  if (!install.preload) return sink.skip(install.preload.error().message());
  const std::string& text = *install.preload;
  if (!install.preload_absent.empty())
    sink.fault({"names missing files: " + joined(install.preload_absent),
                "every program of the machine prints an error at its start",
                "remove the line from /etc/ld.so.preload"});
  if (isOurs(text))
    sink.fault({"names Divvy's libraries",
                "they are for containers only: every program of the machine loads them",
                "remove them from /etc/ld.so.preload"});
  if (text.find("libvgpu.so") != std::string::npos)
    sink.warn({"names libvgpu.so",
               "HAMi's library is loaded into every program of the machine, beside Divvy's",
               "remove it after HAMi is uninstalled"});
  if (sink.hasFindings()) return;
  const bool empty = text.find_first_not_of(" \t\r\n") == std::string::npos;
  sink.ok(empty ? "it is empty" : "names existing libraries, none for GPUs");
}

}  // namespace

NodeEntries installChecks() {
  return {{"interposer-libraries",
           "are the libraries that enforce limits complete, beside this program", checkOwn},
          {"staged-libraries", "are the libraries for containers complete, and of this build",
           checkStaged},
          {"host-preload",
           "is the machine's ld.so.preload free of Divvy's libraries and of missing files",
           checkPreload}};
}

}  // namespace divvy::doctor
