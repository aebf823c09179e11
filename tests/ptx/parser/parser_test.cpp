// What is read, and how what cannot be read is named.
#include "machine.h"

namespace divvy::ptx {
namespace {

TEST(PtxParser, UnknownText_NamedWithLine) {
  const ParseError unknown =
      failure(kernel("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1}, [%out], %t;"));
  EXPECT_EQ(unknown.status, ParseStatus::kInvalid);
  EXPECT_EQ(unknown.what, "unknown instruction 'wmma.load.a.sync.aligned.row.m16n16k16.f16'");
  EXPECT_EQ(unknown.line, 16);
  EXPECT_EQ(unknown.text(), "line 16: " + unknown.what);

  EXPECT_EQ(failure(kernel("add.fancy.s32 %r1, %r2, %r3;")).what,
            "unknown instruction 'add.fancy.s32'");
  EXPECT_EQ(failure(kernel("ld.global.fancy.u32 %r1, [%out];")).what,
            "unknown instruction 'ld.global.fancy.u32'");
  EXPECT_EQ(failure(kernel("add.s32.fancy %r1, %r2, %r3;")).what,
            "unknown modifier '.fancy' in 'add.s32.fancy'");
  EXPECT_EQ(failure(kernel("add.s32 %r1, %q2, %r3;")).what, "unknown register '%q2' in 'add.s32'");
  EXPECT_EQ(failure(kernel("add.s32 %r1, %r2;")).what, "expected 3 operands, found 2 in 'add.s32'");
  EXPECT_EQ(failure(kernel("cvt.u32.u64;")).what, "operand 1 is missing in 'cvt.u32.u64'");
  EXPECT_EQ(failure(kernel("bra nowhere;")).what, "unknown label 'nowhere'");
  EXPECT_EQ(failure(kernel("a: a:")).what, "label 'a' is there twice");
  EXPECT_EQ(failure(kernel(".frobnicate 4;")).what, "unknown directive '.frobnicate'");
  EXPECT_EQ(failure(kernel("mov.u32 %r1, unknown_name;")).what,
            "unknown name 'unknown_name' in 'mov.u32'");
  EXPECT_EQ(failure(kernel("{ add.s32 %r1, %r2, %r3;")).what, "'{' without '}'");
  EXPECT_EQ(failure(kernel("/* on and on")).what, "a comment that does not end");
  EXPECT_EQ(failure(head() + ".frobnicate x;").what, "unknown directive '.frobnicate'");
  EXPECT_EQ(failure(head() + ".address_size 32").what, "only .address_size 64 can be run");
  EXPECT_EQ(failure(kernel("{ .param .b64 p; st.param.b64 [p], %out; call.uni missing, (p); }",
                           ".extern .func missing (.param .b64 x);\n"))
                .what,
            "unresolved external function 'missing'");
  EXPECT_EQ(failure(head() + ".extern .global .u32 elsewhere;").what,
            "unresolved external variable 'elsewhere'");
}

TEST(PtxParser, NewerVersion_IsRefused) {
  const ParseError error = failure(".version 12.0\n.target sm_200\n");
  EXPECT_EQ(error.status, ParseStatus::kNewerVersion);
  EXPECT_EQ(error.line, 1);
  const auto module = parsed(".version 9.0\n.target sm_90a, debug\n.address_size 64");
  EXPECT_EQ(module->version(), 90);
  EXPECT_EQ(module->target(), 90);
}

TEST(PtxParser, DebugDirectives_AreSkipped) {
  Machine machine(1);
  const std::string text = kernel(R"(
    .loc 1 5 3
    .pragma "nounroll";
    /* a comment
       of two lines */
    .loc 1 6 3, function_name $L__info_string0, inlined_at 1 5 3
    {.reg.b32 %unspaced;}
    mov.b32 %r1, 7; // behind an instruction
    st.global.b32 [%out], %r1;)",
                                  ".file 1 \"a.cu\"\n") +
                           ".section .debug_str\n{\n$L__info_string0:\n.b8 95,90\n.b8 0\n}\n";
  EXPECT_EQ(machine.run(text).kind, FaultKind::kNone);
  EXPECT_EQ(machine.words[0], 7U);
}

TEST(PtxParser, TooLarge_IsRefused) {
  EXPECT_EQ(failure(kernel(".local .align 8 .b8 l[600000];")).what, "a variable that is too large");
  EXPECT_EQ(failure(kernel(".shared .b64 l[100000000000][100000000000];")).what,
            "a variable that is too large");
  EXPECT_EQ(failure(kernel(".reg .b32 %many<300000>;")).what, "too many registers");
  EXPECT_EQ(failure(kernel("mov.b32 %r1, " + std::string(100000, '{'))).what,
            "too many marks within each other");
  EXPECT_EQ(failure(head() + ".entry k(.param .b8 p[40000]) { ret; }").what,
            "more parameters than a kernel can have");
}

// Whatever is cut off or doubled: an error or a module, never worse.
TEST(PtxParser, DamagedText_ParserSurvives) {
  const std::string text = kernel(R"(
    .shared .align 4 .b8 tile[64];
    ts: .branchtargets a, b;
    { .param .align 8 .b8 p[16]; st.param.v2.b32 [p+8], {%r1, %r2}; call.uni (%r1), f, (%r2); }
    @!%p1 brx.idx %r1, ts;
  a: shfl.sync.down.b32 %r1|%p1, %r2, 4, 31, -1;
  b: mov.b64 {%r1, _}, %d1; ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%out+-16];)",
                                  ".func (.reg .b32 r) f(.reg .b32 x) { mov.b32 r, x; ret; }\n"
                                  ".extern .global .u32 h;\n"
                                  ".global .align 8 .u64 g[2] = {generic(h)+4, f};\n"
                                  ".global .u32 h = 7;\n");
  parsed(text);
  for (std::size_t at = 0; at < text.size(); ++at) {
    ParseError error;
    Module::parse(text.substr(0, at), &error);
    std::string without = text;
    without.erase(at, 1);
    Module::parse(without, &error);
    std::string doubled = text;
    doubled.insert(at, 1, text[at]);
    Module::parse(doubled, &error);
    std::string marked = text;
    marked[at] = "{[(;,.%\"0"[at % 9];
    Module::parse(marked, &error);
  }
}

