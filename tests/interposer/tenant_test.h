// Tests that run as a tenant: a process with libdivvy-cuda.so preloaded over the simulated driver,
// in a tenant directory made by the agent's half of the ledger, with no agent.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "abi/cuda_entries.h"
#include "abi/cuda_protos.h"
#include "abi/cuda_types.h"
#include "interposer/control.h"
#include "ledger/account.h"
#include "simgpu/card_reader.h"
#include "tenant_dir.h"

namespace divvy::interposer {

using abi::Cu;
using simgpu::Charge;

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

// Looks an entry point up as a program does that opens libcuda.so.1. Kept from the first time on.
template <Cu kId>
typename abi::CuFn<kId>::type* lookedUp() {
  static void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  static auto* const function = reinterpret_cast<typename abi::CuFn<kId>::type*>(
      ::dlsym(library, abi::kCuEntries[static_cast<unsigned>(kId)].symbol));
  if (function == nullptr) ADD_FAILURE() << ::dlerror();
  return function;
}

// Looks it up and calls it.
template <Cu kId, typename... Arguments>
CUresult cu(Arguments... arguments) {
  auto* const function = lookedUp<kId>();
  return function == nullptr ? CUDA_ERROR_UNKNOWN : function(arguments...);
}

class TenantTest : public testing::Test {
 protected:
  // In the test's process: makes what `tenancy` says, runs this very test again in a child that is
  // the tenant, passes its failures on and returns true. In the child: returns false.
  static bool outside(const Tenancy& tenancy = {});

  // Everything below is for the child.

  // cuInit, and device 0's primary context made and current.
  static void makeReady();
  // What the card's books say: all bytes of this process, or those of one kind, or of everybody.
  static std::uint64_t booked(int card = 0);
  static std::uint64_t booked(Charge kind, int card = 0);
  static std::uint64_t bookedByAll(int card = 0);
  // What the tenant's ledger says.
  static std::uint64_t charged(unsigned device = 0);
  // Requests that failed, as the ledger counts them, and the sizes of the last ones.
  struct FailedRequests {
    std::uint64_t over_limit = 0, over_limit_bytes = 0, device_full = 0, device_full_bytes = 0;
    friend bool operator==(const FailedRequests&, const FailedRequests&) = default;
  };
  static FailedRequests failedRequests();
  static std::string tenantDir();
  static Control control();
  static std::uint64_t faults(unsigned code) { return control().fault_counts[code]; }

  // The driver is the variant that exports nothing newer than CUDA 11.4.
  static bool isOldDriver();

  // The path of a file that the build made.
  static std::string built(const std::string& name);
};

// Expects that the ledger's total is what the card has booked for this process.
#define EXPECT_EXACT() EXPECT_EQ(charged(), booked())

}  // namespace divvy::interposer
