"""Commands that pages show: every code block of a page, with its mark, and how marked blocks are run.

A mark is a comment on the line before a block:

    <!-- check: run -->                      the test runs it in a shell that all blocks of the page share
    <!-- check: run, status 1 -->            it ends with that status
    <!-- check: run, status 0 or 3 -->       it ends with one of them: doctor judges the machine
    <!-- check: run, on a simulated GPU -->  `run`, `explain` and `snapshot` get --sim h100, `agent` --node sim-h100
    <!-- check: run, on a simulated cluster -->      KUBECONFIG and `kubectl divvy` reach page_cluster.py
    <!-- check: run, until the output is there -->   it is repeated, at most for 30 s
    <!-- check: run, until it succeeds -->   likewise
    <!-- check: file NAME -->                the block is that file, for the blocks after it
    <!-- check: output -->                   what the block before prints; numbers and ids may differ,
                                             a line that ends in `...` may go on
    <!-- check: skip, REASON -->             the test does not run it

A run may have several of these ways. Programs that stand for the reader's own are in PROGRAMS.
"""
import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from page_cluster import PageCluster

FENCE = re.compile(r"^( *)(```+)([a-z]*)\s*$")
MARK = re.compile(r"^ *<!-- check: (run|skip|output|file)(?:,? (.+))? -->$")
WAYS = re.compile(r"^(status \d+( or \d+)*|on a simulated (GPU|cluster)|until the output is there|until it succeeds)$")
MARGIN = re.compile(r"^ *(([-*]|\d+\.) +)?")  # of a line's text; of an item of a list that after its sign
SHELL = ("sh", "bash")
BOUND = 60  # seconds that a block may take
PATIENCE = 30  # seconds that an output may take to appear
SIMULATED = """divvy() {
  [[ $BASHPID == $$ ]] || trap '' INT  # as bash does for a program in the background, not for a function
  if [[ $1 == run || $1 == snapshot || ($1 == explain && ${2:-} == -*) ]]; then
    command divvy "$1" --sim h100 "${@:2}"
  elif [[ $1 == agent ]]; then
    command divvy agent --node sim-h100 "${@:2}"
  else
    command divvy "$@"
  fi
}
"""
CLUSTER = """export KUBECONFIG=$HOME/other.yaml
kubectl() {
  [[ $1 == divvy ]] && kubectl-divvy "${@:2}"
}
"""
PLAIN = "unset -f divvy kubectl\nunset KUBECONFIG\n"

# Programs of the reader. In the background (a shell ignores SIGINT there) they last until the page ends.
PROGRAMS = ("train.py", "serve.py", "batch.py", "batch", "serve", "job")
PROGRAM = """#!/usr/bin/env python3
import signal, time
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    time.sleep(600)
"""
# Where that is not installed.
CURL = """#!/usr/bin/env python3
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1]).read().decode())
"""
# Of the checkout, beside the built product.
PARTS = ("dev", "tools", "experiments", "deploy")
# In the form of the reader's files.
DATA = {"openb_node_list_gpu_node.csv": "tests/simulator/data/nodes.csv",
        "openb_pod_list_default.csv": "tests/simulator/data/pods.csv",
        "config.json": "tests/sizing/corpus/fuzz_sizing_config/llama-3-8b"}
ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass
class Block:
    line: int
    language: str
    text: str
    mark: str = ""  # run, skip, output or file; empty: none
    detail: str = ""

    @property
    def ways(self):
        return self.detail.split(", ") if self.detail else []

    @property
    def statuses(self):
        """Empty: success is expected, and the first command that fails ends the block."""
        return [int(word) for way in self.ways if way.startswith("status") for word in re.findall(r"\d+", way)]

    @property
    def apart(self):
        """In a shell of its own, because it may fail."""
        return bool(self.statuses) or "until it succeeds" in self.ways


def blocks_of(text):
    """The fenced blocks of a page, in order."""
    mark, begun, found = None, None, []
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if begun is not None:
            if fence and not fence.group(3) and fence.group(2) == begun[0]:
                found.append(begun[1])
                begun = None
            else:
                begun[1].text += line + "\n"
        elif fence:
            words = mark.groups() if mark else ("", "")
            begun = fence.group(2), Block(number, fence.group(3), "", words[0], words[1] or "")
        if begun is None or not begun[1].text:
            mark = MARK.match(line)
    return found


def indented(text):
    """Lines at which an indented block begins, also within a list: it can have no mark."""
    fence, before, blank = None, "", True
    for number, line in enumerate(text.splitlines(), 1):
        found = FENCE.match(line)
        if found and fence is None:
            fence = found.group(2)
        elif found and not found.group(3) and found.group(2) == fence:
            fence = None
        elif fence is None and blank and line.startswith(" " * (len(MARGIN.match(before).group()) + 4)):
            yield number
            blank = False
            continue
        blank = not line.strip() or line.startswith("#")
        before = line if line.strip() else before


