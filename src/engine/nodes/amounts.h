// What changes of a request change, by their kind.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/suggestion.h"

namespace divvy::engine {

Container& containerAt(Shape* shape, std::size_t index);  // init containers first
// Its ask for devices of that kind; the first one where none is.
const DeviceAsk& askFor(const Container& container, const DeviceKind& of);
DeviceAsk& askFor(Container* container, const DeviceKind& of);
// None: it has none of that kind.
std::optional<std::uint64_t> amountOf(const Container& container, ChangeKind kind,
                                      const DeviceKind& of);
void setAmount(Container* container, const Change& change);
// That of the devices of a kind, or of all that have none of their own.
Selector& selectorFor(Shape* shape, const DeviceKind& of);
// Without that part; false: it does not ask for it.
bool drop(DevicePolicy* policy, ChangeKind kind);

}  // namespace divvy::engine
