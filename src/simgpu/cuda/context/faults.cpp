#include "cuda/context/faults.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <string_view>

#include "cuda/context/context.h"
#include "cuda/context/device.h"

namespace divvy::simgpu {
namespace {

bool parseNumber(std::string_view text, std::uint64_t* out) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *out);
  return error == std::errc() && stop == end && !text.empty();
}

// A context's error after an Xid; CUDA_SUCCESS where the real driver continues.
CUresult consequence(unsigned xid) {
  switch (xid) {
    case 13:
    case 31:
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    case 48:
    case 94:
    case 95:
      return CUDA_ERROR_ECC_UNCORRECTABLE;
    case 45:
    case 63:
    case 64:
    case 92:
      return CUDA_SUCCESS;
    case 79:
      return CUDA_ERROR_UNKNOWN;
    default:
      return CUDA_ERROR_LAUNCH_FAILED;
  }
}

constexpr std::uint64_t kEventDoubleBitEcc = 0x2;
constexpr std::uint64_t kEventXid = 0x8;
constexpr unsigned kXidRowsPending = 63;
constexpr unsigned kXidRowsFailed = 64;

}  // namespace

Faults& Faults::get() {
  static Faults* const faults = new Faults;
  return *faults;
}

bool Faults::parse(const char* text, std::string* error) {
  bool understood = true;
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string entry(rest.substr(0, comma));
    if (!entry.empty() && !parseOne(entry)) {
      understood = false;
      *error = entry;
    }
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  armed_ = oom_ || lost_ || strict_unmap_ || slow_us_ != 0 || oom_after_.load() >= 0 ||
           xid_.load() != 0 || ecc_.load() != 0 || !missing_.empty() || !points_.empty();
  return understood;
}

bool Faults::parseOne(const std::string& entry) {
  const std::size_t equals = entry.find('=');
  const std::string name = entry.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : entry.substr(equals + 1);
  if (equals == std::string::npos) {
    if (name == "oom") return oom_ = true;
    if (name == "lost") return lost_ = true;
    if (name == "strict-unmap") return strict_unmap_ = true;
    if (name == "no-host-map") return no_host_map_ = true;
    return false;
  }
  if (name == "missing") return parseMissing(value);
  if (name == "kill-at") return parsePoint(value, CUDA_SUCCESS);
  if (name == "fail-at") return parseFailure(value);
  if (name == "checkpoint") return parseCheckpoint(value);
  if (name == "strict-unmap" && value == "any") return strict_unmap_ = strict_unmap_of_any_ = true;
  std::uint64_t number = 0;
  if (!parseNumber(value, &number)) return false;
  if (name == "oom-after") {
    oom_after_.store(static_cast<std::int64_t>(number));
  } else if (name == "xid" && number > 0 && number < 1000) {
    xid_.store(static_cast<unsigned>(number));
  } else if (name == "ecc" && number > 0) {
    ecc_.store(number);
  } else if (name == "slow") {
    slow_us_ = number;
  } else {
    return false;
  }
  return true;
}

bool Faults::parseMissing(std::string_view names) {
  while (!names.empty()) {
    const std::size_t plus = names.find('+');
    missing_.emplace_back(names.substr(0, plus));
    if (plus == std::string_view::npos) break;
    names.remove_prefix(plus + 1);
  }
  return !missing_.empty();
}

bool Faults::parsePoint(std::string_view text, CUresult answer) {
  const std::size_t colon = text.find(':');
  std::uint64_t count = 1;
  if (colon != std::string_view::npos && !parseNumber(text.substr(colon + 1), &count)) return false;
  if (colon == 0 || count == 0) return false;
  points_.emplace_back(std::string(text.substr(0, colon)), count, answer);
  return true;
}

bool Faults::parseFailure(std::string_view text) {
  const std::size_t equals = text.find('=');
  std::uint64_t code = 0;
  if (equals == std::string_view::npos || !parseNumber(text.substr(equals + 1), &code))
    return false;
  if (code == 0 || code > CUDA_ERROR_UNKNOWN) return false;
  return parsePoint(text.substr(0, equals), static_cast<CUresult>(code));
}

bool Faults::parseCheckpoint(std::string_view text) {
  constexpr std::string_view kSlow = "slow:";
  if (text == "fail") return checkpoint_fails_ = true;
  return text.substr(0, kSlow.size()) == kSlow &&
         parseNumber(text.substr(kSlow.size()), &checkpoint_ms_);
}

CUresult Faults::beforeCall(const char* symbol) {
  CUresult answer = CUDA_SUCCESS;
  for (CallPoint& point : points_) {
    if (point.symbol != symbol || point.seen.fetch_add(1) + 1 != point.count) continue;
    if (point.answer == CUDA_SUCCESS) kill(getpid(), SIGKILL);
    answer = point.answer;
  }
  if (slow_us_ != 0) {
    timespec pause{static_cast<time_t>(slow_us_ / 1'000'000),
                   static_cast<long>(slow_us_ % 1'000'000 * 1000)};
    while (nanosleep(&pause, &pause) != 0) {  // slow on purpose
    }
  }
  return isMissing(symbol) ? CUDA_ERROR_NOT_FOUND : answer;
}

bool Faults::refuseAllocation() {
  if (oom_) return true;
  if (oom_after_.load(std::memory_order_relaxed) < 0) return false;
  // Counts down to zero and stays there.
  std::int64_t left = oom_after_.load();
  while (left > 0 && !oom_after_.compare_exchange_weak(left, left - 1)) {
  }
  return left == 0;
}

bool Faults::isMissing(const char* symbol) const {
  for (const std::string& name : missing_) {
    if (name == symbol) return true;
  }
  return false;
}

CUresult Faults::strike(Context& context) {
  Card& card = context.device().card;
  if (const std::uint64_t errors = ecc_.exchange(0); errors != 0) {
    {
      CardLock lock(card);
      card.file().ecc_volatile[1] += errors;
      card.file().ecc_aggregate[1] += errors;
      card.file().rows_pending = 1;
    }
    card.postEvent(kEventDoubleBitEcc, 0);
    card.postEvent(kEventXid, 48);
    context.poison(CUDA_ERROR_ECC_UNCORRECTABLE);
  }
  if (const unsigned xid = xid_.exchange(0); xid != 0) {
    if (xid == 79) card.file().lost.store(1);
    if (xid == kXidRowsPending || xid == kXidRowsFailed) {
      CardLock lock(card);
      (xid == kXidRowsPending ? card.file().rows_pending : card.file().rows_failed) = 1;
    }
    card.postEvent(kEventXid, xid);
    if (consequence(xid) != CUDA_SUCCESS) context.poison(consequence(xid));
  }
  return context.sticky();
}

}  // namespace divvy::simgpu
