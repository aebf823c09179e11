#!/usr/bin/env python3
"""Two programs that know nothing of Divvy print the same bytes bare and under `divvy run`."""
import os
import subprocess

from product import BUILD, ProductTest, main


class Clients(ProductTest):
    def bare(self, program):
        environment = dict(os.environ)
        if self.profile:
            environment |= {"LD_LIBRARY_PATH": str(BUILD / "simgpu"),
                            "SIMGPU_PROFILE": self.profile,
                            "SIMGPU_DIR": str(self.product.root / "bare")}
        return subprocess.run([program], env=environment, capture_output=True, text=True,
                              timeout=120, check=False)

    def same(self, name):
        program = BUILD / "clients" / name
        bare = self.bare(program)
        self.assertEqual(bare.returncode, 0, bare.stdout + bare.stderr)
        status, out, err = self.product.run("4Gi", program, bound=120)
        self.assertEqual(status, 0, out + err)
        self.assertEqual(out, bare.stdout)
        self.assertEqual(err, bare.stderr)
        self.assertIn("all results verified", out)

    def test_linked_program_cannot_tell(self):
        self.same("linked_client")

    def test_program_that_looks_entries_up_cannot_tell(self):
        self.same("lookup_client")


if __name__ == "__main__":
    main()
