"""This machine's own card, as its driver's tool tells of it: the judge of the checks on real cards."""
import ctypes
import functools
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))

from product import GIB, MIB, ProductTest, SWAPPER, Tenant, wait_until  # noqa: E402

PATIENCE = 60.0  # seconds for an answer


def ask(query, *fields):
    """Rows of nvidia-smi: each a list of words."""
    done = subprocess.run(["nvidia-smi", f"--query-{query}={','.join(fields)}",
                           "--format=csv,noheader,nounits"],
                          capture_output=True, text=True, timeout=30, check=False)
    if done.returncode != 0:
        raise AssertionError(f"nvidia-smi: {done.stdout}{done.stderr}")
    return [[word.strip() for word in line.split(",")] for line in done.stdout.splitlines() if line]


class Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


@functools.cache
def _first():
    """NVML and its handle of the first card: starting nvidia-smi takes the driver's locks for a while, which
    what is measured would notice."""
    nvml, card = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p()
    if nvml.nvmlInit_v2() != 0 or nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(card)) != 0:
        raise AssertionError("NVML does not tell of a card")
    return nvml, card


def used():
    """Bytes in use on the first card, by whomever."""
    (nvml, card), memory = _first(), Memory()
    if nvml.nvmlDeviceGetMemoryInfo(card, ctypes.byref(memory)) != 0:
        raise AssertionError("NVML does not tell of memory")
    return memory.used


def bytes_of(pid):
    """What the driver says that a process has on the card; None where it does not tell."""
    for row in ask("compute-apps", "pid", "used_memory"):
        if row[0] == str(pid):
            return int(row[1]) * MIB
    return None


class CardTest(ProductTest):
    """On this machine's card. Nothing here makes its memory scarce: where a test needs that, it is
    within a budget of its own."""

    profile = ""

    def agent(self, *options, **variables):
        """One that was told how to be."""
        environment = self.product.environment | variables
        agent = self.product.start("agent", "--log-file", *options, env=environment)
        wait_until((self.product.runtime / "gpu" / "agent.sock").exists, "the agent")
        return agent

    def log(self):
        path = self.product.runtime / "gpu" / "agent.log"
        return path.read_text() if path.exists() else ""

    def tearDown(self):
        # What went wrong is nowhere else once the machine is gone.
        print(self.log()[-4000:], file=sys.stderr)

    def row(self, tenant):
        return self.product.tenant_row(tenant.name)

    def swapper(self, name, memory, *arguments):
        """A tenant with a context, and nothing yet in its memory."""
        tenant = Tenant(self.product, name, memory, 1, arguments, (), SWAPPER, PATIENCE)
        self.assertEqual(tenant.hands[0].ask("open"), [0])
        return tenant

    def events(self):
        status, out, err = self.product.divvy("events", "-o", "json")
        self.assertEqual(status, 0, err)
        return json.loads(out)


__all__ = ["CardTest", "GIB", "MIB", "ask", "bytes_of", "used", "wait_until"]
