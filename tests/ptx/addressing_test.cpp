// Variables as operands: every form of the PTX manual (sections on addresses, arrays and labels as
// operands, on initializers and on constant expressions), and refusals of what it does not have.
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "machine.h"

namespace divvy::ptx {
namespace {

// Declared before the kernel: words 10, 11, 12, ... in device memory.
constexpr const char* kBefore =
    ".global .align 8 .b32 g[8] = {10, 11, 12, 13, 14, 15, 16, 17};\n"
    ".const .align 8 .b32 c[4] = {20, 21, 22, 23};\n"
    ".global .align 16 .v2 .b32 pairs[4] = {{30, 31}, {32, 33}, {34, 35}, {36, 37}};\n"
    ".global .b64 at_g = g;\n";

// Shared and local words 40, 41, ... and 50, 51, ...; %r10 is 2, %r11 is -1, %d10 is 3.
constexpr const char* kMade = R"(
  .shared .align 8 .b32 s[8];
  .local .align 8 .b32 l[8];
  mov.b32 %r10, 2; mov.b32 %r11, -1; mov.b64 %d10, 3; mov.b16 %h10, 1;
  .reg .s32 %minus; mov.s32 %minus, -1;
  st.shared.b32 [s], 40; st.shared.b32 [s+4], 41; st.shared.b32 [s+8], 42; st.shared.b32 [s+12], 43;
  st.local.b32 [l], 50; st.local.b32 [l+4], 51; st.local.b32 [l+8], 52; st.local.b32 [l+12], 53;
)";

struct Form {
  const char* text;  // leaves its result in %r0
  std::uint32_t expected;
};

void check(const std::vector<Form>& forms, const std::string& before = kBefore) {
  for (const Form& form : forms) {
    Machine machine(4);
    const std::string body = std::string(kMade) + form.text + "\nst.global.b32 [%out], %r0;";
    EXPECT_EQ(machine.run(kernel(body, before)).kind, FaultKind::kNone) << form.text;
    EXPECT_EQ(machine.words[0], form.expected) << form.text;
  }
}

TEST(PtxAddressing, Loads_ReachVariablesAndElements) {
  check({
      {"ld.global.b32 %r0, [g];", 10},
      {"ld.global.b32 %r0, [g+4];", 11},
      {"ld.global.b32 %r0, [g+8-4];", 11},
      {"ld.global.b32 %r0, [g+(2*4)];", 12},
      {"ld.global.b32 %r0, [g+2*4];", 12},
      {"ld.global.b32 %r0, [g + 0xc];", 13},
      {"ld.global.b32 %r0, g[0];", 10},
      {"ld.global.b32 %r0, g[3];", 13},
      {"ld.global.b32 %r0, g[8-1];", 17},
      {"ld.global.b32 %r0, g[1<<2];", 14},
      {"ld.global.b32 %r0, g[%r10];", 12},
      {"ld.global.b32 %r0, g[%r10+1];", 13},
      {"ld.global.b32 %r0, g[%r10-1];", 11},
      {"ld.global.b32 %r0, g[%d10];", 13},
      {"ld.global.b32 %r0, g[%h10];", 11},
      {"ld.global.b32 %r0, g[%minus+2];", 11},
      {"ld.const.b32 %r0, c[2];", 22},
      {"ld.shared.b32 %r0, s[3];", 43},
      {"ld.shared.b32 %r0, s[%r10];", 42},
      {"ld.local.b32 %r0, l[1];", 51},
      {"ld.local.b32 %r0, l[%r10+1];", 53},
      {"ld.b32 %r0, g[1];", 11},
      {"ld.shared.v2.b32 {%r1, %r0}, s[2];", 43},
      {"ld.global.v2.b32 {%r1, %r0}, pairs[1];", 33},
      {"ld.global.b32 %r0, pairs[%r10];", 34},
      {"@%p1 ld.global.b32 %r0, g[%r11]; ld.global.b32 %r0, g[1];", 11},
      {"ld.param.b32 %r0, k_out[0];", static_cast<std::uint32_t>(kBase)},
      {"mov.b64 %d0, g; ld.global.b32 %r0, [%d0+-0+4];", 11},
      {"mov.b64 %d0, g; add.u64 %d0, %d0, 8; ld.global.b32 %r0, [%d0-4];", 11},
      {"mov.b64 %d0, g; ld.global.b32 %r0, [%d0+(0x10|4)];", 15},
  });
}

TEST(PtxAddressing, Mov_TakesAddressesOfElements) {
  check({
      {"mov.u64 %d0, g; ld.global.b32 %r0, [%d0];", 10},
      {"mov.u64 %d0, g+8; ld.global.b32 %r0, [%d0];", 12},
      {"mov.u64 %d0, g+12-4; ld.global.b32 %r0, [%d0];", 12},
      {"mov.u64 %d0, g[0]; ld.global.b32 %r0, [%d0];", 10},
      {"mov.u64 %d0, g[4]; ld.global.b32 %r0, [%d0];", 14},
      {"mov.b64 %d0, g[%r10]; ld.global.b32 %r0, [%d0];", 12},
      {"mov.u64 %d0, s[0]; ld.shared.b32 %r0, [%d0];", 40},
      {"mov.u64 %d0, s[2]; ld.shared.b32 %r0, [%d0];", 42},
      {"mov.u32 %r1, s[2]; ld.shared.b32 %r0, [%r1];", 42},
      {"mov.u64 %d0, l[1]; ld.local.b32 %r0, [%d0];", 51},
      {"mov.u64 %d0, c[1]; ld.const.b32 %r0, [%d0];", 21},
      {"mov.u64 %d0, pairs[3]; ld.global.b32 %r0, [%d0];", 36},
      {"mov.u64 %d0, g[1]; mov.u64 %d1, g; sub.u64 %d0, %d0, %d1; cvt.u32.u64 %r0, %d0;", 4},
  });
}

TEST(PtxAddressing, StoresAndAtomics_ReachElements) {
  check({
      {"st.shared.b32 s[1], 7; ld.shared.b32 %r0, [s+4];", 7},
      {"st.shared.b32 s[%r10], 7; ld.shared.b32 %r0, [s+8];", 7},
      {"st.global.v2.b32 pairs[2], {1, 2}; ld.global.b32 %r0, [pairs+20];", 2},
      {"st.local.b32 l[3], 8; ld.local.b32 %r0, [l+12];", 8},
      {"atom.shared.add.u32 %r0, s[1], 5;", 41},
      {"atom.shared.add.u32 %r1, s[%r10], 5; ld.shared.b32 %r0, s[2];", 47},
      {"atom.shared.cas.b32 %r1, [s+4], 41, 9; ld.shared.b32 %r0, s[1];", 9},
      {"red.global.add.u32 g[1], 5; ld.global.b32 %r0, [g+4];", 16},
      {"red.global.add.u32 [g+4], 5; ld.global.b32 %r0, g[1];", 16},
      {"prefetch.global.L2 [g+4]; ld.global.b32 %r0, g[1];", 11},
  });
}

TEST(PtxAddressing, Cvta_ConvertsVariableAddresses) {
  check({
      {"cvta.global.u64 %d0, g; ld.b32 %r0, [%d0];", 10},
      {"cvta.global.u64 %d0, g+4; ld.b32 %r0, [%d0];", 11},
      {"cvta.global.u64 %d0, g[2]; ld.b32 %r0, [%d0];", 12},
      {"cvta.shared.u64 %d0, s; ld.b32 %r0, [%d0];", 40},
      {"cvta.shared.u64 %d0, s+8; ld.b32 %r0, [%d0];", 42},
      {"cvta.shared.u64 %d0, s[1]; ld.b32 %r0, [%d0];", 41},
      {"cvta.shared.u64 %d0, s[%r10]; ld.b32 %r0, [%d0];", 42},
      {"cvta.local.u64 %d0, l[1]; ld.b32 %r0, [%d0];", 51},
      {"cvta.const.u64 %d0, c[3]; ld.b32 %r0, [%d0];", 23},
      {"cvta.shared.u64 %d0, s[1]; cvta.to.shared.u64 %d1, %d0; ld.shared.b32 %r0, [%d1];", 41},
  });
}

TEST(PtxAddressing, Calls_TakeParameterElements) {
  check({{R"({ .param .b32 p[3]; .param .b32 r;
               st.param.b32 p[0], 1; st.param.b32 p[1], %r10; st.param.b32 [p+8], 5;
               call (r), sum, (p); ld.param.b32 %r0, [r+0]; })",
          8}},
        ".func (.param .b32 r) sum(.param .b32 p[3]) {\n.reg .b32 %a<4>;\n"
        "ld.param.b32 %a1, p[0]; ld.param.b32 %a2, p[1]; ld.param.b32 %a3, p[2];\n"
        "add.u32 %a1, %a1, %a2; add.u32 %a1, %a1, %a3; st.param.b32 [r], %a1; ret; }\n");
}

