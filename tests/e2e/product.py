"""The built product as the e2e tests use it: a private runtime directory, `divvy` commands, tenants
with hands inside, and the simulated card's own books."""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BUILD = pathlib.Path(os.environ.get("DIVVY_BUILD_DIR", "build/release")).resolve()
DIVVY = BUILD / "bin" / "divvy"
HAND = BUILD / "e2e" / "hand"
BUSY = BUILD / "e2e" / "busy"
SWAPPER = BUILD / "e2e" / "swapper"
CARD = BUILD / "demo" / "card"
RACE = BUILD / "demo" / "race"
SUCCESS, OUT_OF_MEMORY = 0, 2
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
# The simulated card of the tests; empty: this machine's own (tests/gpu).
PROFILE = os.environ.get("DIVVY_E2E_PROFILE", "h100")
BOUND = 30.0  # seconds that a condition may take on a machine that is busy with other tests


def wait_until(condition, what, bound=BOUND):
    """The first true value of condition(); an error that says what never became true. A condition that runs programs
    is asked less often: it has a quarter of a processor at most."""
    end = time.monotonic() + bound
    while True:
        begun = time.monotonic()
        value = condition()
        if value:
            return value
        now = time.monotonic()
        if now > end:
            raise AssertionError(f"not within {bound:g} s: {what}")
        time.sleep(min(max(0.005, 3 * (now - begun)), 0.1))


def free_port():
    """A port that nobody listens at, of those that the kernel gives to nobody who connects: it stays free until the
    one that it is for listens."""
    while True:
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", random.randrange(20000, 32768)))
            return one.getsockname()[1]


class Clock:
    """Seconds since it began, but for those in which the machine stood still: this program asks to be woken, and was
    not. For what has to happen within a bound; to be used by `with`."""

    EVERY, FROM = 0.05, 0.25  # seconds; what is less is how processes take turns

    def __init__(self):
        self.begun = self.last = time.monotonic()
        self.lost, self.ended, self.lock = 0.0, threading.Event(), threading.Lock()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def watch(self):
        while not self.ended.wait(self.EVERY):
            self.passed()

    def passed(self):
        with self.lock:
            now = time.monotonic()
            if now - self.last >= self.FROM:
                self.lost += now - self.last - self.EVERY
            self.last = now
            return now - self.begun - self.lost

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


def line_of(process, what, bound=BOUND):
    """The next line that it prints, read past Python's own buffer, so that none hides there from the
    wait: nothing else may read its output. An error where no line comes."""
    end, line = time.monotonic() + bound, b""
    while not line.endswith(b"\n"):
        if not select.select([process.stdout], [], [], max(0, end - time.monotonic()))[0]:
            raise AssertionError(f"not within {bound:g} s: {what}; so far {line!r}")
        byte = os.read(process.stdout.fileno(), 1)
        if not byte:
            raise AssertionError(f"it ended before: {what}; so far {line!r}")
        line += byte
    return line.decode()


