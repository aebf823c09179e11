// The simulated card that runs the PTX: its driver, loaded as a program would load it.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace divvy::ptxtest {

struct Region;

// A kernel's parameter: the address of a region, or bytes.
struct Parameter {
  const Region* region = nullptr;
  alignas(16) std::array<std::byte, 32> bytes = {};
};

struct CardLaunch {
  std::string kernel;
  unsigned grid[3];
  unsigned block[3];
  unsigned dynamic_shared;
  std::vector<Parameter> parameters;
};

// Loads `ptx`, gives every region its initial bytes, launches in order, and returns what the
// regions hold then. What fails is named in `error`; the next call finds a fresh context.
std::vector<std::vector<std::byte>> runPtx(const std::string& ptx,
                                           const std::vector<const Region*>& regions,
                                           const std::vector<CardLaunch>& launches,
                                           std::string* error);

// Counts a kernel, by file and name, whose comparison has run to its end (equal or not).
void countCompared(const std::string& kernel);

}  // namespace divvy::ptxtest
