#!/usr/bin/env python3
"""Divvy's list knows every function that this machine's driver exports: what it does not know passes unseen."""
import ctypes
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))

from product import BUILD, main


def exported(library, prefix):
    done = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    names = {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}
    # cudbg*: what debuggers read in the driver itself, by whichever library has it.
    return {name for name in names if name.startswith(prefix) and not name.startswith("cudbg")}


def path_of(name):
    """Where the loader finds it."""
    ctypes.CDLL(name)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return next(line.split()[-1] for line in maps if name.split(".so")[0] in line)


@unittest.skipIf(shutil.which("nm") is None, "there is no nm here")
class Names(unittest.TestCase):
    def known(self, driver, ours, prefix):
        there = exported(path_of(driver), prefix)
        print(f"{driver} exports {len(there)} functions")
        self.assertGreater(len(there), 100)
        self.assertEqual(there - exported(BUILD / "lib" / ours, prefix), set())

    def test_all_of_cuda(self):
        self.known("libcuda.so.1", "libdivvy-cuda.so", "cu")

    def test_all_of_nvml(self):
        self.known("libnvidia-ml.so.1", "libdivvy-nvml.so", "nvml")


if __name__ == "__main__":
    main()
