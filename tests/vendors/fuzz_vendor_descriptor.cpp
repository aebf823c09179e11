// Any bytes as a descriptor: it is read, or refused with a place and a reason; what is read can be
// asked with.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "vendors/ask.h"

using namespace divvy;
using namespace divvy::vendors;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto read = parseDescriptor(text, "input.yaml");
  if (!read) {
    if (read.error().message().rfind("input.yaml", 0) != 0) std::abort();
    return 0;
  }
  const auto catalog = Catalog::of({*read});
  if (!catalog) return 0;
  for (const char* amount : {"1", "2", "3", "100", "0", "16Gi", "24577"}) {
    Quantities limits;
    Annotations annotations;
    for (const Kind* kind : catalog->kinds()) {
      limits[kind->count.resource] = "1";
      for (const std::string& name : {kind->memory.resource, kind->memory.percent,
                                      kind->cores.resource, kind->slice, kind->count.resource})
        limits[name] = amount;
      annotations[kind->soft_split] = kind->soft_split_value;
    }
    const auto asks = readRequests(*catalog, limits, {}, annotations);
    if (!asks) continue;
    for (const KindRequest& ask : *asks)
      if (ask.count == 0 || ask.count > 2048 || ask.compute_milli > 1000) std::abort();
  }
  return 0;
}
