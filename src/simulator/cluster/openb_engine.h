// Nodes and pods of the trace as the engine takes them. Private.
#pragma once

#include <cstdint>

#include "engine/model.h"
#include "engine/request.h"
#include "simulator/openb.h"

namespace divvy::simulator {

// The trace says nothing of a device's memory: none is asked for, and slots are no limit.
engine::Shape shapeOf(const OpenbPod& pod);
engine::Node nodeOf(const OpenbNode& node, std::uint64_t order);
// "T4|G2"
std::vector<engine::ModelName> modelsOf(const std::string& joined);

}  // namespace divvy::simulator
