// Functions and kernels as a whole.
#include <algorithm>

#include "parser/parser.h"

namespace divvy::ptx {
namespace {

struct KnownExternal {
  std::string_view name;
  External external;
};

constexpr KnownExternal kExternals[] = {
    {"vprintf", External::kPrintf},
    {"__assertfail", External::kAssert},
};

// Registers of a real card, for whoever asks about occupancy: PTX has as many as it likes, of
// which a compiler keeps about a third alive.
int estimateRegisters(const Function& function, int limit) {
  const int guess = 16 + static_cast<int>(std::min<std::uint32_t>(function.slots, 1024)) / 3;
  return std::clamp(std::min(guess, limit) / 8 * 8, 16, 64);
}

}  // namespace

// After .entry or .func: [(results)] name [(parameters)] attributes then a body or a semicolon.
void Parser::functionItem(const Head& head) {
  const int line = cursor_.peek().line;
  Function scratch;
  Function* const outer = &scratch;
  builder_.function = outer;
  builder_.scopes.emplace_back();
  if (!head.entry && cursor_.peek().is("(")) formals(outer, &outer->outputs);
  const std::string_view name = cursor_.word();
  Kernel kernel;
  kernel.name = name;
  if (cursor_.peek().is("(")) {
    if (head.entry) {
      kernelParams(&kernel);
    } else {
      formals(outer, &outer->inputs);
    }
  }
  functionAttributes(&kernel);
  const std::uint32_t index = builder_.functionNamed(name);
  function_lines_.emplace_back(index, line);
  Function& function = program_->functions[index];
  const bool has_body = !cursor_.accept(";");
  if (has_body && function.defined) cursor_.fail("'" + std::string(name) + "' is defined twice");
  if (has_body || !function.defined) {
    scratch.name = name;
    scratch.entry = head.entry;
    function = std::move(scratch);
    for (const KnownExternal& known : kExternals) {
      if (known.name == name && !has_body) function.external = known.external;
    }
  }
  builder_.function = &function;
  if (has_body) {
    function.defined = true;
    body();
    if (head.entry) describeKernel(index, std::move(kernel));
  }
  builder_.scopes.pop_back();
  builder_.function = nullptr;
}

void Parser::kernelParams(Kernel* kernel) {
  cursor_.expect("(");
  std::uint64_t end = 0;
  while (!cursor_.accept(")")) {
    if (!cursor_.peek().is(".param")) cursor_.fail("a kernel's parameters are .param");
    const Declaration param = declaration();
    const std::uint64_t at = (end + param.alignment - 1) / param.alignment * param.alignment;
    end = at + param.bytes();
    if (end > kMaxParamBytes) cursor_.fail("more parameters than a kernel can have");
    kernel->params.push_back(
        {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(param.bytes())});
    builder_.scopes.back().add(param.name, {.kind = SymbolKind::kKernelParam,
                                            .offset = at,
                                            .bytes = static_cast<std::uint32_t>(param.bytes()),
                                            .element = param.elementBytes()});
    cursor_.accept(",");
  }
  kernel->param_bytes = static_cast<std::uint32_t>(end);
}

void Parser::formals(Function* function, std::vector<Formal>* out) {
  cursor_.expect("(");
  while (!cursor_.accept(")")) {
    const bool in_register = cursor_.peek().is(".reg");
    const Declaration param = declaration();
    if (param.bytes() > kMaxLocalBytes) cursor_.fail("a variable that is too large");
    Formal formal{.in_register = in_register, .bytes = static_cast<std::uint32_t>(param.bytes())};
    Symbol symbol{.kind = SymbolKind::kRegister, .type = param.type};
    if (in_register) {
      formal.slot = builder_.newSlots(1);
    } else {
      formal.slot = builder_.newBytes(param.bytes(), param.alignment);
      symbol.kind = SymbolKind::kFrameParam;
      symbol.bytes = formal.bytes;
      symbol.element = param.elementBytes();
    }
    symbol.index = formal.slot;
    out->push_back(formal);
    if (param.name != "_") builder_.scopes.back().add(param.name, symbol);
    cursor_.accept(",");
  }
  static_cast<void>(function);
}

void Parser::functionAttributes(Kernel* kernel) {
  const auto triple = [&](int* out) {
    for (int i = 0; i < 3; ++i) {
      out[i] = i == 0 || cursor_.accept(",") ? static_cast<int>(cursor_.integer()) : 1;
    }
  };
  for (;;) {
    int shape[3] = {1, 1, 1};
    if (cursor_.accept(".maxntid")) {
      triple(shape);
      kernel->max_threads = std::min(1024, shape[0] * shape[1] * shape[2]);
    } else if (cursor_.accept(".reqntid")) {
      triple(kernel->required_threads);
      const int* const required = kernel->required_threads;
      kernel->max_threads = std::min(1024, required[0] * required[1] * required[2]);
    } else if (cursor_.accept(".maxnreg")) {
      kernel->registers = static_cast<int>(cursor_.integer());
    } else if (cursor_.accept(".reqnctapercluster")) {
      triple(shape);
    } else if (cursor_.accept(".minnctapersm") || cursor_.accept(".maxnctapersm") ||
               cursor_.accept(".maxclusterrank") || cursor_.accept(".abi_preserve") ||
               cursor_.accept(".abi_preserve_control")) {
      cursor_.integer();
    } else if (cursor_.accept(".pragma")) {
      cursor_.skipPast(";");
    } else if (!cursor_.accept(".noreturn") && !cursor_.accept(".explicitcluster") &&
               !cursor_.accept(".blocksareclusters")) {
      return;
    }
  }
}

void Parser::describeKernel(std::uint32_t index, Kernel kernel) {
  const Function& function = program_->functions[index];
  kernel.local_bytes = static_cast<int>(function.local_bytes);
  kernel.instructions = static_cast<std::uint32_t>(function.code.size());
  kernel.registers = estimateRegisters(function, kernel.registers != 0 ? kernel.registers : 64);
  program_->kernels.push_back(std::move(kernel));
  program_->kernel_functions.push_back(index);
}

}  // namespace divvy::ptx
