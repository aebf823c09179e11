#!/usr/bin/env python3
"""Everything that is checked and measured on a real card, part by part, each with a bound and a log of its
own. Needs nothing but Python and the built product, here or packed (./dev gpu --pack) for a machine that
has a card and no compiler.

usage: run.py [--build DIR] [--out DIR] [--list] [PART...]
"""
import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
TESTS = SOURCE / "tests"


def test(path, seconds):
    return (seconds, [sys.executable, "-B", str(TESTS / path)])


def bench(*words, seconds):
    return (seconds, ["@/bin/divvy-bench", *words, "--real", "--json", "%"])


# What runs, in this order: seconds that it may take, and the command. @ is the build, % a file for figures.
PARTS = {
    "facts": (60, [sys.executable, "-B", str(HERE / "facts.py")]),
    "clients": test("e2e/clients_test.py", 60),
    "ptx": test("e2e/ptx_test.py", 60),
    "names": test("card/names_test.py", 30),
    "memory": test("card/memory_test.py", 90),
    "frameworks": test("card/frameworks_test.py", 180),
    "agent": test("card/agent_test.py", 90),
    "containers": test("card/containers_test.py", 90),
    "swap": test("card/swap_test.py", 240),
    "dataplane": bench("dataplane", seconds=300),
    "shares": bench("shares", seconds=900),
    "priority": bench("priority", seconds=1200),
}
# Shorter ones of the same, for who has a card for minutes only.
SHORT = {
    "dataplane-quick": bench("dataplane", "--quick", seconds=60),
    "shares-short": bench("shares", "--seconds", "5", "--only",
                          "k005_30_70,k1_30_70,mixed_10_20_70,gaps_50_50,cap50,k1_10x10", seconds=120),
    "priority-short": bench("priority", "--seconds", "10", "--only", "rate100_unit0.1", seconds=90),
}


def environment(build):
    """Libraries of the pack come last: a machine's own are better."""
    found = dict(os.environ, DIVVY_BUILD_DIR=str(build), DIVVY_SOURCE_DIR=str(SOURCE), DIVVY_E2E_PROFILE="")
    if (build / "bin/runc").exists():
        found["DIVVY_RUNC"] = str(build / "bin/runc")
    packed = build / "libraries"
    if packed.exists():
        found["LD_LIBRARY_PATH"] = ":".join(filter(None, (found.get("LD_LIBRARY_PATH"), str(packed))))
    return found


def run(name, seconds, words, build, out):
    """Its exit status; 124 where it took too long and was ended with all that it started."""
    words = [word.replace("@", str(build), 1) if word.startswith("@") else
             str(out / f"{name}.json") if word == "%" else word for word in words]
    with open(out / f"{name}.log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   env=environment(build), start_new_session=True)
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return 124


def parse():
    parser = argparse.ArgumentParser(description="checks and measures on this machine's own card")
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    parser.add_argument("--out", type=pathlib.Path, default=SOURCE / "build/card")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("parts", nargs="*", metavar="PART")
    options = parser.parse_args()
    if options.list:
        print(*PARTS, *SHORT)
        sys.exit(0)
    unknown = [part for part in options.parts if part not in PARTS | SHORT]
    if unknown:
        parser.error(f"no part {unknown[0]}; accepted: {' '.join(PARTS | SHORT)}")
    if not (options.build / "bin/divvy").exists():
        parser.error(f"no {options.build}/bin/divvy: build it first, or --build says where it is")
    if shutil.which("nvidia-smi") is None:
        parser.error("no nvidia-smi here: this needs a machine with a card and its driver")
    return options


def main():
    options = parse()
    out, failed = options.out.resolve(), []
    out.mkdir(parents=True, exist_ok=True)
    for name in options.parts or PARTS:
        begun = time.monotonic()
        seconds, words = (PARTS | SHORT)[name]
        print(f"{name} ...", end=" ", flush=True)
        status = run(name, seconds, words, options.build.resolve(), out)
        word = {0: "ok", 77: "SKIPPED", 124: f"FAILED: not within {seconds} s"}.get(status, f"FAILED: {status}")
        print(f"{word} ({time.monotonic() - begun:.1f} s)", flush=True)
        if status not in (0, 77):
            failed.append(name)
    print(f"logs and figures: {out}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
