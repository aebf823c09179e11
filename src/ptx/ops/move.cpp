// mov in its many forms, and what tells state spaces apart.
#include "machine/pick.h"

namespace divvy::ptx {
namespace {

bool move(const Inst& i, Thread& t) {
  t.regs[i.dst] = t.raw(i.a) & i.mask;
  return true;
}

// mov.b64 %rd, {%r1, %r2}: extra: the list, kind: bits of each
bool pack(const Inst& i, Thread& t) {
  const auto& parts = t.grid->program->lists[static_cast<std::size_t>(i.extra)];
  const std::uint64_t mask = (1ULL << i.kind) - 1;
  std::uint64_t result = 0;
  unsigned at = 0;
  for (const Operand part : parts) {
    result |= (t.raw(part) & mask) << at;
    at += i.kind;
  }
  t.regs[i.dst] = result;
  return true;
}

bool unpack(const Inst& i, Thread& t) {
  const auto& parts = t.grid->program->lists[static_cast<std::size_t>(i.extra)];
  const std::uint64_t mask = (1ULL << i.kind) - 1;
  std::uint64_t value = t.raw(i.a);
  for (const Operand part : parts) {
    t.regs[part] = value & mask;
    value >>= i.kind;
  }
  return true;
}

// Into and out of the window at `offset`.
bool toGeneric(const Inst& i, Thread& t) {
  t.regs[i.dst] = t.raw(i.a) + static_cast<std::uint64_t>(i.offset);
  return true;
}
bool fromGeneric(const Inst& i, Thread& t) {
  t.regs[i.dst] = (t.raw(i.a) - static_cast<std::uint64_t>(i.offset)) & i.mask;
  return true;
}

bool isSpace(const Inst& i, Thread& t) {
  const std::uint64_t address = t.raw(i.a);
  bool is = false;
  switch (static_cast<Space>(i.kind)) {
    case Space::kShared:
      is = address >= kSharedWindow && address < kLocalWindow;
      break;
    case Space::kLocal:
      is = address >= kLocalWindow && address < kParamWindow;
      break;
    case Space::kParam:
      is = address >= kParamWindow && address < kCodeWindow;
      break;
    case Space::kGlobal:
      is = address < kSharedWindow;
      break;
    case Space::kGeneric:
    case Space::kConst:
      break;  // constant variables lie in global memory
  }
  t.regs[i.dst] = is ? 1 : 0;
  return true;
}

// How many bits each of the parts has.
std::uint8_t partBits(Decode& d, Type type, std::size_t parts) {
  const unsigned bits = 8 * sizeOf(type);
  if (parts == 0 || bits > 64 || bits % parts != 0 || bits / parts < 8) d.unknownForm();
  return static_cast<std::uint8_t>(bits / parts);
}

void decodeMove(Decode& d) {
  const Type type = d.type();
  d.expectCount(2, 2);
  const Argument& to = d.argument(0);
  const Argument& from = d.argument(1);
  if (from.kind == ArgumentKind::kVector) {
    d.inst.kind = partBits(d, type, from.parts.size());
    d.inst.dst = d.destination(0);
    d.inst.extra = d.list(1, from.parts.size(), bitsOf(type), false);
    if (from.parts.size() == 1) d.unknownForm();
    return d.emit(pack);
  }
  if (to.kind == ArgumentKind::kVector) {
    d.inst.kind = partBits(d, type, to.parts.size());
    if (to.parts.size() == 1) d.unknownForm();
    d.inst.a = d.source(1, type);
    d.inst.extra = d.list(0, to.parts.size(), bitsOf(type), true);
    return d.emit(unpack);
  }
  d.inst.dst = d.destination(0);
  if (from.kind == ArgumentKind::kSpecial) {
    // Straight into the register, unless a guard may forbid it.
    if (d.inst.guard < 0 && sizeOf(to.type) == sizeOf(type)) {
      if (!readSpecial(d, from.name, d.inst.dst)) {
        d.fail("unknown register '" + std::string(from.name) + "'");
      }
      return d.finish();
    }
  }
  d.inst.a = d.source(1, type);
  d.emit(move);
}

std::uint64_t windowOf(Space space) {
  switch (space) {
    case Space::kShared:
      return kSharedWindow;
    case Space::kLocal:
      return kLocalWindow;
    case Space::kParam:
      return kParamWindow;
    default:
      return 0;
  }
}

void decodeConvertAddress(Decode& d) {
  const bool to = d.take("to");
  const Space space = d.space();
  if (space == Space::kGeneric) d.unknownForm();
  const Type type = d.type();
  d.expectCount(2, 2);
  d.inst.dst = d.destination(0);
  d.inst.a = d.source(1, type);
  d.inst.offset = static_cast<std::int64_t>(windowOf(space));
  d.emit(to ? fromGeneric : toGeneric);
}

void decodeIsSpace(Decode& d) {
  const Space space = d.space();
  if (space == Space::kGeneric) d.unknownForm();
  d.expectCount(2, 2);
  d.inst.kind = static_cast<std::uint8_t>(space);
  d.inst.dst = d.destination(0);
  d.inst.a = d.source(1, Type::kU64);
  d.emit(isSpace);
}

}  // namespace

void addMoveOps(DecoderTable& table) {
  table["mov"] = decodeMove;
  table["cvta"] = decodeConvertAddress;
  table["isspacep"] = decodeIsSpace;
}

}  // namespace divvy::ptx
