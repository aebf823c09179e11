// Any bytes as a config.json: reading never crashes, says why not, and what it reads can be sized.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "config_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string wrong = divvy::sizing::checkConfig({reinterpret_cast<const char*>(data), size});
  if (!wrong.empty()) {
    std::fprintf(stderr, "%s\n", wrong.c_str());
    std::abort();
  }
  return 0;
}
