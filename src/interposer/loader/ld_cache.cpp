#include "loader/ld_cache.h"

#include <string.h>

#include "support/syscalls.h"

namespace divvy::interposer {
namespace {

constexpr size_t kLargestCache = size_t{64} << 20;
constexpr char kOldMagic[] = "ld.so-1.7.0";
constexpr char kNewMagic[] = "glibc-ld.so.cache1.1";
constexpr size_t kOldHeaderSize = 16;  // magic (11 and padding), count
constexpr size_t kOldEntrySize = 12;
constexpr size_t kNewHeaderSize = 48;
constexpr size_t kNewEntrySize = 24;  // flags, key, value, os version, hwcap (64 bits)

#if defined(__x86_64__)
constexpr uint32_t kNativeFlags = 0x0303;
#elif defined(__aarch64__)
constexpr uint32_t kNativeFlags = 0x0a03;
#endif

uint32_t wordAt(const char* at) {
  uint32_t word;
  ::memcpy(&word, at, sizeof word);
  return word;
}

}  // namespace

void LdCache::read(const char* path) {
  if (mapped_) return;
  const int fd = sys::openRead(path);
  if (fd < 0) return;
  struct stat status;
  if (sys::fileStatus(fd, &status) && status.st_size > 0 &&
      static_cast<size_t>(status.st_size) <= kLargestCache) {
    size_ = static_cast<size_t>(status.st_size);
    bytes_ = static_cast<const char*>(sys::mapFile(fd, size_));
    mapped_ = bytes_ != nullptr;
  }
  sys::close(fd);
  if (mapped_) parse();
}

LdCache::LdCache(const void* bytes, size_t size)
    : bytes_(static_cast<const char*>(bytes)), size_(size) {
  parse();
}

LdCache::~LdCache() {
  if (mapped_) sys::unmap(const_cast<char*>(bytes_), size_);
}

void LdCache::parse() {
  size_t at = 0;
  if (size_ >= kOldHeaderSize && ::memcmp(bytes_, kOldMagic, sizeof kOldMagic - 1) == 0) {
    // Both formats in one file: the new one follows the old one's entries, 8-byte aligned.
    const uint64_t entries = wordAt(bytes_ + 12);
    const uint64_t end = kOldHeaderSize + entries * kOldEntrySize;
    if (end > size_) return;
    at = (static_cast<size_t>(end) + 7) & ~size_t{7};
  }
  if (at > size_ || size_ - at < kNewHeaderSize) return;
  if (::memcmp(bytes_ + at, kNewMagic, sizeof kNewMagic - 1) != 0) return;
  const uint32_t count = wordAt(bytes_ + at + 20);
  if (count > (size_ - at - kNewHeaderSize) / kNewEntrySize) return;
  header_ = bytes_ + at;
  header_room_ = size_ - at;
  entry_count_ = count;
}

const char* LdCache::textAt(uint32_t offset) const {
  if (offset >= header_room_) return nullptr;
  const char* text = header_ + offset;
  return ::memchr(text, '\0', header_room_ - offset) == nullptr ? nullptr : text;
}

const char* LdCache::entry(const char* soname, unsigned nth) const {
  for (uint32_t i = 0; i < entry_count_; ++i) {
    const char* entry = header_ + kNewHeaderSize + i * kNewEntrySize;
    // Entries for particular processors (a non-zero hwcap) never hold a driver.
    if (wordAt(entry) != kNativeFlags || wordAt(entry + 16) != 0 || wordAt(entry + 20) != 0) {
      continue;
    }
    const char* key = textAt(wordAt(entry + 4));
    if (key == nullptr || ::strcmp(key, soname) != 0) continue;
    if (nth-- == 0) return textAt(wordAt(entry + 8));
  }
  return nullptr;
}

}  // namespace divvy::interposer
