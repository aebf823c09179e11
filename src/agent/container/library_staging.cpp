#include "container/library_staging.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/fd.h"
#include "base/folder_mode.h"

namespace divvy::agent {
namespace {

namespace fs = std::filesystem;

// The number of damaged directories that are skipped.
constexpr int kMaxBeside = 8;

struct File {
  std::string path;  // relative to the directory
  std::string text;
};

Error ioError(const std::string& what) {
  return {ErrorCode::kIo, what + ": " + std::strerror(errno)};
}

Result<std::string> contentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) return ioError("reading " + path);
  return text;
}

Result<std::vector<File>> filesOf(const InstallLayout& from, bool simulated) {
  std::vector<std::pair<std::string, std::string>> wanted;
  for (const char* name : {"libdivvy-cuda.so", "libdivvy-nvml.so"})
    wanted.emplace_back("lib/" + std::string(name), from.lib_dir + "/" + name);
  if (simulated) {
    for (const char* name : {"libcuda.so.1", "libnvidia-ml.so.1"})
      wanted.emplace_back("simgpu/" + std::string(name), from.sim_dir + "/" + name);
  }
  std::vector<File> files;
  for (const auto& [inside, path] : wanted) {
    Result<std::string> text = contentOf(path);
    if (!text) return text.error();
    files.push_back({inside, std::move(*text)});
  }
  return files;
}

// FNV-1a suffices: the files are our own, so no tenant can choose them.
std::string nameFor(const std::vector<File>& files) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](const std::string& text) {
    for (const char c : text) {
      hash ^= static_cast<unsigned char>(c);
      hash *= 0x100000001b3;
    }
    hash *= 0x100000001b3;
  };
  for (const File& file : files) {
    add(file.path);
    add(file.text);
  }
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

bool holds(const std::string& folder, const std::vector<File>& files) {
  for (const File& file : files) {
    const Result<std::string> text = contentOf(folder + "/" + file.path);
    if (!text || *text != file.text) return false;
  }
  return true;
}

// The file is on disk when it returns, and readable for all.
Result<void> write(const std::string& path, const std::string& text, mode_t mode) {
  const Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return ioError("creating " + path);
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = ::write(fd.get(), text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return ioError("writing " + path);
    done += static_cast<std::size_t>(got);
  }
  if (fchmod(fd.get(), mode) != 0 || fsync(fd.get()) != 0) return ioError("writing " + path);
  return {};
}

Result<void> makeFolder(const std::string& path) {
  const mode_t mode = modeIn(fs::path(path).parent_path().string(), 0755);
  if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return ioError("creating " + path);
  if (!allow(path, mode)) return ioError("opening " + path + " to containers");
  return {};
}

Result<void> fill(const std::string& folder, const std::vector<File>& files) {
  Result<void> good = makeFolder(folder);
  for (const File& file : files) {
    if (good) good = makeFolder(folder + "/" + file.path.substr(0, file.path.find('/')));
    if (good) good = write(folder + "/" + file.path, file.text, modeIn(folder, 0755));
  }
  return good;
}

}  // namespace

Result<InstallLayout> stageInstall(const InstallLayout& from, const std::string& dir,
                                   bool simulated) {
  const Result<std::vector<File>> files = filesOf(from, simulated);
  if (!files) return Error(files.error()).context("--install-dir");
  if (const Result<void> made = makeFolder(dir); !made)
    return Error(made.error()).context("--install-dir");
  const std::string name = nameFor(*files);
  // An agent that was killed while it copied left it. A node has one agent.
  const std::string fresh = dir + "/.new";
  std::error_code ignored;
  fs::remove_all(fresh, ignored);
  for (int at = 0; at < kMaxBeside; ++at) {
    const std::string folder = dir + "/" + name + (at == 0 ? "" : "." + std::to_string(at));
    if (access(folder.c_str(), F_OK) != 0) {
      Result<void> good = fill(fresh, *files);
      if (good && rename(fresh.c_str(), folder.c_str()) != 0) good = ioError("renaming " + fresh);
      if (!good) {
        fs::remove_all(fresh, ignored);
        return Error(good.error()).context("--install-dir");
      }
    }
    if (!holds(folder, *files)) continue;
    InstallLayout staged = from;
    staged.lib_dir = folder + "/lib";
    if (simulated) staged.sim_dir = folder + "/simgpu";
    return staged;
  }
  return Error{ErrorCode::kIo, "--install-dir " + dir + ": " + std::to_string(kMaxBeside) +
                                   " folders " + name + "* exist and none has the right content"};
}

}  // namespace divvy::agent
