#!/usr/bin/env python3
"""What a run of tests took, by label, beside what each label promises (docs/development/testing.md).

usage: test_times.py BUILD_DIR JUNIT_FILE JOBS

A test counts by the slots of a processor that it takes; divided by JOBS that is the label's part of the run. Labels that take longer than promised are marked; the exit status is always 0.
"""
import collections
import json
import subprocess
import sys
import xml.etree.ElementTree

# Seconds that a run of one label may take on 2 idle processors.
PROMISED = {"unit": 60, "property": 30, "process": 320, "gpu": 30}
SLOTS = 8  # of ctest's, a processor


def listed(build):
    done = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True,
                          check=True)
    for test in json.loads(done.stdout)["tests"]:
        have = {p["name"]: p["value"] for p in test.get("properties", [])}
        labels = have.get("LABELS") or ["none"]
        alone = have.get("RUN_SERIAL") is True
        yield test["name"], labels[0], alone, float(have.get("PROCESSORS", 1))


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    build, junit, jobs = sys.argv[1], sys.argv[2], int(sys.argv[3])
    took = {case.get("name"): float(case.get("time", 0))
            for case in xml.etree.ElementTree.parse(junit).getroot().iter("testcase")}
    parts, counts, longest = collections.Counter(), collections.Counter(), {}
    for name, label, alone, slots in listed(build):
        if name not in took:
            continue
        parts[label] += took[name] if alone else took[name] * slots / SLOTS / jobs
        counts[label] += 1
        longest[label] = max(longest.get(label, (0, "")), (took[name], name))
    if not counts:
        return
    print(f"\n{'label':<10}{'tests':>6}{'part of the run':>17}{'promised':>10}  longest")
    for label in sorted(counts, key=lambda one: -parts[one]):
        bound = PROMISED.get(label)
        late = "  longer than promised" if bound and parts[label] > bound else ""
        print(f"{label:<10}{counts[label]:>6}{parts[label]:>15.0f} s{str(bound or '-') + ' s':>10}  "
              f"{longest[label][1]} {longest[label][0]:.1f} s{late}")


if __name__ == "__main__":
    main()
