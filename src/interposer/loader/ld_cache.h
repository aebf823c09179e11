// Reader of /etc/ld.so.cache (the "glibc-ld.so.cache1.1" form; layout: glibc's public dl-cache.h).
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace divvy::interposer {

class LdCache {
 public:
  // Empty before read().
  LdCache() = default;
  // Reads bytes that the caller keeps alive (tests, fuzzing). Any content is safe.
  LdCache(const void* bytes, size_t size);
  ~LdCache();
  LdCache(const LdCache&) = delete;
  LdCache& operator=(const LdCache&) = delete;

  // Maps the file, once. entry() finds nothing if the file is absent, too large or of an unknown
  // form.
  void read(const char* path);

  // Returns the `nth` (from 0) path that the cache holds for `soname` on this architecture, in the
  // loader's order; nullptr beyond the last. Valid while this object lives.
  const char* entry(const char* soname, unsigned nth) const;

 private:
  void parse();
  const char* textAt(uint32_t offset) const;

  const char* bytes_ = nullptr;  // the whole file
  size_t size_ = 0;
  const char* header_ = nullptr;  // the new-form header; offsets count from here
  size_t header_room_ = 0;
  uint32_t entry_count_ = 0;
  bool mapped_ = false;
};

}  // namespace divvy::interposer
