// What NVIDIA's toolkit has written for runtimes of a node's cards (CDI, kind nvidia.com/gpu), and
// our spec with what a container needs of it. Private.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace divvy::agent {

// The text of the first such spec in these folders, YAML or JSON. kNotFound: there is none.
Result<std::string> findDriverSpec(const std::vector<std::string>& folders);

struct DeviceId {
  std::string uuid;
  unsigned index = 0;
  std::string part = {};  // of an instance: "CARD:PLACE", its name in place of the index
};

// Whether containers of all these cards can be given what a spec's text says. Empty: they can; else
// why not: a card is not in it, or it is of another driver than the one of this version that runs
// (NVIDIA's own names the driver's libraries, whose files are called by its version). Pure.
std::string whyNotBy(const std::string& driver, const std::vector<DeviceId>& cards,
                     const std::string& version);

// `own`, a text of cdiSpec(), with what `driver` says of these cards, called by UUID or else index,
// and of all: these cards' device nodes and no others. kNotFound: of which card it says nothing;
// kCorrupt: what of it is not understood. Pure.
Result<std::string> withDriver(std::string_view own, const std::string& driver,
                               const std::vector<DeviceId>& cards);

}  // namespace divvy::agent
