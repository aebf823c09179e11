#include "machine/thread.h"

#include <algorithm>

namespace divvy::ptx {
namespace {

constexpr std::uint32_t kLocalAlignment = 16;

std::uint32_t alignLocal(std::uint32_t bytes) {
  return (bytes + kLocalAlignment - 1) / kLocalAlignment * kLocalAlignment;
}

void copyParam(std::uint64_t* to, std::uint32_t to_bytes, const void* from,
               std::uint32_t from_bytes) {
  std::memcpy(to, from, std::min(to_bytes, from_bytes));
}

bool sameShape(const CallSite& site, const Function& callee) {
  return site.inputs.size() == callee.inputs.size() && site.outputs.size() <= callee.outputs.size();
}

}  // namespace

std::byte* Grid::findSlowly(std::uint64_t address, unsigned size, bool write) {
  Range found;
  if (address - kGridWindow < sizeof workspace) {
    found = {.begin = kGridWindow,
             .end = kGridWindow + sizeof workspace,
             .host = reinterpret_cast<std::byte*>(workspace.data()),
             .writable = true};
  } else if (address >= kSharedWindow || !launch.memory->lookup(address, &found)) {
    return nullptr;
  }
  if ((write && !found.writable) || found.end - address < size) return nullptr;
  ranges[(address >> 16) % ranges.size()] = found;
  return found.host + (address - found.begin);
}

bool Thread::fail(const Inst& inst, FaultKind kind, std::uint64_t address) {
  if (grid->fault.kind == FaultKind::kNone) {
    grid->fault = {.kind = kind, .address = address, .line = static_cast<int>(inst.line)};
  }
  return false;
}

std::byte* Thread::at(const Inst& inst, Space space, std::uint64_t address, unsigned size,
                      bool write) {
  const std::uint64_t given = address;
  if ((address & (size - 1)) != 0) {
    fail(inst, FaultKind::kMisaligned, given);
    return nullptr;
  }
  if (space == Space::kGeneric && address >= kSharedWindow) [[unlikely]] {
    space = address < kLocalWindow   ? Space::kShared
            : address < kParamWindow ? Space::kLocal
            : address < kCodeWindow  ? Space::kParam
                                     : Space::kGeneric;
    if (space != Space::kGeneric) address &= kWindowBytes - 1;
  }
  std::byte* host = nullptr;
  switch (space) {
    case Space::kGeneric:
    case Space::kGlobal:
    case Space::kConst:
      host = grid->find(address, size, write);
      break;
    case Space::kShared:
      if (address + size <= block->shared_bytes && address < kWindowBytes) {
        host = block->shared() + address;
      }
      break;
    case Space::kLocal:
      if (address + size <= local.size() && address < kWindowBytes) host = local.data() + address;
      break;
    case Space::kParam:
      if ((address & kFrameParamBit) != 0) {
        address &= ~kFrameParamBit;
        if (address + size <= std::uint64_t{function->slots} * 8) {
          host = frameBytes(0) + address;
        }
      } else if (!write && address + size <= grid->launch.params.size()) {
        host = grid->launch.params.data() + address;
      }
      break;
  }
  if (host == nullptr) fail(inst, FaultKind::kIllegalAddress, given);
  return host;
}

bool Thread::enter(const Inst& inst, const CallSite& site, const Function& callee) {
  if (!callee.defined || callee.entry || !sameShape(site, callee)) {
    return fail(inst, FaultKind::kIllegalCall);
  }
  const std::uint32_t fresh = base + function->slots;
  const std::uint32_t fresh_local = local_base + alignLocal(function->local_bytes);
  // One large function and what it calls are always welcome; what goes on for ever is not.
  const bool deep = frames.size() >= kMaxFrames || base > kMaxFrameSlots;
  if (deep || fresh_local + callee.local_bytes > kMaxStackBytes) {
    return fail(inst, FaultKind::kStackOverflow);
  }
  if (stack.size() < fresh + callee.slots) stack.resize(2 * (fresh + callee.slots));
  if (local.size() < fresh_local + callee.local_bytes) {
    local.resize(fresh_local + callee.local_bytes);
  }
  regs = stack.data() + base;
  std::uint64_t* const frame = stack.data() + fresh;
  std::fill_n(frame, callee.slots, 0);
  for (std::size_t i = 0; i < callee.inputs.size(); ++i) {
    const Formal& formal = callee.inputs[i];
    const Actual& actual = site.inputs[i];
    if (actual.in_frame) {
      copyParam(frame + formal.slot, formal.bytes, regs + actual.operand, actual.bytes);
    } else {
      const std::uint64_t value = raw(actual.operand);
      copyParam(frame + formal.slot, formal.bytes, &value, 8);
    }
  }
  frames.push_back(
      {.function = function, .next = next, .site = &site, .base = base, .local_base = local_base});
  function = &callee;
  next = callee.code.data();
  base = fresh;
  local_base = fresh_local;
  regs = frame;
  return true;
}

bool Thread::leave() {
  if (frames.empty()) {
    state = State::kEnded;
    --block->live;
    return false;
  }
  const Frame frame = frames.back();
  frames.pop_back();
  std::uint64_t* const caller = stack.data() + frame.base;
  for (std::size_t i = 0; i < frame.site->outputs.size(); ++i) {
    const Formal& formal = function->outputs[i];
    const Actual& actual = frame.site->outputs[i];
    if (!actual.in_frame) caller[actual.operand] = 0;
    copyParam(caller + actual.operand, actual.bytes, regs + formal.slot, formal.bytes);
  }
  function = frame.function;
  next = frame.next;
  base = frame.base;
  local_base = frame.local_base;
  regs = caller;
  return true;
}

}  // namespace divvy::ptx
