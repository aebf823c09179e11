// Why a request goes elsewhere than it went. Private.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace divvy::simulator {

// "node: device, device"; "nowhere".
std::string placeWords(const std::optional<engine::Placement>& placement);
// The same node, devices and parts.
bool samePlace(const std::optional<engine::Placement>& a,
               const std::optional<engine::Placement>& b);

// `engine` is as it was when `now` was decided; `reason`: why it was not placed then.
std::string whyElsewhere(const engine::Engine& engine, const engine::Config& config,
                         const engine::Request& request,
                         const std::optional<engine::Placement>& was,
                         const std::optional<engine::Placement>& now, const std::string& reason);

// Why it fits nowhere, of the first nodes.
std::string whyNowhere(const engine::Engine& engine, const engine::Request& request);
// The smallest changes with which it fits the first node that any change helps on.
std::vector<std::string> changesFor(const engine::Engine& engine, const engine::Request& request);

}  // namespace divvy::simulator
