// Any bytes as HAMi's device-config.yaml: it is read, or refused with a place and a reason; what is
// read can be asked with.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "vendors/ask.h"
#include "vendors/device_config.h"

using namespace divvy;
using namespace divvy::vendors;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = readDeviceConfig(text, "input.yaml", builtIn());
  if (!read) {
    if (read.error().message().rfind("input.yaml", 0) != 0) std::abort();
    return 0;
  }
  if (read->families.empty()) std::abort();
  const auto catalog = Catalog::of(read->families);
  if (!catalog) return 0;
  for (const char* amount : {"1", "2", "100", "0", "16Gi"}) {
    for (const Kind* kind : catalog->kinds()) {
      Quantities limits{{kind->count.resource, "1"}};
      for (const std::string& name : {kind->memory.resource, kind->cores.resource, kind->slice})
        limits[name] = amount;
      limits.erase("");
      const auto asks = readRequests(*catalog, limits, {}, {});
      if (!asks) continue;
      for (const KindRequest& ask : *asks)
        if (ask.count == 0 || ask.count > 2048 || ask.compute_milli > 1000) std::abort();
    }
  }
  return 0;
}
