"""The stubs for aarch64: assembled, and called under emulation, where the tools are at hand."""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import deflist
import emit_asm
from library import CUDA

ABI = Path(os.environ["DIVVY_SOURCE_DIR"]) / "abi"
SKIP = 77
PROGRAM = r"""
#include <stdio.h>
extern int cuTexRefSetMipmapLevelBias(void *, float);
extern int cuInit(unsigned);
extern double cuEGLInit(long, long, long, long, long, long, long, long, long, double, double,
                        double, double, double, double, double, double, double);
extern void *divvy_cuda_real[];
static int calls;
static int bias(void *texture, float value) { (void)texture; return (int)(value * 4); }
static double wide(long a, long b, long c, long d, long e, long f, long g, long h, long i, double p,
                   double q, double r, double s, double t, double u, double v, double w, double x) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i +
         1000 * (p + 2 * q + 3 * r + 4 * s + 5 * t + 6 * u + 7 * v + 8 * w + 9 * x);
}
void *divvy_cuda_resolve(unsigned id) {
  void *found = id == BIAS ? (void *)bias : (void *)wide;
  divvy_cuda_real[id] = found;
  calls++;
  __asm__ volatile("movi v0.2d, #0\n movi v1.2d, #0\n movi v2.2d, #0\n movi v3.2d, #0\n"
                   "movi v4.2d, #0\n movi v5.2d, #0\n movi v6.2d, #0\n movi v7.2d, #0\n"
                   "mov x1, #0\n mov x2, #0\n mov x3, #0\n mov x4, #0\n mov x5, #0\n"
                   "mov x6, #0\n mov x7, #0\n mov x8, #0" ::: "x1", "x2", "x3", "x4", "x5", "x6",
                   "x7", "x8", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7");
  return found;
}
int hook_cuInit(unsigned flags) { return 40 + (int)flags; }
int main(void) {
  int ok = cuTexRefSetMipmapLevelBias(0, 2.25f) == 9 && cuTexRefSetMipmapLevelBias(0, 2.5f) == 10;
  double first = cuEGLInit(1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9);
  double second = cuEGLInit(1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9);
  ok = ok && first == 285285 && second == first && calls == 2 && cuInit(2) == 42;
  printf("%s\n", ok ? "ok" : "wrong");
  return !ok;
}
"""


class Emulated(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)

    def build(self, text, *arguments):
        source = self.path / "stubs.S"
        source.write_text(text)
        subprocess.run(["aarch64-linux-gnu-gcc", "-Werror", str(source), *arguments], check=True)

    def test_all_stubs_assemble(self):
        for policy in (None, "pass"):
            listed = deflist.parse(ABI / "cuda.def")
            for entry in listed.entries:
                entry.policy = policy or entry.policy
            self.build(emit_asm.interposer_stubs(CUDA, listed), "-c", "-o", str(self.path / "a.o"))
        self.build(emit_asm.simgpu_exports(CUDA, listed), "-c", "-o", str(self.path / "b.o"))

    def test_stubs_keep_arguments(self):
        if not shutil.which("qemu-aarch64"):
            self.skipTest("SKIPPED: no qemu-aarch64, so the stubs were assembled but not run")
        listed = deflist.parse(ABI / "cuda.def")
        for entry in listed.entries:
            entry.policy = "wrap" if entry.symbol == "cuInit" else "pass"
        bias = [e.symbol for e in listed.entries].index("cuTexRefSetMipmapLevelBias")
        (self.path / "main.c").write_text(PROGRAM)
        self.build(emit_asm.interposer_stubs(CUDA, listed), str(self.path / "main.c"), "-static",
                   f"-DBIAS={bias}", "-O1", "-o", str(self.path / "program"))
        run = subprocess.run(["qemu-aarch64", str(self.path / "program")], capture_output=True,
                             text=True)
        self.assertEqual(run.stdout, "ok\n")


if __name__ == "__main__":
    if platform.machine() == "aarch64":
        print("SKIPPED: this is aarch64; stubs_test runs the stubs themselves")
        sys.exit(SKIP)
    if not shutil.which("aarch64-linux-gnu-gcc"):
        print("SKIPPED: no aarch64-linux-gnu-gcc to assemble the aarch64 stubs with")
        sys.exit(SKIP)
    unittest.main()
