// Reads the CDI spec that NVIDIA's toolkit wrote for a node's devices (kind nvidia.com/gpu).
// Extends our spec by its edits for a container. Private.
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

// Returns why a spec's text does not apply to containers with these devices; empty: it applies.
// Reasons: a device is missing, or the spec is of another driver version than the running one.
// NVIDIA's spec names the driver's libraries, and their file names contain the version. Pure.
std::string whyNotBy(const std::string& driver, const std::vector<DeviceId>& cards,
                     const std::string& version);

// Extends `own`, a text of cdiSpec(), by the edits in `driver` for these cards (named by UUID, else
// index) and for all cards. Adds these cards' device nodes and no others. kNotFound: a card is
// missing; kCorrupt: a part cannot be decoded. Pure.
Result<std::string> withDriver(std::string_view own, const std::string& driver,
                               const std::vector<DeviceId>& cards);

}  // namespace divvy::agent
