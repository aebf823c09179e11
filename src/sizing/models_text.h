// The text of models.json, as it was when this was built. Private.
#pragma once

namespace divvy::sizing {

extern const char* const kModelsText;

}  // namespace divvy::sizing
