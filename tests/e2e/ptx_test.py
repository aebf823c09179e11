#!/usr/bin/env python3
"""A program with a kernel that nvcc compiled gives the same results bare and under `divvy run`."""
import os
import pathlib
import subprocess
import sys

from product import BUILD, ProductTest, main

SOURCE = pathlib.Path(os.environ.get("DIVVY_SOURCE_DIR", "."))
PROGRAM = (sys.executable, str(SOURCE / "tests/e2e/ptx_program.py"),
           str(SOURCE / "tests/ptx/kernels/matrix.ptx"))
ILLEGAL_ADDRESS, INVALID_PTX = 700, 218


class Ptx(ProductTest):
    def bare(self, what):
        environment = dict(os.environ)
        if self.profile:
            environment |= {"LD_LIBRARY_PATH": str(BUILD / "simgpu"),
                            "SIMGPU_PROFILE": self.profile,
                            "SIMGPU_DIR": str(self.product.root / "bare")}
        return subprocess.run([*PROGRAM, what], env=environment, capture_output=True, text=True,
                              timeout=120, check=False).stdout

    def divvied(self, what):
        status, out, err = self.product.run("2Gi", *PROGRAM, what, bound=120)
        self.assertEqual(status, 0, out + err)
        return out

    def test_compiled_kernel_computes_the_same_inside_a_share(self):
        seen = self.divvied("transpose")
        self.assertIn("status=0 right=True", seen)
        self.assertEqual(seen, self.bare("transpose"))

    def test_wild_kernel_loses_its_own_context_and_no_other(self):
        tenant = self.tenant("neighbour", "1Gi")
        self.assertEqual(self.divvied("wild"),
                         f"status={ILLEGAL_ADDRESS} later={ILLEGAL_ADDRESS}\n")
        self.assertIn("status=0 right=True", self.divvied("transpose"))
        tenant.end()

    def test_unknown_instruction_is_named(self):
        self.assertEqual(self.divvied("unknown"), f"status={INVALID_PTX} named=True\n")


if __name__ == "__main__":
    main()
