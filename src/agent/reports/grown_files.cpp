#include "reports/grown_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "ledger/layout.h"
#include "ledger/swap.h"
#include "ledger/work.h"

namespace divvy::agent {
namespace {

struct Writable {
  const char* name;
  std::size_t size;
};
constexpr Writable kWritable[] = {{"report", sizeof(ledger::ReportPage)},
                                  {"work", sizeof(ledger::WorkPage)},
                                  {"swap", sizeof(ledger::SwapPage)}};
// Space that a file system may add: whole blocks, and blocks that index the others.
constexpr std::uint64_t kSlack = 256u << 10;
constexpr std::uint64_t kStatBlock = 512;  // stat(2): st_blocks

}  // namespace

std::optional<GrownFile> grownIn(const std::string& dir) {
  for (const Writable& one : kWritable) {
    const std::string path = dir + "/" + one.name;
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    const auto size = static_cast<std::uint64_t>(info.st_size);
    const std::uint64_t stored = static_cast<std::uint64_t>(info.st_blocks) * kStatBlock;
    if (size <= one.size && stored <= one.size + kSlack) continue;
    Fd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!fd.valid()) continue;
    return GrownFile{std::move(fd), one.name, {std::max(size, stored)}, {one.size}};
  }
  return std::nullopt;
}

std::string describe(const GrownFile& file) {
  return "its file " + file.name + " has " + formatBytes(file.has) + ", and may have " +
         formatBytes(file.made);
}

void FileTruncator::cut(GrownFile file) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= kMaxWaiting) return;
  waiting_.push_back(std::move(file));
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  wake_.notify_one();
}

void FileTruncator::run() {
  for (;;) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (ending_) return;
    const GrownFile file = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    // Also to the size that it has: that frees blocks beyond its end. A file that cannot be cut is
    // found, and reported, again.
    static_cast<void>(ftruncate(file.fd.get(), static_cast<off_t>(file.made.count)) == 0);
  }
}

FileTruncator::~FileTruncator() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

}  // namespace divvy::agent
