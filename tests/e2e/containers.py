"""Real containers by Debian's podman, in storage of their own, and an image made of this machine's
files: no registry, no network."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile

from product import BOUND, BUILD, HAND, private_directory

PROBE = BUILD / "tests" / "share_probe"
IMAGE = "divvy.test/image:1"
FOLDERS = ("dev", "etc", "proc", "run", "sys", "tmp", "var")
# The kernel of a test machine may allow less than podman's defaults ask for.
CONF = """[containers]
default_ulimits = []
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "{root}/tmp"
"""
STORAGE = """[storage]
driver = "vfs"
runroot = "{root}/run"
graphroot = "{root}/store"
"""


def libraries(program):
    """What a program needs to start, by the path under which it is looked for."""
    out = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    words = (word for line in out.splitlines() for word in line.split())
    return {word for word in words if word.startswith("/")}


def make_image(path):
    """A root file system: programs, their libraries, and the folders that runtimes expect."""
    programs = {"/bin/sh": shutil.which("sh"), "/bin/sleep": shutil.which("sleep"),
                "/bin/hand": str(HAND), "/bin/share_probe": str(PROBE)}
    files = dict(programs)
    # Of those that are mounted into it, too: images of glibc have all that they need.
    mounted = [*(BUILD / "lib").glob("libdivvy-*.so"), *(BUILD / "simgpu").glob("*.so.1")]
    for program in (*programs.values(), *mounted):
        files.update({library: library for library in libraries(program)})
    with tarfile.open(path, "w") as archive:
        for folder in FOLDERS:
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            archive.addfile(entry)
        for inside, source in sorted(files.items()):
            entry = tarfile.TarInfo(inside.lstrip("/"))
            real = pathlib.Path(source).resolve()
            entry.size, entry.mode = real.stat().st_size, 0o755
            with real.open("rb") as content:
                archive.addfile(entry, content)


# In a mount namespace of its own: accounts are this test's alone.
BE = """for file in passwd group subuid subgid; do mount --bind "$0/$file" "/etc/$file"; done
exec setpriv --reuid 64123 --regid 64123 --clear-groups "$@"
"""


class User:
    """A user without rights, who has ids for containers: `prefix` runs a command as that one."""

    uid = 64123

    def __init__(self, root):
        self.root = root
        for folder in (root, root / "xdg", root / "home"):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o700)
        for file, line in {"passwd": f"lodger:x:{self.uid}:{self.uid}::/:/bin/sh",
                           "group": f"lodger:x:{self.uid}:", "subuid": "lodger:3000000:65536",
                           "subgid": "lodger:3000000:65536"}.items():
            source = pathlib.Path("/etc") / file
            (root / file).write_text((source.read_text() if source.exists() else "") + line + "\n")
        self.own()
        self.prefix = ("unshare", "-m", "sh", "-ec", BE, str(root))
        self.environment = {"HOME": str(root / "home"), "XDG_RUNTIME_DIR": str(root / "xdg")}

    def own(self, path=None):
        """Gives what is below to the user."""
        for file in (path or self.root, *(path or self.root).rglob("*")):
            os.chown(file, self.uid, self.uid, follow_symlinks=False)

    def why_not(self):
        """Why this machine's podman cannot be used by such a user; empty: it can."""
        if not all(shutil.which(program) for program in ("newuidmap", "newgidmap", "setpriv")):
            return "newuidmap is not installed (apt-get install uidmap)"
        reach = subprocess.run([*self.prefix, "test", "-x", str(HAND)], check=False)
        return "" if reach.returncode == 0 else f"other users cannot reach {HAND}"

    def close(self):
        """Ends what podman leaves behind for its user."""
        for file in self.root.rglob("pause.pid"):
            with contextlib.suppress(OSError, ValueError):
                os.kill(int(file.read_text()), signal.SIGKILL)


class Podman:
    """One podman with its own storage below `root`, used by itself or by `divvy run --podman`; of
    `user`, or root's."""

    def __init__(self, root, user=None):
        self.root, self.user = root, user
        root.mkdir()
        (root / "containers.conf").write_text(CONF.format(root=root))
        (root / "storage.conf").write_text(STORAGE.format(root=root))
        self.environment = {"CONTAINERS_CONF": str(root / "containers.conf"),
                            "CONTAINERS_STORAGE_CONF": str(root / "storage.conf")}
        make_image(root / "image.tar")
        if user:
            user.own(root)
            self.environment.update(user.environment)
        self.must("import", root / "image.tar", IMAGE)

    def run(self, *words, bound=BOUND):
        """(exit status, output, error output) of podman itself."""
        prefix = self.user.prefix if self.user else ()
        done = subprocess.run([*prefix, "podman", *map(str, words)], capture_output=True, text=True,
                              timeout=bound, check=False, env=os.environ | self.environment)
        return done.returncode, done.stdout, done.stderr

    def must(self, *words):
        status, out, err = self.run(*words)
        if status != 0:
            raise AssertionError(f"podman {words}: {status} {err}")
        return out

    def pid(self, name):
        return int(self.must("inspect", "-f", "{{.State.Pid}}", name))

    def close(self):
        self.run("rm", "--all", "--force", "--time", "0")


def why_not(root):
    """Why no container can run here; empty: one can."""
    if os.geteuid() != 0:
        return "needs root"
    if not shutil.which("podman") or not shutil.which("runc"):
        return "podman and runc are not installed (apt-get install podman runc)"
    try:
        podman = Podman(root)
        status, _, err = podman.run("run", "--rm", "--network", "none", IMAGE, "/bin/sh", "-c",
                                    "exit 42")
        podman.close()
    except (AssertionError, OSError, subprocess.TimeoutExpired) as fault:
        return f"podman makes no image: {fault}"
    return "" if status == 42 else f"podman runs no container here: {err.strip()}"


def skip_unless_possible():
    """Ends the program where no container can run, as a test that was skipped."""
    root = private_directory()
    why = why_not(root / "pm")
    shutil.rmtree(root, ignore_errors=True)
    if why:
        print(f"skipped: {why}", file=sys.stderr)
        sys.exit(77)


def fields(line):
    """NAME=VALUE words as numbers."""
    return {name: int(value) for name, value in (word.split("=") for word in line.split())}


def ended(pid):
    """Whether no process has that number, zombies not counted."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True
