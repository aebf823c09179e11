#include "machine/decode.h"

#include <algorithm>
#include <bit>

#include "machine/thread.h"
#include "program/half.h"

namespace divvy::ptx {
namespace {

bool notPredicate(const Inst& i, Thread& t) {
  t.regs[i.dst] = static_cast<std::uint64_t>(t.raw(i.a) == 0);
  return true;
}

bool localAddress(const Inst& i, Thread& t) {
  t.regs[i.dst] = t.local_base + static_cast<std::uint64_t>(i.offset);
  return true;
}

// b: a register that counts elements of `extra` bytes; kind: its type
bool elementAddress(const Inst& i, Thread& t) {
  std::uint64_t index = t.raw(i.b);
  const auto type = static_cast<Type>(i.kind);
  const unsigned unused = 64 - 8 * sizeOf(type);
  index <<= unused;
  index = isSigned(type) ? static_cast<std::uint64_t>(static_cast<std::int64_t>(index) >> unused)
                         : index >> unused;
  t.regs[i.dst] = t.raw(i.a) + index * static_cast<std::uint64_t>(i.extra);
  return true;
}

const DecoderTable& decoders() {
  // Never destroyed: exit handlers load modules.
  static const DecoderTable& table = *[] {
    auto* const all = new DecoderTable;
    DecoderTable& made = *all;
    addArithmeticOps(made);
    addBitOps(made);
    addFloatOps(made);
    addCompareOps(made);
    addConvertOps(made);
    addMoveOps(made);
    addMemoryOps(made);
    addAtomicOps(made);
    addControlOps(made);
    addCollectiveOps(made);
    return all;
  }();
  return table;
}

std::uint64_t widthMask(Type type) {
  const unsigned bytes = sizeOf(type);
  return bytes >= 8 ? ~0ULL : (1ULL << 8 * bytes) - 1;
}

}  // namespace

void decode(Builder& builder, const Statement& statement) {
  const std::string_view name = statement.opcode.substr(0, statement.opcode.find('.'));
  const auto found = decoders().find(name);
  if (found == decoders().end()) {
    throw ParseFailure{statement.line,
                       "unknown instruction '" + std::string(statement.opcode) + "'"};
  }
  Decode d(builder, statement);
  found->second(d);
}

Decode::Decode(Builder& b, const Statement& s) : statement(s), builder(b) {
  std::string_view rest = s.opcode;
  for (std::size_t dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
    rest.remove_prefix(dot + 1);
    modifiers_.push_back(rest.substr(0, rest.find('.')));
  }
  inst.line = static_cast<std::uint32_t>(s.line);
  inst.guard = s.guard;
  inst.guard_negated = s.guard_negated;
}

void Decode::fail(const std::string& what) const {
  throw ParseFailure{statement.line, what + " in '" + std::string(statement.opcode) + "'"};
}

void Decode::unknownForm() const {
  throw ParseFailure{statement.line, "unknown instruction '" + std::string(statement.opcode) + "'"};
}

bool Decode::take(std::string_view modifier) {
  const auto found = std::find(modifiers_.begin(), modifiers_.end(), modifier);
  if (found == modifiers_.end()) return false;
  modifiers_.erase(found);
  return true;
}

std::string_view Decode::takeAny(std::initializer_list<std::string_view> modifiers) {
  for (const std::string_view modifier : modifiers) {
    if (take(modifier)) return modifier;
  }
  return {};
}

std::optional<Type> Decode::maybeType() {
  if (modifiers_.empty()) return std::nullopt;
  const auto named = typeNamed(modifiers_.front());
  if (named) modifiers_.erase(modifiers_.begin());
  return named;
}

Type Decode::type() {
  const auto named = maybeType();
  if (!named) unknownForm();
  return *named;
}

Rounding Decode::rounding() {
  const std::string_view taken = takeAny({"rn", "rz", "rm", "rp", "rna"});
  if (taken == "rz") return Rounding::kZero;
  if (taken == "rm") return Rounding::kDown;
  if (taken == "rp") return Rounding::kUp;
  return taken == "rna" ? Rounding::kAway : Rounding::kNearest;
}

void Decode::floatModifiers() {
  inst.ftz = take("ftz");
  inst.sat = take("sat");
}

void Decode::memoryModifiers() {
  for (bool taken = true; taken;) {
    taken = !takeAny({"relaxed",
                      "acquire",
                      "release",
                      "acq_rel",
                      "sc",
                      "cta",
                      "cluster",
                      "gpu",
                      "sys",
                      "volatile",
                      "weak",
                      "mmio",
                      "ca",
                      "cg",
                      "cs",
                      "lu",
                      "cv",
                      "wb",
                      "wt",
                      "nc",
                      "unified",
                      "L1::evict_normal",
                      "L1::evict_unchanged",
                      "L1::evict_first",
                      "L1::evict_last",
                      "L1::no_allocate",
                      "L2::64B",
                      "L2::128B",
                      "L2::256B",
                      "L2::evict_normal",
                      "L2::evict_first",
                      "L2::evict_last"})
                 .empty();
  }
}

Space Decode::space() {
  const std::string_view taken = takeAny({"global", "shared", "shared::cta", "local", "param",
                                          "param::entry", "param::func", "const"});
  if (taken.starts_with("shared")) return Space::kShared;
  if (taken.starts_with("param")) return Space::kParam;
  return taken == "global"  ? Space::kGlobal
         : taken == "local" ? Space::kLocal
         : taken == "const" ? Space::kConst
                            : Space::kGeneric;
}

void Decode::finish() {
  if (modifiers_.empty()) return;
  fail("unknown modifier '." + std::string(modifiers_.front()) + "'");
}

void Decode::expectCount(std::size_t least, std::size_t most) {
  if (count() < least || count() > most) {
    fail("expected " + std::to_string(least) + " operands, found " + std::to_string(count()));
  }
}

Operand Decode::slotOf(const Argument& argument) {
  return argument.kind == ArgumentKind::kRegister ? static_cast<Operand>(argument.symbol.index) : 0;
}

Operand Decode::destination(std::size_t index) {
  const Argument& to = argument(index);
  if (to.kind == ArgumentKind::kSink) return 0;
  if (to.kind != ArgumentKind::kRegister) {
    fail("operand " + std::to_string(index + 1) + " must be a register");
  }
  inst.mask = widthMask(to.type);
  return slotOf(to);
}

Operand Decode::besides(std::size_t index) {
  const Argument& to = argument(index);
  return to.parts.empty() || to.kind == ArgumentKind::kVector ? 0 : slotOf(to.parts[0]);
}

Operand Decode::literal(const Argument& from, Type type) {
  if (from.kind == ArgumentKind::kInteger || !isFloat(type)) return builder.constant(from.bits);
  const double value = from.type == Type::kF32
                           ? std::bit_cast<float>(static_cast<std::uint32_t>(from.bits))
                           : std::bit_cast<double>(from.bits);
  switch (type) {
    case Type::kF64:
      return builder.constant(std::bit_cast<std::uint64_t>(value));
    case Type::kF32:
      // The bits as they are: a NaN keeps its own.
      if (from.type == Type::kF32) return builder.constant(from.bits);
      return builder.constant(std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    case Type::kF16:
      return builder.constant(packSmall(kHalf, value, Rounding::kNearest, Overflow::kInfinity));
    case Type::kBf16:
      return builder.constant(packSmall(kBrain, value, Rounding::kNearest, Overflow::kInfinity));
    default:
      return builder.constant(from.bits);
  }
}

Operand Decode::symbolAddress(const Argument& from) {
  const Operand base = baseAddress(from);
  if (from.parts.empty()) return base;
  Inst made;
  made.run = elementAddress;
  made.dst = scratch();
  made.a = base;
  made.b = slotOf(from.parts[0]);
  made.kind = static_cast<std::uint8_t>(from.parts[0].type);
  made.extra = static_cast<std::int32_t>(from.symbol.element);
  made.line = inst.line;
  builder.function->code.push_back(made);
  return made.dst;
}

Operand Decode::baseAddress(const Argument& from) {
  switch (from.symbol.kind) {
    case SymbolKind::kGlobal:
    case SymbolKind::kShared:
      return builder.address(from.symbol, from.offset, false);
    case SymbolKind::kLocal: {
      const Operand made = scratch();
      before(localAddress, made, 0, static_cast<std::int64_t>(from.symbol.offset) + from.offset);
      return made;
    }
    case SymbolKind::kKernelParam:
      return builder.constant(from.symbol.offset + static_cast<std::uint64_t>(from.offset));
    case SymbolKind::kFrameParam:
      return builder.constant(kFrameParamBit + 8ULL * from.symbol.index +
                              static_cast<std::uint64_t>(from.offset));
    case SymbolKind::kFunction:
      builder.program->address_taken.push_back(from.symbol.index);
      builder.function->functions.push_back(from.symbol.index);
      return builder.constant(kCodeWindow + 16ULL * from.symbol.index);
    default:
      fail("'" + std::string(from.name) + "' has no address");
  }
}

Operand Decode::source(const Argument& from, Type type) {
  switch (from.kind) {
    case ArgumentKind::kRegister: {
      if (!from.negated) return slotOf(from);
      const Operand made = scratch();
      before(notPredicate, made, slotOf(from));
      return made;
    }
    case ArgumentKind::kInteger:
    case ArgumentKind::kFloat:
      return literal(from, type);
    case ArgumentKind::kSymbol:
      return symbolAddress(from);
    case ArgumentKind::kSpecial: {
      const Operand made = scratch();
      if (readSpecial(*this, from.name, made)) return made;
      fail("unknown register '" + std::string(from.name) + "'");
    }
    case ArgumentKind::kName:
      fail("unknown name '" + std::string(from.name) + "'");
    default:
      fail("an operand of a kind that it cannot have");
  }
}

void Decode::sources(std::size_t first, std::initializer_list<Type> types) {
  Operand* const places[] = {&inst.a, &inst.b, &inst.c, &inst.d};
  std::size_t i = 0;
  for (const Type type : types) {
    *places[i] = source(first + i, type);
    ++i;
  }
}

std::optional<Space> Decode::address(std::size_t index) {
  const Argument& from = argument(index);
  const bool element = from.kind == ArgumentKind::kSymbol && from.element;
  if (from.kind != ArgumentKind::kAddress && !element) {
    fail("operand " + std::to_string(index + 1) + " must be an address");
  }
  Argument base = element ? from : from.parts[0];
  if (base.kind == ArgumentKind::kRegister || base.kind == ArgumentKind::kInteger) {
    inst.a = source(base, Type::kU64);
    inst.offset = from.offset;
    return std::nullopt;
  }
  if (!element) base.offset += from.offset;
  inst.a = source(base, Type::kU64);
  inst.offset = 0;
  switch (base.symbol.kind) {
    case SymbolKind::kShared:
      return Space::kShared;
    case SymbolKind::kLocal:
      return Space::kLocal;
    case SymbolKind::kKernelParam:
    case SymbolKind::kFrameParam:
      return Space::kParam;
    default:
      return Space::kGlobal;
  }
}

std::uint64_t Decode::integer(std::size_t index) {
  if (argument(index).kind != ArgumentKind::kInteger) {
    fail("operand " + std::to_string(index + 1) + " must be an integer");
  }
  return argument(index).bits;
}

std::int32_t Decode::list(std::size_t index, std::size_t size, Type type, bool written) {
  const Argument& from = argument(index);
  std::vector<Operand> made;
  if (from.kind == ArgumentKind::kVector) {
    for (const Argument& part : from.parts) {
      if (written && part.kind != ArgumentKind::kRegister && part.kind != ArgumentKind::kSink) {
        fail("what is written must be a register");
      }
      made.push_back(written ? slotOf(part) : source(part, type));
    }
  } else {
    made.push_back(written ? destination(index) : source(index, type));
  }
  if (made.size() != size) fail("a vector of another size");
  builder.program->lists.push_back(std::move(made));
  return static_cast<std::int32_t>(builder.program->lists.size() - 1);
}

std::int32_t Decode::label(std::size_t index) {
  const Argument& to = argument(index);
  if (to.kind != ArgumentKind::kName)
    fail("operand " + std::to_string(index + 1) + " must be a label");
  builder.jumps.push_back({builder.function->code.size(), to.name, statement.line});
  return -1;
}

Operand Decode::scratch() {
  return static_cast<Operand>(builder.newSlots(1));
}

void Decode::before(Handler run, Operand dst, Operand a, std::int64_t offset) {
  Inst made;
  made.run = run;
  made.dst = dst;
  made.a = a;
  made.offset = offset;
  made.line = inst.line;
  builder.function->code.push_back(made);
}

void Decode::emit(Handler run) {
  finish();
  inst.run = run;
  builder.function->code.push_back(inst);
}

}  // namespace divvy::ptx
