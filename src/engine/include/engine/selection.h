// Whether a list names a device or its model.
#pragma once

#include <string>
#include <vector>

#include "engine/request.h"

namespace divvy::engine {

bool namesModel(const std::vector<ModelName>& list, ModelMatch match, const ModelName& model);
bool namesDevice(const std::vector<DeviceUuid>& list, UuidMatch match, const DeviceUuid& uuid);

}  // namespace divvy::engine
