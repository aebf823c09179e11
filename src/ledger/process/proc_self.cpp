#include "process/proc_self.h"

#include <sys/auxv.h>

#include "process/syscalls.h"

namespace divvy::ledger {
namespace {

// Length read, 0 on any failure.
std::size_t readText(const char* path, char* to, std::size_t size) {
  const int fd = sysOpen(path, O_RDONLY);
  if (fd < 0) return 0;
  const long got = sysReadStart(fd, to, size);
  sysClose(fd);
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// The initial namespace has "monotonic 0 0 / boottime 0 0".
bool inTimeNamespace() {
  char text[256];
  const std::size_t size = readText("/proc/self/timens_offsets", text, sizeof text);
  for (std::size_t i = 0; i < size; ++i) {
    if (text[i] >= '1' && text[i] <= '9') return true;
  }
  return false;
}

}  // namespace

std::uint64_t parseStartTime(const char* text, std::size_t size) {
  constexpr int kStartField = 22;       // proc(5); the name is field 2
  constexpr std::size_t kNameEnd = 96;  // the longest PID and name end before it
  std::size_t at = size < kNameEnd ? size : kNameEnd;
  while (at > 0 && text[at - 1] != ')') --at;
  if (at == 0) return 0;
  int field = 2;
  for (; at < size && field < kStartField; ++at) {
    if (text[at] == ' ') ++field;
  }
  std::uint64_t value = 0;
  const std::size_t first = at;
  for (; at < size && at - first < 19 && text[at] >= '0' && text[at] <= '9'; ++at) {
    value = value * 10 + static_cast<unsigned>(text[at] - '0');
  }
  return value;
}

Owner readSelf() {
  char text[1024];
  const std::size_t size = readText("/proc/self/stat", text, sizeof text);
  Owner owner{static_cast<std::uint32_t>(sysGetpid()), parseStartTime(text, size)};
  if (inTimeNamespace()) owner.start = 0;
  return unpackOwner(packOwner(owner));
}

// The kernel gives each program image 16 random bytes. Only a digest of 32 bits leaves this
// function, because the bytes also seed the stack protector.
std::uint64_t readExecId() {
  const auto* random = reinterpret_cast<const unsigned char*>(getauxval(AT_RANDOM));
  if (random == nullptr) return 0;
  std::uint64_t hash = 0xcbf29ce484222325;
  for (int i = 0; i < 16; ++i) hash = (hash ^ random[i]) * 0x100000001b3;
  return (hash >> 32) | (1ull << 32);
}

bool readBootId(char (&id)[16]) {
  char text[36];  // 8-4-4-4-12 hex digits
  if (readText("/proc/sys/kernel/random/boot_id", text, sizeof text) != sizeof text) return false;
  unsigned nibble = 0;
  for (const char c : text) {
    if (c == '-') continue;
    const int digit = hexDigit(c);
    if (digit < 0 || nibble >= 32) return false;
    const int high = (nibble & 1) == 0 ? 0 : id[nibble / 2];
    id[nibble / 2] = static_cast<char>(high * 16 + digit);
    ++nibble;
  }
  return nibble == 32;
}

}  // namespace divvy::ledger
