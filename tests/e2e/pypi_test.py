#!/usr/bin/env python3
"""Programs from PyPI (tools/fetch-clients) run bare and under `divvy run`: same results, and the figures of the share."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

from product import BUILD, GIB, MIB, ProductTest, main

SOURCE = pathlib.Path(os.environ.get("DIVVY_SOURCE_DIR", ".")).resolve()
CLIENTS = pathlib.Path(os.environ.get("DIVVY_CLIENTS_DIR", SOURCE / "build/pypi-clients"))
PYTHON, CUDA_CORE, COMPILERS = CLIENTS / "python", CLIENTS / "cuda-core", CLIENTS / "compilers"
NIGHTLY = "DIVVY_ALL_CLIENTS" in os.environ
BOUND = 120


def have(*folders):
    """Whether all of it was fetched."""
    return all((folder / ".have-1").exists() for folder in folders)


class PypiClients(ProductTest):
    def environment(self):
        return {"PYTHONPATH": f"{PYTHON}:{CUDA_CORE}:{COMPILERS}", "CUDA_PATH": str(CUDA_CORE / "nvidia/cuda_nvrtc"),
                "DEV": "CUDA:PTX", "CACHELEVEL": "0",
                "XDG_CACHE_HOME": str(self.product.root / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}

    def bare(self, *words):
        environment = dict(os.environ) | self.environment()
        if self.profile:
            environment |= {"LD_LIBRARY_PATH": str(BUILD / "simgpu"), "SIMGPU_PROFILE": self.profile,
                            "SIMGPU_DIR": str(self.product.root / "bare")}
        done = subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True,
                              timeout=BOUND, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def shared(self, *words):
        status, out, err = self.product.run("4Gi", sys.executable, *words, bound=BOUND,
                                            env=self.product.environment | self.environment())
        self.assertEqual(status, 0, out + err)
        return out

    def test_tinygrad_trains_a_network_alike(self):
        program = str(SOURCE / "tests/e2e/train_network.py")
        losses = self.bare(program)
        self.assertEqual(self.shared(program), losses)
        values = [float(word) for word in losses.split()]
        self.assertEqual(values, sorted(values, reverse=True), "each step lowers the loss")

    @unittest.skipUnless(have(CUDA_CORE), f"no cuda.core in {CUDA_CORE} (tools/fetch-clients)")
    def test_cuda_core_compiles_and_runs_a_kernel(self):
        program = str(SOURCE / "tests/e2e/cuda_core_program.py")
        self.assertIn("status=0 total=", self.bare(program))
        self.assertEqual(self.shared(program), f"status=0 total={4 * GIB}\n")

    @unittest.skipUnless(NIGHTLY and have(COMPILERS), "Taichi runs nightly (./dev nightly clients)")
    def test_taichi_computes_alike(self):
        program = str(SOURCE / "tests/e2e/taichi_program.py")
        self.assertIn("sum=65536.0 memory=81", self.bare(program))
        self.assertIn(f"sum=65536.0 memory={4 * GIB // MIB}\n", self.shared(program))

    @unittest.skipUnless(NIGHTLY and have(COMPILERS), "Halide runs nightly (./dev nightly clients)")
    def test_halide_computes_alike(self):
        program = str(SOURCE / "tests/e2e/halide_program.py")
        self.assertEqual(self.bare(program), "sum=65536.0\n")
        self.assertEqual(self.shared(program), "sum=65536.0\n")

    def test_gpustat_shows_the_share(self):
        totals = [json.loads(run("-m", "gpustat", "--json"))["gpus"][0]["memory.total"]
                  for run in (self.bare, self.shared)]
        self.assertGreater(totals[0], 4 * GIB // MIB)
        self.assertEqual(totals[1], 4 * GIB // MIB)

    def test_nvitop_shows_the_share(self):
        self.assertIn("/ 79.65GiB", self.bare("-m", "nvitop", "-1", "--no-unicode"))
        self.assertIn("/ 4096MiB", self.shared("-m", "nvitop", "-1", "--no-unicode"))


if __name__ == "__main__":
    if not have(PYTHON):
        print(f"skipped: no programs from PyPI in {PYTHON} (tools/fetch-clients)")
        sys.exit(77)
    main()
