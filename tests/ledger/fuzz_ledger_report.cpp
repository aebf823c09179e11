// libFuzzer target over a tenant's files; hostile_pages.h says what an input is.
#include <cstdio>
#include <cstdlib>

#include "hostile_pages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string wrong = divvy::ledger::judgeHostilePages(data, size);
  if (!wrong.empty()) {
    std::fprintf(stderr, "wrong: %s\n", wrong.c_str());
    std::abort();
  }
  return 0;
}