def faults_of(blocks):
    """What is wrong with the marks of a page: (line, why)."""
    before = None
    for block in blocks:
        if block.language in SHELL and block.mark not in ("run", "skip"):
            yield block.line, "a block of commands has no mark: run, or skip with a reason"
        elif block.mark == "skip" and len(block.detail.split()) < 3:
            yield block.line, "a block is skipped without a reason"
        elif not block.language:
            yield block.line, "a block has no language"
        elif block.mark == "file" and not re.fullmatch(r"[a-z.-]+", block.detail):
            yield block.line, "the name of a file is not of letters, dots and hyphens"
        elif block.mark == "run" and not all(WAYS.match(way) for way in block.ways):
            yield block.line, f"a mark says \"{block.detail}\"; see tests/cli/page_blocks.py"
        elif block.mark == "output" and (before is None or before.mark != "run"):
            yield block.line, "an output without a block that is run before it"
        before = block


def shape(word):
    """A word without what differs from run to run: numbers, and the ids of tenants."""
    if re.fullmatch(r"(?=.*\d)[a-z0-9]{6}", word):
        return None
    return re.sub(r"\d[\d.]*", "#", word)


def like(expected, line):
    words, seen = expected.split(), line.split()
    rest = words[-1:] == ["..."]
    words = words[:-1] if rest else words
    if len(seen) < len(words) or (not rest and len(seen) != len(words)):
        return False
    return all(shape(a) in (None, shape(b)) for a, b in zip(words, seen))


def missing(expected, output):
    """The first line of the expected output that the output has nowhere; None: it has all."""
    lines = output.splitlines()
    for line in expected.splitlines():
        if line.strip() and not any(like(line, seen) for seen in lines):
            return line
    return None


class Shell:
    """A shell for the blocks of one page, in a folder where the built product is as in a checkout."""

    END = "@@ end of block"

    def __init__(self, build):
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="divvy-page-", dir=base))
        (self.folder / "build").mkdir()
        (self.folder / "build" / "release").symlink_to(build)
        for part in PARTS:
            (self.folder / part).symlink_to(ROOT / part)
        for name, kept in DATA.items():
            (self.folder / name).symlink_to(ROOT / kept)
        for name in PROGRAMS:
            (self.folder / name).write_text(PROGRAM)
            (self.folder / name).chmod(0o755)
        (self.folder / "bin").mkdir()
        if shutil.which("curl") is None:
            (self.folder / "bin" / "curl").write_text(CURL)
            (self.folder / "bin" / "curl").chmod(0o755)
        (self.folder / "bin" / "python").symlink_to(sys.executable)
        self.cluster = None
        self.divvy = build / "bin" / "divvy"
        self.environment = {"PATH": f"{build / 'bin'}:{self.folder / 'bin'}:/usr/bin:/bin",
                            "HOME": str(self.folder), "TERM": "dumb", "LC_ALL": "C.UTF-8",
                            "DIVVY_RUNTIME_DIR": str(self.folder / "rt")}
        self.process = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, cwd=self.folder, text=True,
                                        env=self.environment, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run([self.divvy, "stop", "--force"], env=self.environment, timeout=BOUND,
                       capture_output=True, check=False)
        if self.cluster:
            self.cluster.close()
        # Programs in the background, too: an agent that does not serve yet does not hear the stop.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, block):
        """(status, output). A failed command ends the block, unless the block expects a status."""
        path = self.folder / f"block-{block.line}.sh"
        begin = PLAIN + (SIMULATED if "on a simulated GPU" in block.ways else "")
        if "on a simulated cluster" in block.ways:
            self.cluster = self.cluster or PageCluster(self.folder)
            begin += CLUSTER
        path.write_text(begin + block.text)
        call = f"( set -e; . {path} ) </dev/null" if block.apart else f"set -e; . {path} </dev/null; set +e"
        self.process.stdin.write(f"{call}\nprintf '%s %d\\n' '{self.END}' $?\n")
        self.process.stdin.flush()
        guard = threading.Timer(BOUND, self.process.kill)
        guard.start()
        output = ""
        try:
            for line in self.process.stdout:
                if line.startswith(self.END):
                    return int(line.split()[-1]), output
                output += line
        finally:
            guard.cancel()
        return self.process.wait(), output

    def run_for(self, block, expected):
        """Why the block is not as the page has it; None: it is."""
        end = time.monotonic() + (PATIENCE if "until" in block.detail else 0)
        while True:
            status, output = self.run(block)
            fault = None
            line = missing(expected, output)
            if status not in (block.statuses or [0]):
                fault = f"status {status}, not {block.statuses or 0}:\n{output}"
            elif line is not None:
                fault = f"no such line in the output: {line}\n{output}"
            if fault is None or time.monotonic() > end or self.process.poll() is not None:
                return fault
            time.sleep(0.2)


def run_page(text, build):
    """Runs the marked blocks of a page: (how many were run, the first fault or None)."""
    blocks, count = blocks_of(text), 0
    with Shell(build) as shell:
        for block, after in zip(blocks, [*blocks[1:], Block(0, "", "")]):
            if block.mark == "file":
                (shell.folder / block.detail).write_text(block.text)
            if block.mark != "run":
                continue
            fault = shell.run_for(block, after.text if after.mark == "output" else "")
            if fault:
                return count, f"line {block.line}: {fault}"
            count += 1
    return count, None
