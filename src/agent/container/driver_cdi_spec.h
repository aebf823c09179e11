// The CDI spec that NVIDIA's toolkit wrote for a node's cards (kind nvidia.com/gpu), and our spec
// extended by what a container needs of it. Private.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace divvy::agent {

// The text of the first such spec in these directories, YAML or JSON. kNotFound: there is none.
Result<std::string> findDriverSpec(const std::vector<std::string>& folders);

struct DeviceId {
  std::string uuid;
  unsigned index = 0;
  std::string part = {};  // of an instance: "CARD:PLACE", its name in place of the index
};

// Why containers of all these cards cannot use a spec's text; empty: they can. Reasons: a card is
// missing, or the spec is of another driver than the running one with this version (NVIDIA's spec
// names the driver's libraries, and their file names have its version). Pure.
std::string whyNotBy(const std::string& driver, const std::vector<DeviceId>& cards,
                     const std::string& version);

// Extends `own`, a text of cdiSpec(), by the edits in `driver` for these cards (named by UUID, else
// index) and for all cards. Adds these cards' device nodes and no others. kNotFound: a card is
// missing; kCorrupt: a part cannot be decoded. Pure.
Result<std::string> withDriver(std::string_view own, const std::string& driver,
                               const std::vector<DeviceId>& cards);

}  // namespace divvy::agent
