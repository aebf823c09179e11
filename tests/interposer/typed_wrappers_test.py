#!/usr/bin/env python3
"""B9: a wrapper whose type is not the list's does not build.

usage: typed_wrappers_test.py COMPILER INCLUDE_DIR...   (the compiler is only asked for the syntax)
"""
import subprocess
import sys
import unittest

COMPILER, *FOLDERS = sys.argv[1:]
HOOK = '#include <interposer/cuda_hooks.h>\nusing divvy::abi::Cu;\nDIVVY_HOOK(cuMemAlloc_v2)'
RIGHT = HOOK + "(CUdeviceptr* dptr, std::size_t bytes) noexcept {\n  return %s;\n}\n"
CALL = "divvy::abi::real<Cu::cuMemAlloc_v2>()(dptr, bytes)"


def compile_(text):
    includes = [f"-I{folder}" for folder in FOLDERS]
    return subprocess.run([COMPILER, "-std=c++20", "-fsyntax-only", "-x", "c++", *includes, "-"],
                          input=text, capture_output=True, text=True, check=False)


class TypedWrappers(unittest.TestCase):
    def refuses(self, text):
        done = compile_(text)
        self.assertNotEqual(done.returncode, 0, text)
        self.assertIn("error", done.stderr)
        self.assertNotIn("No such file", done.stderr)

    def test_B9_the_right_type_builds(self):
        done = compile_(RIGHT % CALL)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_B9_other_parameters_do_not_build(self):
        for parameters in ("CUdeviceptr dptr, std::size_t bytes", "CUdeviceptr* dptr",
                           "CUdeviceptr* dptr, unsigned bytes",
                           "CUdeviceptr* dptr, std::size_t bytes, CUstream stream"):
            self.refuses(f"{HOOK}({parameters}) noexcept {{ return CUDA_SUCCESS; }}\n")

    def test_B9_a_wrapper_that_may_throw_does_not_build(self):
        self.refuses(f"{HOOK}(CUdeviceptr*, std::size_t) {{ return CUDA_SUCCESS; }}\n")

    def test_B9_an_entry_that_is_not_wrapped_takes_no_body(self):
        self.refuses((RIGHT % "CUDA_SUCCESS").replace("cuMemAlloc_v2)", "cuDeviceGetName)"))

    def test_B9_the_drivers_function_is_called_with_its_own_arguments_only(self):
        for arguments in ("()", "(dptr)", "(bytes, dptr)", "(dptr, bytes, nullptr)"):
            self.refuses(RIGHT % f"divvy::abi::real<Cu::cuMemAlloc_v2>(){arguments}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
