// Any bytes as a snapshot: read as a whole and given to an engine, or refused with a place.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "snapshot_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string fault = divvy::snapshot::faultOf({reinterpret_cast<const char*>(data), size});
  if (fault.empty()) return 0;
  std::fprintf(stderr, "%s\n", fault.c_str());
  std::abort();
}
