"""The demo's props: the built product with a private runtime directory, the processes it starts,
and an end that leaves nothing behind."""
import contextlib
import copy
import fcntl
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import threading
import time

DEFAULT_PROFILE = "h100"
BOUND = 60.0  # seconds that any single step may take
VIEW_WIDTH = 76
LONGEST_PATH = 56
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def private_path():
    """In TMPDIR, else in memory; short, because a socket's path is. A name that is known before the
    directory exists, so that an interrupt in between leaves nothing."""
    bases = [os.environ.get("TMPDIR"), "/dev/shm", "/tmp"]
    paths = [pathlib.Path(base, f"divvy-demo-{os.getpid()}") for base in bases
             if base and os.access(base, os.W_OK)]
    return next((path for path in paths if len(str(path)) <= LONGEST_PATH), paths[-1])


class Broken(Exception):
    """The demo cannot go on; the text says why."""


class Process:
    """A command in the background that answers with lines of JSON."""

    def __init__(self, words, environment):
        self.errors = tempfile.TemporaryFile("w+")
        self.popen = subprocess.Popen([str(word) for word in words], env=environment, text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=self.errors, start_new_session=True)

    def line(self):
        """The next line as an object; Broken when it ended without one."""
        with self._bounded():
            text = self.popen.stdout.readline()
        if not text:
            raise Broken(f"a workload ended early: {self.error_text()}")
        return json.loads(text)

    def tell(self, text):
        """A line of input."""
        with contextlib.suppress(BrokenPipeError):  # it has ended; finish() says how
            self.popen.stdin.write(text + "\n")
            self.popen.stdin.flush()

    def ended(self):
        return self.popen.poll() is not None

    def finish(self):
        """(exit status, the rest of the output as an object or None)."""
        with self._bounded():
            out = self.popen.stdout.read()
            status = self.popen.wait()
        with contextlib.suppress(json.JSONDecodeError):
            return status, json.loads(out)
        return status, None

    def error_text(self):
        """The last words of its error output."""
        self.errors.seek(0)
        lines = self.errors.read().strip().splitlines()
        return lines[-1] if lines else "without a word"

    def end(self):
        """Ends the command and all it started."""
        if self.popen.poll() is None:
            self.popen.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.popen.wait(2)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()
        self.popen.stdout.close()
        self.popen.stdin.close()
        self.errors.close()

    @contextlib.contextmanager
    def _bounded(self):
        """Nothing that happens inside takes longer than BOUND: then the process is ended."""
        guard = threading.Timer(BOUND, self.popen.kill)
        guard.start()
        try:
            yield
        finally:
            guard.cancel()


class Console(Process):
    """`divvy console --local`, which prints a link whenever the one before was used."""

    def __init__(self, words, environment):
        super().__init__(words, environment)
        self.link = None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for text in self.popen.stdout:
            if "#token=" in text:
                self.link = text.strip()

    def newest(self):
        return self.link

    def end(self):
        if self.popen.poll() is None:
            self.popen.terminate()
        self._reader.join(2)
        super().end()


