// The few fields of an ELF file that identify it. The bytes are untrusted.
#include <elf.h>

#include <cstring>

#include "facts/readers.h"

namespace divvy::doctor {
namespace {

template <typename T>
bool readAt(const std::string& bytes, std::uint64_t at, T* out) {
  if (at > bytes.size() || bytes.size() - at < sizeof *out) return false;
  std::memcpy(out, bytes.data() + at, sizeof *out);
  return true;
}

struct Dynamic {
  std::uint64_t strings = 0, soname = 0;
  bool has_soname = false;
};

Dynamic dynamicOf(const std::string& bytes, const Elf64_Phdr& header) {
  Dynamic found;
  const std::uint64_t count = header.p_filesz / sizeof(Elf64_Dyn);
  for (std::uint64_t i = 0; i < count; ++i) {
    Elf64_Dyn one{};
    if (!readAt(bytes, header.p_offset + i * sizeof one, &one) || one.d_tag == DT_NULL) break;
    if (one.d_tag == DT_STRTAB) found.strings = one.d_un.d_ptr;
    if (one.d_tag == DT_SONAME) {
      found.soname = one.d_un.d_val;
      found.has_soname = true;
    }
  }
  return found;
}

}  // namespace

Result<ElfReader> elfWords(const std::string& bytes) {
  Elf64_Ehdr head{};
  if (!readAt(bytes, 0, &head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
    return Error{ErrorCode::kCorrupt, "is not an ELF file"};
  ElfReader words;
  words.elf64 = head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_type == ET_DYN;
  words.machine = head.e_machine;
  if (!words.elf64 || head.e_phentsize != sizeof(Elf64_Phdr)) return words;
  Dynamic dynamic;
  std::uint64_t strings = 0;
  for (int pass = 0; pass < 2; ++pass) {
    for (unsigned i = 0; i < head.e_phnum; ++i) {
      Elf64_Phdr one{};
      if (!readAt(bytes, head.e_phoff + i * sizeof one, &one))
        return Error{ErrorCode::kCorrupt, "is truncated"};
      if (one.p_type == PT_LOAD && one.p_offset + one.p_filesz > bytes.size())
        return Error{ErrorCode::kCorrupt, "is truncated"};
      if (pass == 0 && one.p_type == PT_DYNAMIC) dynamic = dynamicOf(bytes, one);
      // The string table's address in memory as an offset in the file.
      if (pass == 1 && one.p_type == PT_LOAD && dynamic.strings >= one.p_vaddr &&
          dynamic.strings - one.p_vaddr < one.p_filesz)
        strings = one.p_offset + (dynamic.strings - one.p_vaddr);
    }
  }
  const std::uint64_t at = strings + dynamic.soname;
  if (!dynamic.has_soname || strings == 0 || at < strings || at >= bytes.size()) return words;
  const std::size_t end = bytes.find('\0', at);
  if (end != std::string::npos) words.soname = bytes.substr(at, end - at);
  return words;
}

}  // namespace divvy::doctor
