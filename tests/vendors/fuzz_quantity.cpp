// Any bytes as a quantity: a number within 2^63, or refused with what is accepted.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/quantity.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parsed = divvy::Quantity::parse({reinterpret_cast<const char*>(data), size});
  if (!parsed) {
    if (parsed.error().message().find("accepted") == std::string::npos) std::abort();
    return 0;
  }
  const std::int64_t milli = parsed->milli();
  if ((milli < 0) && !parsed->negative()) std::abort();
  if (const auto whole = parsed->whole();
      whole && milli / 1000 != *whole && milli != INT64_MAX && milli != INT64_MIN)
    std::abort();
  return 0;
}