class Stage:
    def __init__(self, build, profile, screen, product=True):
        """product: whether Divvy itself is on the stage; without it only `plain` works."""
        self.build, self.screen, self.product = build, screen, product
        self.divvy = build / "bin" / "divvy"
        if product and not self.divvy.exists():
            raise Broken(f"no {self.divvy}: run ./dev build first")
        self.private = self.runtime = None
        self.environment = {}
        self.processes = []
        self.profile = profile
        self.slower = 1  # than real time, the simulated cards

    def __enter__(self):
        try:
            self.private = private_path()
            self.private.mkdir(mode=0o700)
            self.runtime = self.private / "rt"
            self.environment = dict(os.environ, DIVVY_RUNTIME_DIR=str(self.runtime))
            if self.profile is None and not self._real_card():
                self.profile = DEFAULT_PROFILE
            return self
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        previous = {name: signal.signal(name, signal.SIG_IGN) for name in ENDING}  # no half an end
        for process in self.processes:
            process.end()
        if self.product and self.private and self.environment:
            for runtime in self.private.glob("rt*"):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    subprocess.run([self.divvy, "stop", "--force"], capture_output=True, timeout=10,
                                   env=self.environment | {"DIVVY_RUNTIME_DIR": str(runtime)},
                                   check=False)
            self._end_stragglers()
        if self.private:
            shutil.rmtree(self.private, ignore_errors=True)
        for name, handler in previous.items():
            signal.signal(name, handler)

    def _end_stragglers(self):
        """An agent that was just being started when the demo was interrupted hears no `stop`. In
        the middle of execve it shows no environment, so absence is believed after several looks."""
        end = time.monotonic() + 10
        absent = 0
        while absent < 5 and time.monotonic() < end:
            left = self._own_processes()
            absent = 0 if left else absent + 1
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)

    def _own_processes(self):
        """Living processes whose runtime directory is in the private directory."""
        mark = f"DIVVY_RUNTIME_DIR={self.private}/rt".encode()
        found = []
        for environment in pathlib.Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if mark in environment.read_bytes():
                    found.append(int(environment.parent.name))
        return found

    def slowed(self, times):
        """The same stage with simulated cards, and an agent, of its own: their time goes so many
        times slower, so that the machine's own hiccups weigh less."""
        other = self.other(str(times), {"SIMGPU_TIME_SCALE": str(1 / times)}, self.profile)
        other.slower = times
        return other

    def other(self, name, environment, profile):
        """The same stage with an agent of its own, which finds this environment; with simulated
        cards of this profile, or the real ones if there is none."""
        other = copy.copy(self)
        other.profile = profile
        other.runtime = self.private / f"rt{name}"
        other.environment = self.environment | environment | {"DIVVY_RUNTIME_DIR":
                                                              str(other.runtime)}
        return other

    @property
    def sim(self):
        return ["--sim", self.profile] if self.profile else []

    @property
    def simulated(self):
        return self.profile is not None

    def start(self, *words, environment=None):
        process = Process(words, environment or self.environment)
        self.processes.append(process)
        return process

    def plain(self, card, workload, *arguments):
        """One of the demo's programs as it is, without Divvy; on a simulated card of that name."""
        environment = dict(self.environment)
        if self.simulated:
            environment |= {"LD_LIBRARY_PATH": str(self.build / "simgpu"),
                            "SIMGPU_PROFILE": self.profile,
                            "SIMGPU_DIR": str(self.private / f"{self.runtime.name}-{card}")}
        return self.start(self.build / "demo" / workload, *arguments, environment=environment)

    def tenant(self, name, memory, workload, *arguments, cores=None, priority=None):
        """`divvy run` of one of the demo's programs in a share of `memory` bytes."""
        share = ["--name", name, "--memory", f"{memory >> 10}Ki"]
        if cores:
            share += ["--cores", str(cores)]
        if priority:
            share += ["--priority", priority]
        return self.start(self.divvy, "run", *self.sim, *share, "--",
                          self.build / "demo" / workload, *arguments)

    def console(self):
        """The web page of this stage, on a free port; None if it does not start."""
        page = Console([self.divvy, "console", "--local", "--listen", "127.0.0.1:0",
                        "--history", "memory", *self.sim], self.environment)
        self.processes.append(page)
        self.wait(lambda: page.link or page.ended(), "the console serves")
        if page.ended():
            self.screen.event(f"no console: {page.error_text()}")
            return None
        return page

    def view(self, what, width=VIEW_WIDTH):
        """`divvy WHAT` as a terminal of so many columns shows it."""
        ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        process = subprocess.Popen([self.divvy, what, *self.sim], stdout=theirs,
                                   stdin=subprocess.DEVNULL,
                                   env=self.environment | {"TERM": "dumb"})
        os.close(theirs)
        text = b""
        with contextlib.suppress(OSError):  # EIO: nobody has the other end any more
            while part := os.read(ours, 4096):
                text += part
        os.close(ours)
        process.wait(BOUND)
        return text.decode(errors="replace").replace("\r\n", "\n")

    def rows(self, what):
        status, out, err = self._divvy(what, "-o", "json", *self.sim)
        if status != 0:
            raise Broken(f"divvy {what}: {err.strip()}")
        return json.loads(out)

    def card(self):
        """The simulated card's own books, None for a real card."""
        if not self.simulated:
            return None
        return self._ask_card("0")

    def busy(self, begin, end):
        """Process id -> seconds that it had the simulated card between two moments (seconds of the
        monotonic clock), as the card's own log says."""
        log = self._ask_card("0", *(str(int(moment * 1e9 / self.slower)) for moment in (begin, end)))
        return {int(pid): time * 1e-9 * self.slower for pid, time in log["busy"].items()}

    def _ask_card(self, *words):
        folder = self.runtime / f"sim-{self.profile}" / "card"
        done = subprocess.run([self.build / "demo" / "card", folder, *words], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            raise Broken(f"the card's books: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def used(self):
        """Bytes in use on the first card, by the best witness there is."""
        return self.card()["used"] if self.simulated else self.rows("gpus")[0]["used"]

    def wait(self, condition, what):
        """Seconds until condition() was true. Broken after BOUND."""
        begin = time.monotonic()
        while not condition():
            taken = time.monotonic() - begin
            if taken > BOUND:
                raise Broken(f"not within {BOUND:g} s: {what}")
            self.screen.status(f"waiting: {what}")
            time.sleep(0.002)
        return time.monotonic() - begin

    def _divvy(self, *words):
        done = subprocess.run([str(self.divvy), *words], env=self.environment, capture_output=True,
                              text=True, timeout=BOUND, check=False)
        return done.returncode, done.stdout, done.stderr

    def _real_card(self):
        status, out, _ = self._divvy("gpus", "-o", "json")
        with contextlib.suppress(json.JSONDecodeError):
            return status == 0 and bool(json.loads(out))
        return False
