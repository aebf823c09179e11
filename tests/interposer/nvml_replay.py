#!/usr/bin/env python3
"""What frameworks make of CUDA_VISIBLE_DEVICES, asked of the libraries that are found here.

Arguments: one JSON list per question, [value, order], of CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER
(null: unset); each is answered by a child process, in order. Prints "key=value" lines, the number of
the question before each key: how many devices PyTorch would count without initialising CUDA (-1: it
falls back to CUDA's own count), how many CUDA has, and for every CUDA ordinal its UUID beside that
of the NVML device which PyTorch and vLLM take for it. Written from what these programs do
(torch/cuda/__init__.py and vllm/platforms/interface.py), in our own words.
"""
import ctypes
import json
import os
import re
import sys

UUID_BUFFER = 96


class Nvml:
    """NVML as pynvml uses it: by ctypes, every function looked up by its name."""

    def __init__(self):
        self.library = ctypes.CDLL("libnvidia-ml.so.1")
        self.status = self.library.nvmlInit_v2()

    def count(self):
        count = ctypes.c_uint()
        status = self.library.nvmlDeviceGetCount_v2(ctypes.byref(count))
        return count.value if status == 0 else -1

    def uuid(self, index):
        device = ctypes.c_void_p()
        if self.library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)) != 0:
            return "none"
        text = ctypes.create_string_buffer(UUID_BUFFER)
        if self.library.nvmlDeviceGetUUID(device, text, UUID_BUFFER) != 0:
            return "none"
        return text.value.decode()

    def uuids(self):
        return [self.uuid(index) for index in range(self.count())]


class Cuda:
    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.status = self.library.cuInit(0)

    def count(self):
        count = ctypes.c_int()
        status = self.library.cuDeviceGetCount(ctypes.byref(count))
        return count.value if status == 0 else 0

    def uuid(self, ordinal):
        device = ctypes.c_int()
        raw = (ctypes.c_ubyte * 16)()
        if self.library.cuDeviceGet(ctypes.byref(device), ordinal) != 0:
            return "none"
        if self.library.cuDeviceGetUuid(ctypes.byref(raw), device) != 0:
            return "none"
        digits = bytes(raw).hex()
        return "GPU-" + "-".join(
            (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def leading_number(text):
    """C's strtol with base 10, -1 where there is no number."""
    match = re.match(r"[+-]?\d+", text)
    return int(match.group()) if match else -1


def torch_visible():
    """The selection as PyTorch reads it: numbers, or UUIDs (possibly cut short)."""
    value = os.environ.get("CUDA_VISIBLE_DEVICES")
    if value is None:
        return list(range(64))
    for prefix in ("GPU-", "MIG-"):
        if not value.startswith(prefix):
            continue
        names = []
        for name in value.split(","):
            if name in names:
                return []
            if not name.startswith(prefix):
                break
            names.append(name)
        return names
    numbers = []
    for entry in value.split(","):
        number = leading_number(entry.strip())
        if number in numbers:
            return []
        if number < 0:
            break
        numbers.append(number)
    return numbers


def ordinals_of(names, uuids):
    """NVML indices of shortened UUIDs; the first that is unknown or ambiguous ends the list."""
    found = []
    for name in names:
        matches = [index for index, uuid in enumerate(uuids) if uuid.startswith(name)]
        if len(matches) != 1:
            break
        if matches[0] in found:
            return []
        found.append(matches[0])
    return found


def torch_indices(nvml):
    """NVML indices that PyTorch takes for CUDA's ordinals, or None where it asks CUDA instead."""
    visible = torch_visible()
    if not visible:
        return []
    if isinstance(visible[0], str):
        if visible[0].startswith("MIG-"):
            return None
        return ordinals_of(visible, nvml.uuids())
    count = nvml.count()
    if count <= 0:
        return [] if count == 0 else None
    kept = []
    for number in visible:
        if number >= count:
            break
        kept.append(number)
    return kept


def vllm_index(ordinal, nvml):
    """vLLM: the entry of the variable at that place is the NVML index, or a UUID to be found."""
    value = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    if value == "":
        return ordinal
    entry = value.split(",")[ordinal].strip()
    if entry.lstrip("+-").isdigit():
        return int(entry)
    found = ordinals_of([entry], nvml.uuids())
    return found[0] if found else -1


def answer(number):
    def tell(key, value):
        print(f"{number}:{key}={value}")

    nvml, cuda = Nvml(), Cuda()
    indices = torch_indices(nvml)
    tell("nvml_status", nvml.status)
    tell("cuda_status", cuda.status)
    tell("nvml_count", nvml.count())
    tell("torch_count", -1 if indices is None else len(indices))
    tell("cuda_count", cuda.count())
    for ordinal in range(cuda.count()):
        tell(f"cuda:{ordinal}", cuda.uuid(ordinal))
        tell(f"vllm:{ordinal}", nvml.uuid(vllm_index(ordinal, nvml)))
        if indices is not None and ordinal < len(indices):
            tell(f"torch:{ordinal}", nvml.uuid(indices[ordinal]))


def main():
    for number, question in enumerate(sys.argv[1:]):
        value, order = json.loads(question)
        child = os.fork()
        if child == 0:
            for name, text in (("CUDA_VISIBLE_DEVICES", value), ("CUDA_DEVICE_ORDER", order)):
                os.environ.pop(name, None)
                if text is not None:
                    os.environ[name] = text
            answer(number)
            sys.stdout.flush()
            os._exit(0)
        if os.waitpid(child, 0)[1] != 0:
            sys.exit(1)


if __name__ == "__main__":
    main()
