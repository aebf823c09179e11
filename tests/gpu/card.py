"""This machine's own card, as its driver's NVML tells of it: the judge of the checks on real cards."""
import ctypes
import functools
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))

from product import GIB, MIB, ProductTest, SWAPPER, Tenant, wait_until  # noqa: E402

PATIENCE = 60.0  # seconds for an answer
UNKNOWN = 2**64 - 1  # NVML_VALUE_NOT_AVAILABLE


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


class Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("bytes", ctypes.c_ulonglong), ("instance", ctypes.c_uint),
                ("compute_instance", ctypes.c_uint)]


def bytes_of(pid):
    """What the driver says that a process has on the card; None where it does not tell."""
    (nvml, card), count, processes = _first(), ctypes.c_uint(256), (Process * 256)()
    if nvml.nvmlDeviceGetComputeRunningProcesses_v3(card, ctypes.byref(count), processes) != 0:
        raise AssertionError("NVML does not tell of processes")
    found = [one.bytes for one in processes[:count.value] if one.pid == pid]
    return found[0] if found and found[0] != UNKNOWN else None


def named():
    """UUID and name of the first card."""
    (nvml, card), words = _first(), []
    for call in (nvml.nvmlDeviceGetUUID, nvml.nvmlDeviceGetName):
        text = ctypes.create_string_buffer(96)
        if call(card, text, ctypes.c_uint(96)) != 0:
            raise AssertionError("NVML does not tell of names")
        words.append(text.value.decode())
    return words


def total():
    """Bytes that the first card has."""
    (nvml, card), memory = _first(), Memory()
    if nvml.nvmlDeviceGetMemoryInfo(card, ctypes.byref(memory)) != 0:
        raise AssertionError("NVML does not tell of memory")
    return memory.total


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


__all__ = ["CardTest", "GIB", "MIB", "bytes_of", "named", "total", "used", "wait_until"]
