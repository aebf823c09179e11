#include "accounting/collectives.h"

#include <link.h>
#include <string.h>

namespace divvy::interposer {
namespace {

constexpr char kName[] = "libnccl.so";
constexpr auto kRelaxed = std::memory_order_relaxed;

bool isCollectives(const char* path) {
  if (path == nullptr) return false;
  const char* slash = ::strrchr(path, '/');
  return ::strncmp(slash == nullptr ? path : slash + 1, kName, sizeof kName - 1) == 0;
}

}  // namespace

struct Collectives::Question {
  Collectives& self;
  std::uint64_t code;
  bool begun;
  bool answer;
};

bool Collectives::isCurrent(const dl_phdr_info& info) const {
  return loaded_.load(kRelaxed) == info.dlpi_adds && unloaded_.load(kRelaxed) == info.dlpi_subs;
}

// Beyond kMax, code ranges are merged into the last entry, including the addresses between them.
void Collectives::add(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& header = info.dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const std::uint64_t begin = info.dlpi_addr + header.p_vaddr;
    const std::uint64_t end = begin + header.p_memsz;
    const unsigned count = count_.load(kRelaxed);
    Code& code = of_[count < kMax ? count : kMax - 1];
    const bool fresh = count < kMax;
    if (fresh || begin < code.begin.load(kRelaxed)) code.begin.store(begin, kRelaxed);
    if (fresh || end > code.end.load(kRelaxed)) code.end.store(end, kRelaxed);
    if (fresh) count_.store(count + 1, kRelaxed);
  }
}

bool Collectives::among(std::uint64_t code) const {
  const unsigned count = count_.load(kRelaxed);
  for (unsigned i = 0; i < count; ++i) {
    if (code >= of_[i].begin.load(kRelaxed) && code < of_[i].end.load(kRelaxed)) return true;
  }
  return false;
}

int Collectives::look(dl_phdr_info* info, std::size_t, void* argument) {
  Question& question = *static_cast<Question*>(argument);
  Collectives& self = question.self;
  if (!question.begun) {
    question.begun = true;
    if (self.isCurrent(*info)) {
      question.answer = self.among(question.code);
      return 1;
    }
    self.count_.store(0, kRelaxed);
    self.loaded_.store(info->dlpi_adds, kRelaxed);
    self.unloaded_.store(info->dlpi_subs, kRelaxed);
  }
  if (isCollectives(info->dlpi_name)) {
    self.add(*info);
    question.answer = self.among(question.code);
  }
  return 0;
}

bool Collectives::holds(const void* code) {
  Question question{*this, reinterpret_cast<std::uint64_t>(code), false, false};
  ::dl_iterate_phdr(look, &question);
  return question.answer;
}

}  // namespace divvy::interposer
