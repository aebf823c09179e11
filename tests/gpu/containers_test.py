#!/usr/bin/env python3
"""A share as a device of the Container Device Interface, in a container of runc's whose image has no driver:
what the spec adds is all that it gets, and it is a small card there. Skipped without runc, or where none can
be made."""
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys

from card import GIB, CardTest, wait_until
from product import main

RUNC = os.environ.get("DIVVY_RUNC") or shutil.which("runc")
# Of the machine, read-only: what an image would have. Where its driver is, there is nothing.
IMAGE = ("/usr", "/lib", "/lib64", "/bin", "/opt")
DRIVERS = ("/usr/local/nvidia",)
TORCH = """
import os, torch
print(torch.cuda.device_count(), torch.cuda.mem_get_info()[1], flush=True)
x = torch.ones(1 << 20, device="cuda"); assert x.sum().item() == 1 << 20
try:
    torch.empty(5 << 30, dtype=torch.uint8, device="cuda"); print("granted")
except torch.cuda.OutOfMemoryError: print("out of memory", flush=True)
print(sorted(name for name in os.listdir("/dev") if name.startswith("nvidia")), flush=True)
if os.path.exists("/wait"):
    open("/wait/there", "w").close()
    import time
    while not os.path.exists("/wait/go"): time.sleep(0.02)
"""


def bind(source, options=("bind", "ro")):
    return {"destination": source, "source": source, "type": "bind", "options": ["r" + options[0], *options[1:]]}


def device(node):
    path = node.get("hostPath", node["path"])
    seen = os.stat(path)
    return {"path": node["path"], "type": "c" if stat.S_ISCHR(seen.st_mode) else "b",
            "major": os.major(seen.st_rdev), "minor": os.minor(seen.st_rdev), "fileMode": 0o666}


def config(edits, command, more=()):
    """What a runtime makes of a container that asks for the device."""
    mounts = [{"destination": "/proc", "type": "proc", "source": "proc"},
              {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
              {"destination": "/dev/shm", "type": "tmpfs", "source": "shm"},
              {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"}]
    mounts += [bind(path) for path in IMAGE if os.path.exists(path) and not os.path.islink(path)]
    mounts += [{"destination": path, "type": "tmpfs", "source": "tmpfs"} for path in DRIVERS if os.path.exists(path)]
    mounts += [{"destination": one["containerPath"], "source": one["hostPath"], "type": "bind",
                "options": ["rbind" if option == "bind" else option for option in one["options"]]}
               for one in edits.get("mounts", [])]
    mounts += more
    devices = [device(node) for node in edits.get("deviceNodes", [])]
    # As the library of CDI has it: a device that is made is one that may be used.
    allowed = [{"allow": True, "type": one["type"], "major": one["major"], "minor": one["minor"], "access": "rwm"}
               for one in devices]
    return {
        "ociVersion": "1.0.2", "root": {"path": "rootfs", "readonly": False}, "hostname": "share",
        "process": {"terminal": False, "user": {"uid": 0, "gid": 0}, "args": command, "cwd": "/",
                    "env": ["PATH=/opt/torch/.venv/bin:/usr/bin:/bin", "HOME=/tmp", *edits.get("env", [])],
                    "noNewPrivileges": True},
        "mounts": mounts,
        "linux": {"devices": devices, "resources": {"devices": [{"allow": False, "access": "rwm"}, *allowed]},
                  "namespaces": [{"type": kind} for kind in ("pid", "mount", "ipc", "uts", "network")]},
    }


class Containers(CardTest):
    def setUp(self):
        super().setUp()
        if RUNC is None:
            self.skipTest("there is no runc")
        self.count = 0

    def start(self, edits, command, more=()):
        self.count += 1
        bundle = self.product.root / f"bundle{self.count}"
        (bundle / "rootfs" / "etc").mkdir(parents=True)
        for path in IMAGE:
            if os.path.islink(path):
                (bundle / "rootfs" / path[1:]).symlink_to(os.readlink(path))
        (bundle / "config.json").write_text(json.dumps(config(edits, command, more)))
        return subprocess.Popen([RUNC, "--root", str(self.product.root / "runc"), "run", "--bundle", str(bundle),
                                 f"divvy-card-{os.getpid()}-{self.count}"], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_a_share_is_a_small_card_in_a_container(self):
        hello = self.start({}, ["/bin/echo", "hello"])
        out, err = hello.communicate(timeout=30)
        if hello.returncode != 0:
            self.skipTest(f"no container can be made here: {err.strip()}")
        folder = self.product.root / "cdi"
        folder.mkdir()
        status, out, err = self.product.divvy("share", "create", "web", "--memory", "4Gi", "--cdi-dir", folder)
        self.assertEqual(status, 0, out + err)
        edits = json.loads(next(folder.glob("*.json")).read_text())["devices"][0]["containerEdits"]
        here = self.product.root / "wait"
        here.mkdir()
        waits = {"destination": "/wait", "source": str(here), "type": "bind", "options": ["rbind"]}
        running = self.start(edits, [sys.executable, "-c", TORCH], [waits])
        wait_until(lambda: (here / "there").exists() or running.poll() is not None, "it has asked", 60)
        row = self.product.tenant_row("web")
        (here / "go").touch()
        out, err = running.communicate(timeout=60)
        print(out, err, row, file=sys.stderr)
        self.assertEqual(running.returncode, 0, out + err)
        self.assertEqual(out.splitlines()[:2], [f"1 {4 * GIB}", "out of memory"])
        self.assertEqual(json.loads(out.splitlines()[2].replace("'", '"')),
                         sorted(pathlib.Path(node["path"]).name for node in edits["deviceNodes"]))
        self.assertEqual((row["state"], row["processes"]), ("running", 1))
        self.assertGreater(row["shares"][0]["used"], 0)
        # The control: without the share's device there is no card at all.
        without = self.start({}, [sys.executable, "-c", TORCH])
        out, err = without.communicate(timeout=60)
        self.assertNotEqual(without.returncode, 0)
        self.assertTrue(out.startswith("0 ") or out == "", out)
        self.assertEqual(self.product.divvy("share", "rm", "web")[0], 0)


if __name__ == "__main__":
    main()
