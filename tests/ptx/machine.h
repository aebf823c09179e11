// PTX run without a card, in a few words, for the tests of src/ptx.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "ptx/run.h"

namespace divvy::ptx {

inline constexpr std::uint64_t kBase = 0x10000;  // where the first buffer lies

inline std::string head() {
  return ".version 8.8\n.target sm_90\n.address_size 64\n";
}

inline std::shared_ptr<const Module> parsed(const std::string& text) {
  ParseError error;
  auto module = Module::parse(text, &error);
  EXPECT_NE(module, nullptr) << error.text() << "\n" << text;
  return module;
}

inline ParseError failure(const std::string& text) {
  ParseError error;
  EXPECT_EQ(Module::parse(text, &error), nullptr) << text;
  return error;
}

// A kernel "k" with one parameter, the address of `words`, run to its end.
struct Machine {
  explicit Machine(std::size_t count, std::uint32_t fill = 0) : words(count, fill) {}

  std::vector<std::uint32_t> words;
  std::string printed;
  std::uint64_t executed = 0;
  std::uint32_t dynamic_shared = 0;
  std::array<unsigned, 3> grid{1, 1, 1};
  std::array<unsigned, 3> block{1, 1, 1};

  Fault run(const std::string& text) {
    const auto module = parsed(text);
    if (module == nullptr) return {};
    RangeList memory;
    memory.add(kBase, words.data(), words.size() * 4);
    Launch launch;
    launch.module = module;
    const int kernel = module->findKernel("k");
    EXPECT_GE(kernel, 0);
    launch.kernel = static_cast<std::size_t>(kernel);
    launch.grid = grid;
    launch.block = block;
    launch.dynamic_shared = dynamic_shared;
    const std::uint64_t address = kBase;
    launch.params.resize(8);
    std::memcpy(launch.params.data(), &address, 8);
    launch.print = [this](std::string_view text_part) { printed += text_part; };
    std::vector<std::vector<std::byte>> globals;
    placeGlobals(*module, &globals, &memory, &launch.globals);
    launch.memory = &memory;
    Run run(std::move(launch));
    for (int step = 0; step < 1000; ++step) {
      const Progress progress = run.step(1'000'000);
      executed = run.executed();
      if (progress != Progress::kRunning) return run.fault();
    }
    ADD_FAILURE() << "it does not end";
    return {};
  }

 private:
  static void placeGlobals(const Module& module, std::vector<std::vector<std::byte>>* bytes,
                           RangeList* memory, std::vector<std::uint64_t>* addresses) {
    std::uint64_t at = 0x1000000;
    for (const Global& global : module.globals()) {
      bytes->push_back(global.initial);
      bytes->back().resize(global.bytes);
      addresses->push_back(at);
      at += (global.bytes + 0xfff) & ~0xfffULL;
    }
    for (std::size_t i = 0; i < bytes->size(); ++i) {
      for (const Relocation& relocation : module.globals()[i].relocations) {
        const std::uint64_t value =
            ((*addresses)[relocation.global] + relocation.addend) >> relocation.shift;
        std::memcpy((*bytes)[i].data() + relocation.offset, &value, relocation.bytes);
      }
      memory->add((*addresses)[i], (*bytes)[i].data(), (*bytes)[i].size());
    }
  }
};

// A kernel "k" of that body. %out is the address of the machine's words, %tid the thread's x.
inline std::string kernel(const std::string& body, const std::string& before = "") {
  return head() + before +
         ".visible .entry k(.param .u64 k_out)\n{\n"
         ".reg .pred %p<16>;\n.reg .b16 %h<16>;\n.reg .b32 %r<32>;\n.reg .b64 %d<32>;\n"
         ".reg .f32 %f<16>;\n.reg .f64 %e<16>;\n.reg .b64 %out;\n.reg .b32 %t;\n"
         "ld.param.u64 %out, [k_out];\nmov.u32 %t, %tid.x;\n" +
         body + "\nret;\n}\n";
}

// Stores a 32-bit register to words[thread].
inline std::string storeAtThread(const std::string& reg) {
  return "mul.wide.u32 %d30, %t, 4;\nadd.u64 %d31, %out, %d30;\nst.global.u32 [%d31], " + reg +
         ";\n";
}

// What one instruction makes of its operands: %r2, %h2, %d2 have the low bits of the first one,
// %r3 and so on those of the next. Its first operand (%r0, %h0, %d0 or %p0) is the result.
inline std::uint64_t result(const std::string& instruction, std::vector<std::uint64_t> operands) {
  operands.resize(4);
  Machine machine(16);
  std::memcpy(machine.words.data(), operands.data(), 32);
  std::string body;
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i + 2);
    body += "ld.global.u64 %d" + n + ", [%out+" + std::to_string(8 * i) + "];\n";
    body += "cvt.u32.u64 %r" + n + ", %d" + n + ";\ncvt.u16.u64 %h" + n + ", %d" + n + ";\n";
    body += "setp.ne.u64 %p" + n + ", %d" + n + ", 0;\n";
  }
  body += instruction + "\n";
  const char reg = instruction[instruction.find('%') + 1];
  if (reg == 'r') body += "cvt.u64.u32 %d9, %r0;\n";
  if (reg == 'h') body += "cvt.u64.u16 %d9, %h0;\n";
  if (reg == 'd') body += "mov.b64 %d9, %d0;\n";
  if (reg == 'p') body += "selp.u64 %d9, 1, 0, %p0;\n";
  body += "st.global.u64 [%out+32], %d9;";
  EXPECT_EQ(machine.run(kernel(body)).kind, FaultKind::kNone) << instruction;
  std::uint64_t value = 0;
  std::memcpy(&value, machine.words.data() + 8, 8);
  return value;
}

struct Case {
  const char* instruction;
  std::vector<std::uint64_t> operands;
  std::uint64_t expected;
};

inline void check(const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    std::string operands;
    for (const std::uint64_t operand : one.operands) {
      char text[32];
      std::snprintf(text, sizeof text, " 0x%llx", static_cast<unsigned long long>(operand));
      operands += text;
    }
    EXPECT_EQ(result(one.instruction, one.operands), one.expected) << one.instruction << operands;
  }
}

}  // namespace divvy::ptx
