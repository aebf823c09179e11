// Any bytes as a body of /bind: refused with a reason, or all that a binding needs.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "extender/protocol.h"

using namespace divvy::scheduler;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto ask = parseBind(std::string(reinterpret_cast<const char*>(data), size));
  if (!ask) {
    if (ask.error().message().empty()) std::abort();
    return 0;
  }
  if (ask->name.empty() || ask->namespace_name.empty() || ask->uid.empty() || ask->node.empty())
    std::abort();
  return 0;
}
