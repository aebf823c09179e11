// Kinds of prices of clusters. Pure.
#pragma once

#include <cstdint>

namespace divvy::hub {

// In the order in which clusters are chosen.
enum class WorkerPrice : std::uint8_t {
  kPrivate,   // own devices
  kReserved,  // paid already, by month or year
  kOnDemand,  // paid while used
};
const char* nameOf(WorkerPrice price);

}  // namespace divvy::hub
