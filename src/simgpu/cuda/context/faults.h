// Faults on demand: SIMGPU_FAULTS is a comma list of the names in catalog.h.
#pragma once

#include "abi/cuda_types.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace divvy::simgpu {

class Context;

// Something that befalls the count-th call of a symbol (1: the first).
struct CallPoint {
  std::string symbol;
  std::uint64_t count;
  CUresult answer;  // of that call, which then does nothing; CUDA_SUCCESS: SIGKILL instead
  std::atomic<std::uint64_t> seen{0};

  CallPoint(std::string name, std::uint64_t at, CUresult result)
      : symbol(std::move(name)), count(at), answer(result) {}
  CallPoint(const CallPoint& other)
      : symbol(other.symbol), count(other.count), answer(other.answer) {}
};

// The faults configured for this process. Read once; counters are per process.
class Faults {
 public:
  static Faults& get();

  // Reads a SIMGPU_FAULTS text. False: some entry was not understood (the rest is in force), and
  // `error` names it.
  bool parse(const char* text, std::string* error);

  // Nothing was asked for: the fast path of every entry point.
  bool armed() const { return armed_; }

  // Runs the faults that concern any call: slow driver, SIGKILL or failure at a call of a symbol,
  // missing symbols.
  CUresult beforeCall(const char* symbol);
  // Whether an allocation of device memory must fail now.
  bool refuseAllocation();
  bool isMissing(const char* symbol) const;
  // Every allocation and every launch: raises the Xid or ECC errors asked for, once, and returns
  // the context's sticky error afterwards. Call it only when armed().
  CUresult strike(Context& context);
  bool lost() const { return lost_; }
  // Checkpoints that this process makes of others: whether they fail, and how much longer they
  // take, in nanoseconds.
  bool checkpointFails() const { return checkpoint_fails_; }
  std::uint64_t checkpointDelay() const { return checkpoint_ms_ * 1'000'000; }
  // Whether unmapping what pending work touches poisons its context at once; and whether every
  // kernel and memset is taken to touch everything.
  bool strictUnmap() const { return strict_unmap_; }
  bool strictUnmapOfAny() const { return strict_unmap_of_any_; }
  // The driver makes no memory of the host that cuMemMap takes.
  bool mapsNoHostMemory() const { return no_host_map_; }

 private:
  bool parseOne(const std::string& entry);
  bool parseMissing(std::string_view names);
  bool parsePoint(std::string_view text, CUresult answer);
  bool parseFailure(std::string_view text);
  bool parseCheckpoint(std::string_view text);

  bool armed_ = false;
  bool oom_ = false;
  bool lost_ = false;
  bool strict_unmap_ = false;
  bool strict_unmap_of_any_ = false;
  bool checkpoint_fails_ = false;
  bool no_host_map_ = false;
  std::uint64_t checkpoint_ms_ = 0;
  std::uint64_t slow_us_ = 0;
  std::atomic<std::int64_t> oom_after_{-1};
  std::atomic<unsigned> xid_{0};
  std::atomic<std::uint64_t> ecc_{0};
  std::vector<std::string> missing_;
  std::vector<CallPoint> points_;
};

}  // namespace divvy::simgpu
