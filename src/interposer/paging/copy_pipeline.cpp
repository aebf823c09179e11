#include "paging/copy_pipeline.h"

#include "ledger/layout.h"
#include "runtime.h"
#include "support/syscalls.h"

namespace divvy::interposer {
namespace {

using abi::Cu;

constexpr std::uint32_t kUsually = 3;
constexpr std::uint64_t kMaxBytes = std::uint64_t{512} << 20;
constexpr int kTries = 3;

}  // namespace

bool CopyPipeline::open() {
  if (real<Cu::cuStreamCreate>()(&stream_, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) {
    stream_ = nullptr;
    return false;
  }
  const std::uint32_t told = ledger::loadRelaxed(runtime().tenant.control().header.swap.ahead);
  most_ = told == 0 ? kUsually : told < kMax ? told : kMax;
  return true;
}

void CopyPipeline::close() {
  for (Flight& flight : of_) {
    if (flight.end != nullptr) real<Cu::cuEventDestroy_v2>()(flight.end);
    flight.end = nullptr;
  }
  if (stream_ != nullptr) real<Cu::cuStreamDestroy_v2>()(stream_);
  stream_ = nullptr;
}

bool CopyPipeline::full(std::uint64_t bytes_more) const {
  return count_ == most_ || (count_ != 0 && bytes_ + bytes_more > kMaxBytes);
}

bool CopyPipeline::out(const Flight& flight, CUdeviceptr device, void* host) {
  if (count_ == 0) since_ = sys::now();
  return real<Cu::cuMemcpyDtoHAsync_v2>()(host, device, flight.bytes, stream_) == CUDA_SUCCESS &&
         queue(flight);
}

bool CopyPipeline::in(const Flight& flight, CUdeviceptr device, const void* host) {
  if (count_ == 0) since_ = sys::now();
  return real<Cu::cuMemcpyHtoDAsync_v2>()(device, host, flight.bytes, stream_) == CUDA_SUCCESS &&
         queue(flight);
}

bool CopyPipeline::queue(const Flight& flight) {
  Flight& place = next();
  CUevent end = place.end;
  if (end == nullptr && real<Cu::cuEventCreate>()(&end, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
    return false;
  }
  place = flight;
  place.end = end;
  if (real<Cu::cuEventRecord>()(end, stream_) != CUDA_SUCCESS) return false;
  ++count_;
  bytes_ += flight.bytes;
  return true;
}

CUresult CopyPipeline::look() const {
  return real<Cu::cuEventQuery>()(of_[first_].end);
}

CopyPipeline::Flight CopyPipeline::take() {
  const Flight oldest = of_[first_];
  first_ = (first_ + 1) % kMax;
  --count_;
  bytes_ -= oldest.bytes;
  return oldest;
}

std::uint64_t CopyPipeline::lap() {
  const std::uint64_t now = sys::now(), begun = since_;
  since_ = now;
  return now - begun;
}

// Repeated failures mean that the context's work has ended anyway.
void CopyPipeline::stop() const {
  for (int i = 0; i < kTries; ++i) {
    if (real<Cu::cuStreamSynchronize>()(stream_) == CUDA_SUCCESS) return;
  }
}

}  // namespace divvy::interposer
