#include "files/mapped_file.h"

#include <string.h>
#include <sys/mman.h>

#include "ledger/identification.h"
#include "process/syscalls.h"

namespace divvy::ledger {

MappedFile mapFile(const char* dir, const char* name, bool writable, std::uint64_t magic,
                   std::size_t size) {
  char path[4096];
  const std::size_t dir_length = strnlen(dir, sizeof path);
  const std::size_t name_length = strlen(name);
  if (dir_length + name_length + 2 > sizeof path) return {OpenStatus::kAbsent, nullptr};
  memcpy(path, dir, dir_length);
  path[dir_length] = '/';
  memcpy(path + dir_length + 1, name, name_length + 1);

  // O_NONBLOCK: opening must not block if the file was replaced by a FIFO.
  const int fd = sysOpen(path, (writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) {
    const bool absent = errno == ENOENT || errno == ENOTDIR;
    return {absent ? OpenStatus::kAbsent : OpenStatus::kDenied, nullptr};
  }
  MappedFile result{OpenStatus::kDenied, nullptr};
  struct stat info;
  Identification id;
  memset(&id, 0, sizeof id);
  if (sysFstat(fd, &info) == 0 && S_ISREG(info.st_mode) && sysReadStart(fd, &id, sizeof id) >= 0) {
    result.status = checkIdentification(id, magic, size, static_cast<std::uint64_t>(info.st_size));
  }
  if (result.status == OpenStatus::kOk) {
    void* memory = mmap(nullptr, size, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
      result.status = OpenStatus::kNoMemory;
    } else {
      result.memory = memory;
    }
  }
  sysClose(fd);
  return result;
}

}  // namespace divvy::ledger