def private_directory():
    """In memory where possible, and short: socket paths end at 107 characters."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    return pathlib.Path(tempfile.mkdtemp(prefix="divvy-e2e-", dir=base))


class Hand:
    """One process in a tenant, driven line by line (hand.c)."""

    def __init__(self, reader, writer, on_close=None):
        self.reader, self.writer, self.on_close = reader, writer, on_close
        self.pid = self.ask("pid")[0]

    def ask(self, *words):
        """The numbers of the answer to one command."""
        self.tell(*words)
        return self.answer()

    def tell(self, *words):
        self.writer.write(" ".join(str(word) for word in words) + "\n")
        self.writer.flush()

    def answer(self):
        line = self.reader.readline()
        if not line.startswith("ok "):
            raise AssertionError(f"the hand answered {line!r}")
        return [int(word) for word in line.split()[1:]]

    def kill(self, signum=signal.SIGKILL):
        os.kill(self.pid, signum)

    def stop(self):
        """Stops the process, and returns once none of its threads can run another instruction. A signal is only queued
        when kill() returns: a thread on the other processor writes on."""
        self.kill(signal.SIGSTOP)

        def stopped():
            states = [path.read_text().rpartition(")")[2].split()[0]
                      for path in pathlib.Path(f"/proc/{self.pid}/task").glob("*/stat")]
            return states and all(state == "T" for state in states)

        wait_until(stopped, f"every thread of process {self.pid} is stopped")

    def exit(self):
        with contextlib.suppress(BrokenPipeError):
            self.tell("exit")
        self.close()

    def close(self):
        for stream in (self.writer, self.reader):
            with contextlib.suppress(BrokenPipeError, ValueError):
                stream.close()
        if self.on_close:
            self.on_close()


class Tenant:
    """A `divvy run` whose command is `count` hands that share one tenant. `environment` is a list of
    words for `env`, for the hands alone; `patience`: seconds that an answer may take."""

    def __init__(self, product, name, memory, count=1, arguments=(), environment=(), hand=HAND,
                 patience=None):
        product.tenants.append(self)
        self.name = name
        self.path = str(product.root / f"{len(product.tenants)}.sock")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(self.path)
        listener.listen(count)
        listener.settimeout(BOUND)
        script = " ".join(['"$0" "$1" &'] * count) + (" wait" if count > 1 else " wait $!")
        self.hands = []
        self.run = product.start("run", *product.sim, "--memory", memory, "--name", name, *arguments,
                                 "--", "env", *environment, "sh", "-c", script, hand, self.path)
        try:
            for _ in range(count):
                connection = listener.accept()[0]
                connection.settimeout(patience)
                self.hands.append(Hand(connection.makefile("r"), connection.makefile("w"),
                                       connection.close))
        except socket.timeout:
            self.run.kill()
            raise AssertionError(f"tenant {name} did not start: {self.run.communicate()}") from None
        finally:
            listener.close()

    def end(self):
        """Exit status of `divvy run` after all hands were told to go."""
        for hand in self.hands:
            hand.exit()
        return self.run.wait(BOUND)


class Product:
    def __init__(self, profile=PROFILE):
        self.root = private_directory()
        self.profile = profile
        self.sim = ("--sim", profile) if profile else ()
        self.runtime = self.root / "rt"
        self.started = []
        self.tenants = []
        self.prefix = ()  # before each divvy: who runs it, and where
        self.environment = dict(os.environ, DIVVY_RUNTIME_DIR=str(self.runtime))
        self.environment.pop("LD_PRELOAD", None)

    def start(self, *words, **options):
        """A divvy command in the background, with pipes."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, "text": True, "env": self.environment} | options
        process = subprocess.Popen([*self.prefix, str(DIVVY), *map(str, words)], **options)
        self.started.append(process)
        return process

    def agent(self, *words, **options):
        """One that is begun by the test, when it serves. Its socket is there a moment before: who finds nobody
        behind it begins an agent that was told none of this."""
        agent = self.start("agent", "--node", f"sim-{self.profile}", "--log-file", *words, **options)
        log = self.runtime / f"sim-{self.profile}" / "agent.log"
        wait_until(lambda: log.exists() and "agent is ready " in log.read_text(), "the agent is ready")
        return agent

    def divvy(self, *words, bound=BOUND, **options):
        """A divvy command to its end: (exit status, output, error output)."""
        process = self.start(*words, **options)
        try:
            out, err = process.communicate(timeout=bound)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError(f"divvy {words} still runs after {bound:g} s") from None
        return process.returncode, out, err

    def run(self, memory, *command, arguments=(), bound=BOUND, **options):
        return self.divvy("run", *self.sim, "--memory", memory, *arguments, "--", *command,
                          bound=bound, **options)

    def rows(self, what):
        """`divvy ls`, `gpus` as a list of objects."""
        status, out, err = self.divvy(what, *self.sim, "-o", "json")
        if status != 0:
            raise AssertionError(f"divvy {what}: {status} {err}")
        return json.loads(out)

    def tenant_row(self, name):
        return next((row for row in self.rows("ls") if row["name"] == name), None)

    def agent_pid(self):
        status, out, err = self.divvy("top", *self.sim, "-o", "json")
        if status != 0:
            raise AssertionError(f"divvy top: {status} {err}")
        return next(node["agent_pid"] for node in json.loads(out))

    def card(self, index=0):
        """The simulated card's own books: {capacity, used, processes: [{pid, bytes}]}."""
        return self._ask_card(index)

    def card_log(self, begin, end, index=0):
        """Who had the simulated card for how long between two moments of its own clock,
        nanoseconds: {horizon, dropped, busy: {pid: nanoseconds}}; None before its first use."""
        return self._ask_card(index, begin, end)

    def _ask_card(self, *words):
        folder = self.runtime / f"sim-{self.profile}" / "card"
        done = subprocess.run([str(CARD), str(folder), *map(str, words)], capture_output=True,
                              text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def close(self):
        for tenant in self.tenants:
            for hand in tenant.hands:
                hand.close()
            if tenant.run.poll() is None:
                for hand in tenant.hands:  # one that a failed test left stopped holds the pipes
                    with contextlib.suppress(ProcessLookupError):
                        hand.kill()
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        self.divvy("stop", "--force", *self.sim)
        shutil.rmtree(self.root, ignore_errors=True)


class ProductTest(unittest.TestCase):
    """A test case with a product of its own."""

    profile = PROFILE

    def setUp(self):
        self.product = Product(self.profile)
        self.addCleanup(self.product.close)

    def tenant(self, name, memory, count=1, arguments=(), environment=()):
        return Tenant(self.product, name, memory, count, arguments, environment)

    def events(self, *words):
        """Those of the tenants named, or of all; where those named have none yet, that is said."""
        status, out, err = self.product.divvy("events", *words, *self.product.sim, "-o", "json")
        events = json.loads(out) if status == 0 else None
        self.assertEqual((status, "no events of" in err if words and not events else not err),
                         (0, True), err)
        return events

    def doctor(self, *words, check=None):
        """What `divvy doctor` finds wrong from outside: of one check, or of all."""
        only = ("--only", check) if check else ()
        _, out, err = self.product.divvy("doctor", "--node", "-o", "json", *only, *words)
        self.assertTrue(out, err)
        return [one for one in json.loads(out)["findings"] if one["state"] not in ("ok", "skipped")]

    def doctor_names(self, *words, check=None, arguments=()):
        """Each word is in something that it finds."""
        found = self.doctor(*arguments, check=check)
        for word in words:
            self.assertTrue(any(str(word) in json.dumps(one) for one in found), f"{word}: {found}")

    def doctor_is_silent_of(self, *words, check, arguments=()):
        """The control: it finds nothing of the kind in what is as it should be."""
        found = self.doctor(*arguments, check=check)
        for word in words:
            self.assertFalse(any(str(word) in json.dumps(one) for one in found), f"{word}: {found}")


def main(at_once=1):
    """So many of its tests at a time, each in a process of its own, where they wait more than they compute."""
    if not DIVVY.exists():
        print(f"no {DIVVY}: build everything first", file=sys.stderr)
        sys.exit(1)
    if at_once > 1 and len(sys.argv) == 1:
        sys.exit(run_at_once(at_once))
    unittest.main(verbosity=2)


def tests_in(suite):
    for one in suite:
        yield from tests_in(one) if isinstance(one, unittest.TestSuite) else [one.id()]


def run_at_once(count):
    def run(name):
        done = subprocess.run([sys.executable, "-B", sys.argv[0], name.removeprefix("__main__.")],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        print(done.stdout, end="", flush=True)
        return done.returncode
    names = list(tests_in(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])))
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        failed = sum(status != 0 for status in pool.map(run, names))
    print(f"{len(names)} tests, {count} at a time, {failed} failed")
    return 0 if names and not failed else 1