TEST(PtxAddressing, InitialValues_AddressesAndExpressions) {
  const std::string words = ".global .align 8 .b32 g[4] = {10, 11, 12, 13};\n";
  const auto loadThrough = [&](const std::string& value, std::uint32_t expected) {
    check({{"ld.global.b64 %d0, [p]; ld.global.b32 %r0, [%d0];", expected}},
          words + ".global .b64 p = " + value + ";\n");
  };
  loadThrough("g", 10);
  loadThrough("g+4", 11);
  loadThrough("g+8-4", 11);
  loadThrough("generic(g)", 10);
  loadThrough("generic(g)+8", 12);
  loadThrough("generic(g)+4*3", 13);
  const auto number = [&](const std::string& value, std::uint32_t expected) {
    check({{"ld.global.b32 %r0, [n];", expected}}, ".global .b32 n = " + value + ";\n");
  };
  number("1+2*3", 7);
  number("(1+2)*3", 9);
  number("1<<4|3", 19);
  number("~0 & 0xff", 255);
  number("-7/2", static_cast<std::uint32_t>(-3));
  number("7 % 4", 3);
  number("3 > 2 ? 5 : 6", 5);
  number("!0 + !5", 1);
  number("(.s64)-1 < 0", 1);
  number("(.u64)-1 < 0", 0);
  number("-1 >> 1 == -1 && 2 != 3", 1);
  number("WARP_SZ - 1", 31);
  number("1 || 0 ^ 1", 1);
  check({{"ld.global.b32 %r0, n[WARP_SZ-30];", 9}}, ".global .b32 n[2+1] = {7, 8, 9};\n");
}