TEST(PtxParser, Kernels_AreDescribed) {
  const auto module = parsed(head() + R"(
    .extern .shared .align 16 .b8 dynamic[];
    .shared .align 4 .b8 unused[4096];
    .const .align 4 .u32 table[3] = {1, 2, 3};
    .visible .entry f(.param .u32 a, .param .align 8 .b8 b[24], .param .u64 .ptr .global .align 4 c)
    .maxntid 128, 2, 1
    .minnctapersm 2
    {
      .local .align 8 .b8 __local_depot0[20];
      .shared .align 4 .b8 tile[64];
      .reg .b32 %r<4>;
      mov.u32 %r1, tile;
      ret;
    }
    .entry g() .reqntid 32 { ret; })");
  ASSERT_EQ(module->kernels().size(), 2U);
  const Kernel& f = module->kernels()[0];
  ASSERT_EQ(f.params.size(), 3U);
  EXPECT_EQ(f.params[1].offset, 8U);
  EXPECT_EQ(f.params[1].size, 24U);
  EXPECT_EQ(f.params[2].offset, 32U);
  EXPECT_EQ(f.param_bytes, 40U);
  EXPECT_EQ(f.max_threads, 256);
  EXPECT_EQ(f.static_shared_bytes, 64) << "only what it uses";
  EXPECT_EQ(f.local_bytes, 20);
  EXPECT_GE(f.registers, 16);
  EXPECT_EQ(module->kernels()[1].max_threads, 32);
  ASSERT_EQ(module->globals().size(), 1U);
  EXPECT_TRUE(module->globals()[0].constant);
  EXPECT_EQ(module->globals()[0].bytes, 12U);
}

}  // namespace
}  // namespace divvy::ptx
