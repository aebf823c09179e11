// A container's amounts by their kind.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/remedy.h"

namespace divvy::engine {

Container& containerAt(Shape* shape, std::size_t index);  // init containers first
// None: it has none of that kind.
std::optional<std::uint64_t> amountOf(const Container& container, ChangeKind kind);
void setAmount(Container* container, ChangeKind kind, std::uint64_t value);

}  // namespace divvy::engine