TEST(PtxAddressing, Masks_TakeBytesOfAddresses) {
  check({{R"(mov.b64 %d1, g; add.u64 %d1, %d1, 4; ld.global.b32 %r1, [bytes];
             cvt.u32.u64 %r2, %d1; sub.u32 %r0, %r1, %r2;)",
          0},
         {"ld.global.u8 %r0, numbers[1];", 2}},
        ".global .align 8 .b32 g[4];\n"
        ".global .align 4 .u8 bytes[4] = {0xff(g+4), 0xff00(generic(g)+4), 0xFF0000(g+4),"
        " 0xFF000000(g+4)};\n"
        ".global .u8 numbers[2] = {0xFF(256+1), 0xFF00(512)};\n");
}

struct Refusal {
  const char* text;
  const char* what;
};

TEST(PtxAddressing, InvalidForms_RefusedAndNamed) {
  const std::vector<Refusal> refusals = {
      {"mov.u64 %d0, %d1[0];", "'%d1' has no elements"},
      {"mov.u64 %d0, nothing[0];", "'nothing' has no elements"},
      {"mov.u64 %d0, f[0];", "'f' has no elements"},
      {"mov.u64 %d0, f+8;", "a function has no offset"},
      {"mov.u64 %d0, %d1+8;", "only a variable can have an offset outside of brackets"},
      {"mov.u64 %d0, g[%f1];", "an index must be a constant or an integer register"},
      {"mov.u64 %d0, g[g];", "an index must be a constant or an integer register"},
      {"mov.u64 %d0, g[%r1+%r2];", "an offset must be a constant"},
      {"mov.u64 %d0, g[1][2];", "an element has one index"},
      {"mov.u64 %d0, g[1]+8;", "expected ';' before '+'"},
      {"mov.u64 %d0, g[];", "expected an integer before ']'"},
      {"mov.u64 %d0, g[1;", "expected ']' before ';'"},
      {"mov.u64 %d0, g[1/0];", "a division by zero"},
      {"mov.u64 %d0, g+%r1;", "an offset must be a constant"},
      {"ld.global.b32 %r0, [g[1]];", "an element is an address without further brackets"},
      {"ld.global.b32 %r0, [%d1+%d2];", "an offset must be a constant"},
      {"ld.global.b32 %r0, [f];", "'f' is a function, not memory"},
      {"ld.global.b32 %r0, [%f1];", "'%f1' is no integer register"},
      {"ld.global.b32 %r0, [%p1];", "'%p1' is no integer register"},
      {"ld.global.b32 %r0, g;", "operand 2 must be an address in 'ld.global.b32'"},
      {"ld.global.b32 %r0, g+4;", "operand 2 must be an address in 'ld.global.b32'"},
      {"ld.global.b32 %r0, %d1;", "operand 2 must be an address in 'ld.global.b32'"},
      {"st.global.b32 g, %r0;", "operand 1 must be an address in 'st.global.b32'"},
      {"{ .param .b64 p; call.uni f, (p[0]); }",
       "a .param variable is passed as a whole in 'call.uni'"},
      {"mov.u64 %d0, g[((((((((((1))))))))))];", "too many marks within each other"},
  };
  const std::string before = ".global .b32 g[4];\n.func f(.param .b64 x) { ret; }\n";
  for (const Refusal& refusal : refusals) {
    EXPECT_EQ(failure(kernel(refusal.text, before)).what, refusal.what) << refusal.text;
  }
  const std::vector<Refusal> initial = {
      {".global .b64 p = g[1];", "an initial value is a name and an offset, no element"},
      {".global .b64 p = nothing;", "unknown name 'nothing'"},
      {".global .b32 p = g;", "an address needs a variable of 64 bits"},
      {".global .b64 p = f+4;", "a function has no offset"},
      {".global .u8 p = 0xF0(g);", "a mask must be 0xFF, 0xFF00 or one like them"},
      {".global .u8 p = 0(g);", "a mask must be 0xFF, 0xFF00 or one like them"},
      {".global .b32 p[0-1];", "a variable that is too large"},
  };
  for (const Refusal& refusal : initial) {
    EXPECT_EQ(failure(head() + before + refusal.text).what, refusal.what) << refusal.text;
  }
}

TEST(PtxAddressing, DamagedSeed_ParserSurvives) {
  const char* const source = std::getenv("DIVVY_SOURCE_DIR");
  ASSERT_NE(source, nullptr);
  std::ifstream file(std::string(source) + "/tests/ptx/corpus/addressing.ptx");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  parsed(text);
  for (std::size_t at = 0; at < text.size(); ++at) {
    ParseError error;
    std::string damaged = text;
    damaged[at] = "{[(?-~%0"[at % 8];
    Module::parse(damaged, &error);
    damaged.insert(at, 1, text[at]);
    Module::parse(damaged, &error);
  }
  ParseError error;
  for (const char* mark : {"-", "(", "1?", "1?1:", "!"}) {
    std::string many;
    for (int i = 0; i < 100000; ++i) many += mark;
    EXPECT_EQ(Module::parse(kernel("mov.u64 %d0, g[" + many, ".global .b32 g;\n"), &error),
              nullptr);
  }
}

}  // namespace
}  // namespace divvy::ptx
