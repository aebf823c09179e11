// Any bytes as nodes or pods: read as a whole, or refused with a place and what is accepted.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "openb_csv_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string fault =
      divvy::simulator::faultOfReading({reinterpret_cast<const char*>(data), size});
  if (fault.empty()) return 0;
  std::fprintf(stderr, "%s\n", fault.c_str());
  std::abort();
}
