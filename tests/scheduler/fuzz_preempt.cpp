// Any bytes as a body of /preempt: refused with a reason, or read as a pod and names of nodes.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <boost/json.hpp>

#include "extender.h"

using namespace divvy;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const Result<scheduler::FilterAsk> ask = scheduler::parsePreempt(body);
  if (!ask && ask.error().message().empty()) std::abort();
  if (!ask) return 0;
  // Each name is one of the body's.
  for (const std::string_view name : ask->names)
    if (name.data() < body.data() || name.data() + name.size() > body.data() + body.size())
      std::abort();
  boost::system::error_code fault;
  const boost::json::value said = boost::json::parse(scheduler::preemptAnswer(), fault);
  if (fault || !said.is_object()) std::abort();
  return 0;
}
