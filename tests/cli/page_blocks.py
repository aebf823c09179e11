"""Commands that pages show: every code block of a page, with its mark, and how marked blocks are run.

A mark is a comment on the line before a block:

    <!-- check: run -->                      the test runs it in a shell that all blocks of the page share
    <!-- check: run, status 1 -->            it ends with that status
    <!-- check: run, on a simulated GPU -->  `run`, `explain` and `snapshot` get --sim h100
    <!-- check: run, until the output is there -->   it is repeated, at most for 30 s
    <!-- check: output -->                   what the block before prints; numbers and ids may differ,
                                             a line that ends in `...` may go on
    <!-- check: skip, REASON -->             the test does not run it
"""
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import time

FENCE = re.compile(r"^( *)(```+)([a-z]*)\s*$")
MARK = re.compile(r"^<!-- check: (run|skip|output)(?:, (.+))? -->$")
WAYS = re.compile(r"^(status \d+|on a simulated GPU|until the output is there)$")
SHELL = ("sh", "bash")
BOUND = 60  # seconds that a block may take
PATIENCE = 30  # seconds that an output may take to appear
SIMULATED = """divvy() {
  if [[ $1 == run || $1 == snapshot || ($1 == explain && ${2:-} == -*) ]]; then
    command divvy "$1" --sim h100 "${@:2}"
  else
    command divvy "$@"
  fi
}
"""


@dataclasses.dataclass
class Block:
    line: int
    language: str
    text: str
    mark: str = ""  # run, skip or output; empty: none
    detail: str = ""

    @property
    def status(self):
        return int(self.detail.split()[1]) if self.detail.startswith("status") else 0


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


def faults_of(blocks):
    """What is wrong with the marks of a page: (line, why)."""
    before = None
    for block in blocks:
        if block.language in SHELL and block.mark not in ("run", "skip"):
            yield block.line, "a block of commands has no mark: run, or skip with a reason"
        elif block.mark == "skip" and len(block.detail.split()) < 3:
            yield block.line, "a block is skipped without a reason"
        elif block.mark == "run" and block.detail and not WAYS.match(block.detail):
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
        self.divvy = build / "bin" / "divvy"
        self.environment = {"PATH": f"{build / 'bin'}:/usr/bin:/bin", "HOME": str(self.folder), "TERM": "dumb",
                            "LC_ALL": "C.UTF-8", "DIVVY_RUNTIME_DIR": str(self.folder / "rt")}
        self.process = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, cwd=self.folder, text=True,
                                        env=self.environment, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run([self.divvy, "stop", "--force"], env=self.environment, timeout=BOUND,
                       capture_output=True, check=False)
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, block):
        """(status, output). A failed command ends the block, unless the block expects a status."""
        path = self.folder / f"block-{block.line}.sh"
        path.write_text((SIMULATED if "simulated" in block.detail else "unset -f divvy\n") + block.text)
        call = f"( set -e; . {path} ) </dev/null" if block.status else f"set -e; . {path} </dev/null; set +e"
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
            if status != block.status:
                return f"status {status}, not {block.status}:\n{output}"
            line = missing(expected, output)
            if line is None:
                return None
            if time.monotonic() > end:
                return f"no such line in the output: {line}\n{output}"
            time.sleep(0.2)


def run_page(text, build):
    """Runs the marked blocks of a page: (how many were run, the first fault or None)."""
    blocks, count = blocks_of(text), 0
    with Shell(build) as shell:
        for block, after in zip(blocks, [*blocks[1:], Block(0, "", "")]):
            if block.mark != "run":
                continue
            fault = shell.run_for(block, after.text if after.mark == "output" else "")
            if fault:
                return count, f"line {block.line}: {fault}"
            count += 1
    return count, None
