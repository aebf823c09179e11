#!/usr/bin/env python3
"""Which card, driver and machine this is: what figures are worth is said by it."""
import os
import pathlib
import platform
import subprocess


def show(*words):
    print("$", *words, flush=True)
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    print(done.stdout + done.stderr, flush=True)


def text(path):
    try:
        return pathlib.Path(path).read_text(errors="replace").strip()
    except OSError as error:
        return str(error)


def main():
    print(platform.platform(), os.cpu_count(), "processors")
    show("nvidia-smi")
    show("nvidia-smi", "-q")
    show("nvidia-smi", "topo", "-m")
    for path in ("/proc/driver/nvidia/version", "/proc/self/cgroup", "/proc/driver/nvidia/params"):
        print(path, text(path), sep="\n")
    print(sorted(str(path) for path in pathlib.Path("/dev").glob("nvidia*")))
    for line in text("/proc/self/mountinfo").splitlines():
        if any(word in line for word in ("nvidia", "cgroup", "/dev ", "/dev/shm")):
            print(line)


if __name__ == "__main__":
    main()
