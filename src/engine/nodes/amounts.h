// The amounts of a request that a Change refers to.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/suggestion.h"

namespace divvy::engine {

Container& containerAt(Shape* shape, std::size_t index);  // init containers first
// Returns the ask for devices of that kind, or the first ask if there is none.
const DeviceRequest& requestFor(const Container& container, const DeviceKind& of);
DeviceRequest& requestFor(Container* container, const DeviceKind& of);
// Returns none if the container has no such amount.
std::optional<std::uint64_t> amountOf(const Container& container, ChangeKind kind,
                                      const DeviceKind& of);
void setAmount(Container* container, const Change& change);
// Returns the selector of that kind, or the one for all kinds without a selector of their own.
Selector& selectorFor(Shape* shape, const DeviceKind& of);
// Removes that part of the policy. Returns false if the policy does not have it.
bool drop(DevicePolicy* policy, ChangeKind kind);

}  // namespace divvy::engine
