#!/usr/bin/env python3
"""Who had the card when: two programs of the bench beside each other, by the stamps of their own kernels.

usage: timeline.py --build DIR [--bare] [--seconds N] [--unit-us N] service|steady
  service   requests of ten kernels of 200 us, 100/s, before all others; and one that always wants more
  steady    two that always want more, 30 and 70 percent
"""
import argparse
import bisect
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SEED = "20260131"


def arguments():
    parser = argparse.ArgumentParser(description="who had this machine's card when")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--bare", action="store_true", help="without Divvy: the card's own time slices")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--unit-us", default="100", help="of kernels of who always wants more")
    parser.add_argument("what", choices=("service", "steady"))
    return parser.parse_args()


def loads(options):
    """(what the share asks for, the program's words) of each."""
    service = options.what == "service"
    always = ["steady", "--unit-us", options.unit_us]
    requests = ["latency", "--per-second", "100", "--seed", SEED, "--first", "0", "--launches", "10",
                "--unit-us", "200", "--count", str(int(options.seconds * 100))]
    return [(["--priority", "high"], requests) if service else
            (["--cores", "30"], [*always, "--seconds", str(options.seconds)]),
            (["--priority", "low"] if service else ["--cores", "70"],
             [*always, "--seconds", str(options.seconds + 0.3)])]


def run(options, folder):
    """What each said, and its intervals: (begin, end) in nanoseconds of one clock."""
    build = options.build.resolve()
    environment = dict(os.environ, DIVVY_RUNTIME_DIR=str(folder / "rt"))
    (folder / "barrier").write_bytes(bytes(4096))
    running = []
    for i, (share, words) in enumerate(loads(options)):
        command = [build / "bench/divvy-bench-load", *words, "--barrier", folder / "barrier", "--parties", "2",
                   "--spans", folder / f"spans{i}"]
        if not options.bare:
            command = [build / "bin/divvy", "run", "--memory", "4Gi", *share, "--", *command]
        running.append(subprocess.Popen(list(map(str, command)), env=environment, stdout=subprocess.PIPE, text=True))
    told = [process.communicate(timeout=options.seconds + 60)[0] for process in running]
    if not options.bare:
        subprocess.run([build / "bin/divvy", "stop", "--force"], env=environment, capture_output=True, check=False)
    if any(process.returncode != 0 for process in running):
        sys.exit("timeline.py: a program failed")
    facts = [json.loads(text[text.index("{"):]) for text in told]
    spans = [sorted(tuple(map(int, line.split())) for line in open(folder / f"spans{i}", encoding="ascii"))
             for i in range(2)]
    return facts, spans


def show(what, nanoseconds):
    if not nanoseconds:
        return
    ordered = sorted(one / 1e3 for one in nanoseconds)
    at = lambda part: ordered[min(len(ordered) - 1, int(len(ordered) * part))]
    print(f"{what}: {at(.1):.0f} {at(.5):.0f} {at(.9):.0f} {at(.99):.0f} us ({len(ordered)})")


def turns(spans):
    """How long each had the card at a time, and what passed between two of them."""
    both = sorted((begin, end, who) for who in (0, 1) for begin, end in spans[who])
    first, last = max(one[0][0] for one in spans), min(one[-1][1] for one in spans)
    both = [one for one in both if first <= one[0] and one[1] <= last]
    held, between, inside, since = [], [], [], both[0][0]
    for (_, end, who), (begin, _, other) in zip(both, both[1:]):
        if who == other:
            inside.append(begin - end)
            continue
        held.append(end - since)
        between.append(begin - end)
        since = begin
    show("had the card for, each time", held)
    show("from the end of one to the begin of the other", between)
    show("between kernels of the same", inside)
    print(f"busy {sum(end - begin for begin, end, _ in both) / (last - first):.3f} of the time")


def requests(facts, spans):
    """What a service saw, and what of its pauses the other one used."""
    begins, ends = zip(*spans[1])
    answers = facts[0]["answers"]
    inside, start, dense, gaps, used = [], [], [], 0, 0
    for _, launched, done in answers:
        part = spans[1][bisect.bisect_left(ends, launched):bisect.bisect_left(begins, done)]
        inside.append(sum(min(end, done) - max(begin, launched) for begin, end in part))
    for (_, _, done), (_, launched, _) in zip(answers, answers[1:]):
        part = spans[1][bisect.bisect_left(begins, done):bisect.bisect_left(begins, launched)]
        gaps += max(0, launched - done)
        ran = sum(end - begin for begin, end in part)
        used += ran
        if part:
            start.append(part[0][0] - done)
            dense.append(1000 * 1000 * ran // (part[-1][1] - part[0][0]))
    show("from launch to answer", [done - launched for _, launched, done in answers])
    show("the other one ran meanwhile", inside)
    show("from an answer until the other one ran", start)
    show("of its time there it used, permille", dense)
    print(f"of the service's pauses it used {used / gaps:.2f}")


def main():
    options = arguments()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="divvy-timeline-"))
    try:
        facts, spans = run(options, folder)
        print("tenth, median, nine tenths, 99 hundredths:")
        if options.what == "service":
            requests(facts, spans)
        turns(spans)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
