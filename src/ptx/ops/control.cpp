// Branches, calls and ends.
#include "machine/external.h"
#include "machine/pick.h"

namespace divvy::ptx {
namespace {

bool jump(const Inst& i, Thread& t) {
  t.next = t.function->code.data() + i.extra;
  return true;
}

bool jumpByTable(const Inst& i, Thread& t) {
  const auto& targets = t.grid->program->lists[static_cast<std::size_t>(i.extra)];
  const auto index = t.get<std::uint32_t>(i.a);
  if (index >= targets.size()) return t.fail(i, FaultKind::kIllegalCall);
  t.next = t.function->code.data() + targets[index];
  return true;
}

bool call(const Inst& i, Thread& t) {
  const Program& program = *t.grid->program;
  const CallSite& site = program.calls[static_cast<std::size_t>(i.extra)];
  auto index = static_cast<std::uint64_t>(site.function);
  if (site.function < 0) {
    index = (t.raw(site.address) - kCodeWindow) / 16;
    if (t.raw(site.address) < kCodeWindow || index >= program.functions.size()) {
      return t.fail(i, FaultKind::kIllegalCall);
    }
  }
  const Function& callee = program.functions[index];
  if (callee.external != External::kNone) return callExternal(i, t, site, callee.external);
  return t.enter(i, site, callee);
}

bool leave(const Inst&, Thread& t) {
  return t.leave();
}

bool end(const Inst&, Thread& t) {
  t.state = State::kEnded;
  --t.block->live;
  return false;
}

bool trap(const Inst& i, Thread& t) {
  return t.fail(i, FaultKind::kTrap);
}

// The thread goes on after others had their turn.
bool yield(const Inst&, Thread&) {
  return false;
}

Actual actualOf(Decode& d, const Argument& from, bool written) {
  if (from.kind == ArgumentKind::kSymbol && from.symbol.kind == SymbolKind::kFrameParam) {
    if (from.element || from.offset != 0) d.fail("a .param variable is passed as a whole");
    return {.in_frame = true,
            .operand = static_cast<Operand>(from.symbol.index),
            .bytes = from.symbol.bytes};
  }
  if (written && from.kind != ArgumentKind::kRegister && from.kind != ArgumentKind::kSink) {
    d.fail("a result must be a register or .param variable");
  }
  const Operand operand = written ? Decode::slotOf(from) : d.source(from, from.type);
  return {.in_frame = false, .operand = operand, .bytes = 8};
}

// call (results), function, (arguments), prototype
void decodeCall(Decode& d) {
  d.take("uni");
  d.expectCount(1, 4);
  CallSite site;
  std::size_t at = 0;
  if (d.argument(0).kind == ArgumentKind::kVector) {
    for (const Argument& to : d.argument(0).parts) site.outputs.push_back(actualOf(d, to, true));
    ++at;
  }
  if (at >= d.count()) d.fail("a call without a function");
  const Argument& callee = d.argument(at++);
  if (callee.kind == ArgumentKind::kRegister) {
    site.address = Decode::slotOf(callee);
    d.builder.function->calls_by_address = true;
  } else {
    if (callee.kind == ArgumentKind::kSymbol && callee.symbol.kind != SymbolKind::kFunction) {
      d.fail("'" + std::string(callee.name) + "' is no function");
    }
    const std::uint32_t index = d.builder.functionNamed(callee.name);
    if (d.builder.program->functions[index].name.empty()) d.fail("unknown function");
    site.function = static_cast<std::int32_t>(index);
    d.builder.function->functions.push_back(index);
  }
  if (at < d.count() && d.argument(at).kind == ArgumentKind::kVector) {
    for (const Argument& from : d.argument(at).parts) {
      site.inputs.push_back(actualOf(d, from, false));
    }
  }
  d.inst.extra = static_cast<std::int32_t>(d.builder.program->calls.size());
  d.builder.program->calls.push_back(std::move(site));
  d.emit(call);
}

void decodeBranch(Decode& d) {
  d.take("uni");
  d.expectCount(1, 1);
  d.inst.extra = d.label(0);
  d.emit(jump);
}

void decodeBranchTable(Decode& d) {
  if (!d.take("idx")) d.unknownForm();
  d.take("uni");
  d.expectCount(2, 2);
  const Argument& table = d.argument(1);
  if (table.kind != ArgumentKind::kSymbol || table.symbol.kind != SymbolKind::kTargets) {
    d.fail("'" + std::string(table.name) + "' is no list of .branchtargets");
  }
  d.inst.a = d.source(0, Type::kU32);
  d.inst.extra = static_cast<std::int32_t>(table.symbol.index);
  d.emit(jumpByTable);
}

void decodePlain(Decode& d, Handler run) {
  d.take("uni");
  d.expectCount(0, 0);
  d.emit(run);
}

bool nothing(const Inst&, Thread&) {
  return true;
}

// Grids follow each other whole: there is nobody to wait for, or to let begin early.
void decodeDependency(Decode& d) {
  d.takeAny({"wait", "launch_dependents"});
  decodePlain(d, nothing);
}

void decodeSleep(Decode& d) {
  if (d.type() != Type::kU32) d.unknownForm();
  d.expectCount(1, 1);
  d.emit(yield);
}

}  // namespace

void addControlOps(DecoderTable& table) {
  table["bra"] = decodeBranch;
  table["brx"] = decodeBranchTable;
  table["call"] = decodeCall;
  table["ret"] = [](Decode& d) { decodePlain(d, leave); };
  table["exit"] = [](Decode& d) { decodePlain(d, end); };
  table["trap"] = [](Decode& d) { decodePlain(d, trap); };
  table["brkpt"] = [](Decode& d) { decodePlain(d, trap); };
  table["nanosleep"] = decodeSleep;
  table["griddepcontrol"] = decodeDependency;
}

}  // namespace divvy::ptx
