#!/usr/bin/env python3
"""Pictures of the console for the pages: screens.py local|cluster [--build DIR] [--cluster DIR]

local: starts four simulated GPUs with tenants of the demo, and the console; takes pictures of its pages in Chromium
after two minutes, so that charts have points. Needs ./dev build.
cluster: starts a cluster of 50 simulated nodes with pods that wait, and the console of it; takes its pictures, and ends
the cluster. Needs ./dev build release divvy fake_nodes, and ./dev cluster up, then down, once for its program.
Both write docs/guides/console-*.png, and need ./dev web browser (once, for Chromium and its driver)."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import cluster_pods

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROFILE = "h100x4"
SECONDS = 130
GIB = 1 << 30
# name, memory, cores, priority, program and its words
CAST = (
    ("llm-serving", 48, 60, "high", ("serve", "500", "10", "40")),
    ("training", 24, 40, "low", ("train", "4000")),
    ("embeddings", 16, 30, "normal", ("train", "2000")),
    ("notebook-ana", 40, 20, "normal", None),
    ("notebook-ben", 12, 10, "normal", None),
    ("evaluation", 60, 50, "normal", ("train", "8000")),
)


def tenant(divvy, build, environment, member):
    name, gib, cores, priority, words = member
    program = [build / "demo" / "timed", *words] if words else [build / "demo" / "hold", str(gib * GIB // 3)]
    process = subprocess.Popen(
        [divvy, "run", "--sim", PROFILE, "--name", name, "--memory", f"{gib}Gi", "--cores", str(cores), "--priority",
         priority, "--", *program], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    if words:
        begin = time.monotonic_ns()
        process.stdin.write(f"{begin} {begin + (SECONDS + 120) * 10**9}\n")
        process.stdin.flush()
    return process


def link_of(console):
    for text in console.stdout:
        if "#token=" in text:
            return text.strip()
    raise SystemExit("the console has ended")


def shoot(link, scene):
    subprocess.run(["node", ROOT / "tools/record/screens.mjs", link, ROOT / "docs/guides", scene], check=True)


def local(build, _):
    divvy = build / "bin" / "divvy"
    folder = tempfile.mkdtemp(prefix="divvy-screens-")
    environment = dict(os.environ, DIVVY_RUNTIME_DIR=folder + "/rt")
    started = []
    try:
        console = subprocess.Popen([divvy, "console", "--local", "--sim", PROFILE, "--listen", "127.0.0.1:0",
                                    "--history", "memory"], env=environment, stdout=subprocess.PIPE, text=True)
        started.append(console)
        link = link_of(console)
        started += [tenant(divvy, build, environment, member) for member in CAST]
        time.sleep(SECONDS)
        shoot(link, "local")
    finally:
        for process in started:
            process.terminate()
        subprocess.run([divvy, "stop", "--force"], env=environment, check=False)
        shutil.rmtree(folder, ignore_errors=True)


def cluster(build, folder):
    program = folder / "bin" / "cluster"
    divvy = build / "bin" / "divvy"
    nodes = json.dumps(cluster_pods.nodes(build / "tests" / "fake_nodes"))
    started = []
    try:
        subprocess.run([program, "up", "--dir", folder, "--nodes-from", "-", "--install", divvy], input=nodes,
                       text=True, check=True, cwd=ROOT)
        config = folder / "kubeconfig"
        console = subprocess.Popen([divvy, "console", "--cluster", "--kubeconfig", config, "--listen", "127.0.0.1:0",
                                    "--history", "memory"], stdout=subprocess.PIPE, text=True)
        started.append(console)
        link = link_of(console)
        api = cluster_pods.Cluster(folder / "bin" / "kubectl", config)
        try:
            cluster_pods.fill(api)
        finally:
            api.close()
        time.sleep(SECONDS)
        shoot(link, "cluster")
    finally:
        for process in started:
            process.terminate()
        subprocess.run([program, "down", "--dir", folder], cwd=ROOT, check=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scene", choices=("local", "cluster"))
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--cluster", type=pathlib.Path, default=ROOT / "build/cluster")
    words = parser.parse_args()
    scene = {"local": local, "cluster": cluster}[words.scene]
    scene(words.build.resolve(), words.cluster.resolve())


main()
