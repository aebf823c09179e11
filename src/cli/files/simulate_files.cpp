#include "files/simulate_files.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/bytes.h"
#include "view/output.h"
#include "view/table.h"

namespace divvy::cli {
namespace {

constexpr std::uintmax_t kMaxBytes = 1u << 30;
constexpr std::size_t kBarCells = 30;

Error ioError(const std::string& doing, const std::string& path) {
  return {ErrorCode::kIo, doing + " " + path + ": " + std::strerror(errno)};
}

Result<void> writeFile(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  errno = 0;
  std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file || std::rename(fresh.c_str(), path.c_str()) != 0) {
    const Error error = ioError("writing", path);
    std::remove(fresh.c_str());
    return error;
  }
  return {};
}

}  // namespace

Result<std::string> readFile(const std::string& path, const std::string& kind) {
  std::error_code fault;
  if (std::filesystem::is_directory(path, fault)) {
    return Error{ErrorCode::kUsage, path + " is a directory; accepted: " + kind};
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return ioError("reading", path);
  std::string text;
  std::array<char, 1 << 16> part;
  while (file.read(part.data(), part.size()) || file.gcount() > 0) {
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMaxBytes) {
      return Error{ErrorCode::kUsage, path + " is larger than " + formatBytes({kMaxBytes}) +
                                          "; accepted: at most that"};
    }
  }
  if (file.bad()) return ioError("reading", path);
  return text;
}

Result<void> checkWritable(std::initializer_list<std::string> paths) {
  for (const std::string& path : paths) {
    if (path.empty()) continue;
    const std::string fresh = path + ".new";
    errno = 0;
    if (!std::ofstream(fresh, std::ios::binary | std::ios::app)) return ioError("writing", path);
    std::remove(fresh.c_str());
  }
  return {};
}

int writeFiles(std::initializer_list<FileText> files) {
  for (const FileText& file : files) {
    if (file.path.empty()) continue;
    const Result<void> written = writeFile(file.path, file.text);
    if (!written) return fail(written.error());
  }
  return 0;
}

unsigned jobsOf(unsigned given) {
  return given != 0 ? given : std::max(std::thread::hardware_concurrency(), 1u);
}

ProgressBar::ProgressBar()
    : shown_(isatty(STDERR_FILENO) == 1), began_(std::chrono::steady_clock::now()) {}

ProgressBar::~ProgressBar() {
  if (shown_ && drawn_) std::fputs("\r\x1b[K", stderr);
}

simulator::Progress ProgressBar::progress() {
  return [this](std::size_t done, std::size_t all) { draw(done, all); };
}

void ProgressBar::draw(std::size_t done, std::size_t all) {
  if (!shown_) return;
  drawn_ = true;
  const std::size_t cells = all == 0 ? 0 : kBarCells * done / all;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  std::string left;
  if (done > 0 && done < all) {
    const double more = seconds * static_cast<double>(all - done) / static_cast<double>(done);
    left = ", " + ageWord(static_cast<std::int64_t>(more) + 1) + " left";
  }
  std::fprintf(stderr, "\r\x1b[K[%s%s] %zu of %zu runs%s", std::string(cells, '#').c_str(),
               std::string(kBarCells - cells, '.').c_str(), done, all, left.c_str());
  std::fflush(stderr);
}

}  // namespace divvy::cli
