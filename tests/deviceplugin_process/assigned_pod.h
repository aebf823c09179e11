// A pod whose containers are given devices by a scheduler: as an API server tells it, and what each
// container is to find where its plugin mounts its pages.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "fake_device_manager.h"

namespace divvy::test {

inline constexpr const char* kNode = "node-1";
inline constexpr const char* kResource = "nvidia.com/gpu";

struct ExpectedShare {
  std::vector<std::string> uuids;  // of cards
  std::uint64_t mebibytes = 0;     // of each
  unsigned cores = 0;              // percent of each
};

// As its containers' status says it.
enum class Phase : std::uint8_t { kWaiting, kRunning, kEnded, kCrashed };

struct AssignedPod {
  PodAsk ask;
  std::vector<ExpectedShare> portions;  // by container
  std::vector<Phase> phases;
  std::vector<unsigned> ends;  // how often each has ended

  // As a scheduler that speaks HAMi's dialect has left it, and the kubelet told of it last.
  boost::json::object object() const;
};

// What somebody finds in a container.
struct Found {
  std::map<std::string, std::uint64_t> limits;  // bytes, by the card's UUID
  std::string fault;                            // empty: there are pages
};
Found foundBy(const Allocated& given);
// What is wrong with it; empty: it is what the scheduler gave.
std::string amiss(const Found& found, const ExpectedShare& portion);

}  // namespace divvy::test
