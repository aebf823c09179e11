#!/usr/bin/env python3
"""Records a terminal session of the built product as an animated SVG.

usage: tools/record/record.py BUILD_DIR OUT.svg

BUILD_DIR has the demo (`./dev demo`, or `./dev build release divvy_demo`). Three tenants share a
simulated H100; the commands, their output and every frame of `divvy top` are the product's own.
"""
import contextlib
import fcntl
import os
import pathlib
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "demo"), str(pathlib.Path(__file__).resolve().parent)]

import svg  # noqa: E402
from emulator import Emulator  # noqa: E402

COLUMNS, ROWS = 104, 20
SECONDS = 8  # that `divvy top` is watched
SLOWER = 5  # the simulated GPU's time, as in the demo: so a busy machine does not show in the figures
TENANTS = {  # name: its share, bytes that it holds, its work
    "serve": ("--memory 24Gi --priority high", 20 << 30, f"serve 200 10 {100 / SLOWER:g}"),
    "train": ("--memory 40Gi --cores 70", 36 << 30, "train 1000"),
    "batch": ("--memory 12Gi --cores 30", 5 << 30, "train 400"),
}
PROGRAM = """#!/bin/sh
sleep 120 | {demo}/hold {held} >/dev/null &
echo "$BEGIN $END" | exec {demo}/timed {work} >/dev/null
"""


class Recording:
    """A screen and its frames: (seconds until the next one, lines). `still`: the frame of viewers without animation."""

    def __init__(self):
        self.screen, self.frames, self.still = Emulator(COLUMNS, ROWS), [], 0

    def frame(self, seconds):
        lines = self.screen.lines()
        if self.frames and self.frames[-1][1] == lines:
            self.frames[-1] = (self.frames[-1][0] + seconds, lines)
        else:
            self.frames.append((seconds, lines))

    def prompt(self, command, seconds):
        self.screen.write(f"\x1b[32m$\x1b[0m \x1b[1m{command}\x1b[0m\r\n")
        self.frame(seconds)


def terminal(words, environment, folder):
    """A command in a terminal of its own: (process, our end)."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder,
                               env=environment, start_new_session=True)
    os.close(theirs)
    return process, ours


def read(ours, seconds):
    """What it writes within that time; None at its end."""
    if not select.select([ours], [], [], seconds)[0]:
        return ""
    with contextlib.suppress(OSError):  # EIO: the other end is closed
        if part := os.read(ours, 1 << 16):
            return part.decode()
    return None


def show(recording, command, seconds, environment, folder):
    """A command that ends with status 0, or 1 where a request does not fit."""
    recording.prompt(command, 0.8)
    process, ours = terminal(["sh", "-c", command], environment, folder)
    while (part := read(ours, 30)) is not None:
        recording.screen.write(part)
    os.close(ours)
    if process.wait(30) not in (0, 1):
        raise SystemExit(f"record: {command}: status {process.returncode}")
    recording.frame(seconds)


def watch(recording, command, seconds, environment, folder):
    """A command that draws until `q`: one frame for each picture that it draws."""
    recording.prompt(command, 0.8)
    process, ours = terminal(command.split(), environment, folder)
    end, drawn = time.monotonic() + seconds, ""
    while (left := end - time.monotonic()) > 0:
        part = read(ours, min(left, 0.2))
        if part is None:
            raise SystemExit(f"record: {command} ended early")
        drawn += part
        if not part and drawn:
            recording.screen.write(drawn)
            recording.frame(1)
            drawn = ""
    recording.still = len(recording.frames) - 1
    os.write(ours, b"q")
    while (part := read(ours, 5)) is not None:
        recording.screen.write(part)
    os.close(ours)
    process.wait(10)


def play(stage, recording):
    folder = stage.private
    now = time.monotonic()
    environment = stage.environment | {
        "PATH": f"{stage.build / 'bin'}:{os.environ['PATH']}", "TERM": "xterm-256color",
        "LC_ALL": "C.UTF-8", "BEGIN": str(int((now + 4) * 1e9)), "END": str(int((now + 90) * 1e9))}
    environment.pop("NO_COLOR", None)
    started = []
    for name, (share, held, work) in TENANTS.items():
        program = folder / name
        program.write_text(PROGRAM.format(demo=stage.build / "demo", held=held, work=work))
        program.chmod(0o755)
        command = f"divvy run --sim h100 --name {name} {share} -- ./{name}"
        recording.prompt(command + " &", 0.9)
        started.append(stage.start("sh", "-c", f"cd {folder} && exec {command}",
                                   environment=environment))
        stage.wait(lambda: any(row["name"] == name for row in stage.rows("ls")), f"{name} starts")
    time.sleep(max(0.0, now + 9 - time.monotonic()))  # what `top` shows are rates of what was
    watch(recording, "divvy top", SECONDS, environment, folder)
    show(recording, "divvy explain --sim h100 --memory 8Gi", 4, environment, folder)
    for process in started:
        process.end()


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__.split("\n\n")[1])
    from stage import Stage
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    recording = Recording()

    class Silent:
        status = staticmethod(lambda text: None)

    with Stage(pathlib.Path(sys.argv[1]).resolve(), "h100", Silent()) as stage:
        play(stage.slowed(SLOWER), recording)
    title = "divvy run starts three tenants on one GPU; divvy top shows what each of them gets"
    pathlib.Path(sys.argv[2]).write_text(
        svg.picture(recording.frames, recording.still, COLUMNS, ROWS, title))


if __name__ == "__main__":
    main()
