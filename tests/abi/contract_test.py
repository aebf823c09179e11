"""What must not compile: a hook that the list does not know, a body with other parameters."""

import os
import subprocess
import unittest
from pathlib import Path

SOURCE = Path(os.environ["DIVVY_SOURCE_DIR"])
GENERATED = Path(os.environ["DIVVY_BUILD_DIR"]) / "gen"


def compiles(text):
    run = subprocess.run([os.environ["DIVVY_CXX"], "-std=c++20", "-fsyntax-only", "-Wall",
                          "-Wextra", "-Werror", "-x", "c++", "-", f"-I{SOURCE}/abi/include",
                          f"-I{GENERATED}"], input=text, capture_output=True, text=True)
    return run.returncode == 0


class Hooks(unittest.TestCase):
    HEAD = '#include "interposer/cuda_hooks.h"\n'

    def test_the_listed_parameters_compile(self):
        self.assertTrue(compiles(
            self.HEAD + "DIVVY_HOOK(cuMemAlloc_v2)(CUdeviceptr*, size_t) noexcept "
            "{ return CUDA_SUCCESS; }"))

    def test_a_hook_without_a_wrap_line_does_not(self):
        self.assertFalse(compiles(
            self.HEAD + "DIVVY_HOOK(cuDriverGetVersion)(int*) noexcept { return CUDA_SUCCESS; }"))

    def test_other_parameters_do_not(self):
        self.assertFalse(compiles(
            self.HEAD + "DIVVY_HOOK(cuMemAlloc_v2)(CUdeviceptr*, unsigned) noexcept "
            "{ return CUDA_SUCCESS; }"))

    def test_a_call_through_the_table_is_typed(self):
        call = ("CUresult f(CUdeviceptr* p) { using divvy::abi::Cu; "
                "return divvy::abi::real<Cu::cuMemAlloc_v2>()(p%s); }")
        self.assertTrue(compiles(self.HEAD + call % ", 1"))
        self.assertFalse(compiles(self.HEAD + call % ""))


class Bodies(unittest.TestCase):
    HEAD = '#include "simgpu/cuda_impls.h"\n'

    def test_the_listed_parameters_compile(self):
        self.assertTrue(compiles(self.HEAD + "SIMGPU_IMPL(cuInit)(unsigned) "
                                 "{ return CUDA_SUCCESS; }"))

    def test_other_parameters_do_not(self):
        self.assertFalse(compiles(self.HEAD + "SIMGPU_IMPL(cuInit)(int) "
                                  "{ return CUDA_SUCCESS; }"))

    def test_an_unknown_name_does_not(self):
        self.assertFalse(compiles(self.HEAD + "SIMGPU_IMPL(cuInvented)(int) "
                                  "{ return CUDA_SUCCESS; }"))


class Headers(unittest.TestCase):
    def test_each_header_compiles_alone(self):
        paths = [f"abi/{path.name}" for path in (SOURCE / "abi/include/abi").glob("*.h")]
        paths += [str(path.relative_to(GENERATED)) for path in GENERATED.rglob("*.h")]
        self.assertGreater(len(paths), 20)
        for path in paths:
            self.assertTrue(compiles(f'#include "{path}"\n'), path)

    def test_both_libraries_fit_into_one_translation_unit(self):
        self.assertTrue(compiles('#include "interposer/cuda_hooks.h"\n'
                                 '#include "interposer/nvml_hooks.h"\n'
                                 '#include "simgpu/nvml_impls.h"\n'
                                 '#include "abi/cuda_entries.h"\n#include "abi/nvml_entries.h"\n'))


if __name__ == "__main__":
    unittest.main()
