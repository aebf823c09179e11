#include <elf.h>

#include <sstream>

#include "facts/readers.h"

namespace divvy::doctor {
namespace {

// Our libraries have 2 MiB each.
constexpr std::size_t kMaxLibrary = 64u << 20;
constexpr std::size_t kMaxFolders = 64;

#if defined(__x86_64__)
constexpr std::uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t kMachine = EM_AARCH64;
#else
constexpr std::uint16_t kMachine = EM_NONE;
#endif

constexpr const char* kLibraries[] = {"libdivvy-cuda.so", "libdivvy-nvml.so"};

LibraryFile libraryAt(const RootFs& tree, const std::string& path, std::string* bytes) {
  LibraryFile file;
  file.path = path;
  Result<std::string> text = tree.text(path, kMaxLibrary);
  if (!text) {
    file.fault = text.error();
    return file;
  }
  const Result<ElfReader> words = elfWords(*text);
  if (!words) {
    file.fault = Error(words.error().code(), path + " " + words.error().message());
  } else {
    file.elf64 = words->elf64;
    file.machine = words->machine;
    file.soname = words->soname;
  }
  *bytes = std::move(*text);
  return file;
}

void readPreload(const RootFs& tree, InstallFacts* facts) {
  facts->preload = tree.text("/etc/ld.so.preload");
  if (!facts->preload) return;
  std::string text = *facts->preload;
  for (char& c : text)
    if (c == ':') c = ' ';
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream names(line.substr(0, line.find('#')));
    for (std::string name; names >> name;)
      if (name.starts_with('/') && name.find('$') == std::string::npos && !tree.infoOf(name))
        facts->preload_absent.push_back(name);
  }
}

}  // namespace

InstallFacts readInstall(const RootFs& tree, const NodeOptions& options) {
  InstallFacts facts;
  facts.machine = kMachine;
  std::vector<std::string> own_bytes;
  const Result<RootFs> here = RootFs::open("/");
  if (here && !options.lib_dir.empty()) {
    facts.own.path = options.lib_dir;
    for (const char* name : kLibraries)
      facts.own.files.push_back(
          libraryAt(*here, options.lib_dir + "/" + name, &own_bytes.emplace_back()));
  }
  facts.staged_dir = options.staged_dir;
  const auto names = tree.list(options.staged_dir);
  facts.staged_there = names.has_value() && !names->empty();
  facts.staged_space = tree.space(options.staged_dir);
  if (names) {
    for (const std::string& name : *names) {
      if (facts.staged.size() >= kMaxFolders) break;
      LibraryFolder folder;
      folder.path = options.staged_dir + "/" + name;
      folder.half_written = name == ".new";
      for (std::size_t at = 0; !folder.half_written && at < std::size(kLibraries); ++at) {
        std::string bytes;
        LibraryFile file = libraryAt(tree, folder.path + "/lib/" + kLibraries[at], &bytes);
        file.same = !file.fault && at < own_bytes.size() && bytes == own_bytes[at];
        folder.files.push_back(std::move(file));
      }
      facts.staged.push_back(std::move(folder));
    }
  }
  readPreload(tree, &facts);
  return facts;
}

}  // namespace divvy::doctor
