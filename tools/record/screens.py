#!/usr/bin/env python3
"""Takes the pictures of the console that screens.json lists: screens.py [--check] [SCENE...]

local: the demo's programs as tenants of four simulated GPUs. cluster: a control plane of Kubernetes with 50 simulated
nodes. `./dev web pictures` builds what this needs, and runs it. The pictures go to docs/guides, or nowhere if one of
them has a fault, or with --check. Everything that is started ends with this program.
"""
import argparse
import contextlib
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "demo"), str(pathlib.Path(__file__).resolve().parent)]

import cluster_agents  # noqa: E402
import cluster_pods  # noqa: E402
import past  # noqa: E402
from stage import ENDING, Console, Stage  # noqa: E402

PROFILE = "h100x4"
SLOWER = 5  # the simulated GPUs' time, as in the demo: so a busy machine does not show in the figures
GIB = 1 << 30
RECORDED = 45  # seconds of a console whose history is then continued into the past
PRICES = """currency: EUR
prices:
- {model: H100, perHour: 2.90}
- {model: L4, perHour: 0.70}
"""
# name: its share, GiB that it holds, its work
CAST = {
    "llm-serving": ("--memory 48Gi --cores 60 --priority high", 41, f"serve 500 10 {100 / SLOWER:g}"),
    "training": ("--memory 24Gi --cores 40 --priority low", 21, "train 4000"),
    "embeddings": ("--memory 16Gi --cores 30", 9, f"serve 200 10 {100 / SLOWER:g}"),
    "notebook-ana": ("--memory 40Gi --cores 20", 13, f"serve 200 10 {30 / SLOWER:g}"),
    "notebook-ben": ("--memory 12Gi --cores 10", 4, None),
    "evaluation": ("--memory 60Gi --cores 50", 52, f"serve 500 10 {110 / SLOWER:g}"),
    "notebook-chen": ("--memory 16Gi --cores 10", 3, None),
}
LASTS = 900  # seconds that the work of a tenant is asked to last
PROGRAM = """#!/bin/sh
tail -f /dev/null --pid=$$ | {demo}/hold {held} >/dev/null &
{work}
"""


class Silent:
    status = staticmethod(lambda text: None)
    event = staticmethod(lambda text: print(text, file=sys.stderr))


def say(text):
    print(f"pictures: {text}", flush=True)


class Scene:
    """A console, its history, and the pictures of its pages."""

    def __init__(self, name, stack, words, environment=None):
        self.name, self.words, self.environment = name, words, environment
        self.folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="divvy-pictures-")))
        (self.folder / "prices.yaml").write_text(PRICES)
        self.history = self.folder / "history.sqlite"
        self.console = self.began = None
        stack.callback(self.stop)

    def start(self):
        self.console = Console([*self.words, "--listen", "127.0.0.1:0", "--history", self.history,
                                "--prices", self.folder / "prices.yaml"], self.environment)
        end = time.monotonic() + 60
        while not self.console.newest():
            if self.console.ended() or time.monotonic() > end:
                raise SystemExit(f"pictures: no console of {self.name}: {self.console.error_text()}")
            time.sleep(0.1)
        self.began = time.monotonic()

    def stop(self):
        if self.console:
            self.console.popen.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.console.popen.wait(20)  # it writes its history
            self.console.end()
            self.console = None

    def shoot(self, folder):
        """Ends the console, gives it a past, starts it again, and takes its pictures. Returns whether all are good."""
        time.sleep(max(0.0, self.began + RECORDED - time.monotonic()))
        self.stop()
        past.write(self.history)
        self.start()
        return subprocess.run(["node", ROOT / "tools/record/screens.mjs", self.console.newest(), folder, self.name],
                              check=False, timeout=240).returncode == 0


def local(stack, build, _):
    stage = stack.enter_context(Stage(build, PROFILE, Silent())).slowed(SLOWER)
    scene = Scene("local", stack, [stage.divvy, "console", "--local", *stage.sim], stage.environment)
    now = time.monotonic_ns()
    for name, (share, held, work) in CAST.items():
        program = stage.private / name
        run = f"echo {now} {now + LASTS * 10**9} | {stage.build}/demo/timed {work} >/dev/null" if work else "wait"
        program.write_text(PROGRAM.format(demo=stage.build / "demo", held=held * GIB, work=run))
        program.chmod(0o755)
        stage.start(stage.divvy, "run", *stage.sim, "--name", name, *share.split(), "--", program)
        stage.wait(lambda name=name: any(row["name"] == name for row in stage.rows("ls")), f"{name} starts")
    scene.start()
    return scene


def cluster(stack, build, program):
    folder = ROOT / "build/pictures/cluster"
    nodes = cluster_pods.nodes(build / "tests" / "fake_nodes")
    stack.callback(subprocess.run, [program, "down", "--dir", folder], cwd=ROOT, check=False)
    subprocess.run([program, "up", "--dir", folder, "--nodes-from", "-", "--install", build / "bin" / "divvy"],
                   input=json.dumps(nodes), text=True, check=True, cwd=ROOT)
    api = cluster_pods.Cluster(folder / "bin" / "kubectl", folder / "kubeconfig")
    stack.callback(api.close)
    proxy = cluster_agents.Proxy(api.base.removeprefix("http://"))
    stack.callback(proxy.close)
    cluster_pods.fill(api)
    say("the pods of the cluster are placed, or wait")
    proxy.text = cluster_agents.metrics_by_node(nodes["items"], api.pods())
    cluster_pods.add_agents(api, cluster_agents.agent_pods([one["metadata"]["name"] for one in nodes["items"]]))
    scene = Scene("cluster", stack, [])
    config = scene.folder / "kubeconfig"
    config.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "gpu-cluster",
        "clusters": [{"name": "gpu-cluster", "cluster": {"server": proxy.url}}],
        "users": [{"name": "viewer", "user": {}}],
        "contexts": [{"name": "gpu-cluster", "context": {"cluster": "gpu-cluster", "user": "viewer"}}]}))
    scene.words = [build / "bin" / "divvy", "console", "--cluster", "--kubeconfig", config]
    scene.start()
    return scene


def publish(folder, scenes):
    for picture in json.loads((ROOT / "tools/record/screens.json").read_text("utf-8")):
        if picture["scene"] in scenes:
            shutil.copy(folder / f"{picture['name']}.png", ROOT / "docs/guides")


def end(number, _):
    """Ends the program; a second signal does not stop it from ending what it started."""
    for each in ENDING:
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help="local or cluster [both]")
    parser.add_argument("--check", action="store_true", help="leave docs/guides unchanged")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--cluster", type=pathlib.Path, default=ROOT / "build/cluster/bin/cluster")
    options = parser.parse_args()
    known = {"local": local, "cluster": cluster}
    scenes = options.scenes or list(known)
    if unknown := set(scenes) - set(known):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; accepted are {', '.join(known)}")
    for number in ENDING:
        signal.signal(number, end)
    began = time.monotonic()
    folder = ROOT / "build/pictures"
    for old in folder.glob("*.png"):
        old.unlink()
    with contextlib.ExitStack() as stack:
        started = [known[name](stack, options.build.resolve(), options.cluster.resolve()) for name in scenes]
        good = [scene.shoot(folder) for scene in started]
    if not all(good):
        sys.exit("pictures: faults are named above; docs/guides is unchanged, build/pictures has what was taken")
    if not options.check:
        publish(folder, scenes)
    say(f"{'build/pictures' if options.check else 'docs/guides'} has them, after {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
