"""The cluster that checks of the chart are in, and a release there."""
import contextlib
import json
import pathlib
import subprocess
import tempfile
import time

import yaml

SPACE, RELEASE, NODE = "divvy-system", "divvy", "kubelet-1"
BOUND = 120  # seconds, for what a cluster does at once
SHARE = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1024"}


class Skip(Exception):
    """A check that cannot be done here, and why."""


class World:
    def __init__(self, told):
        self.told = told
        self.kubeconfig = str(pathlib.Path(told.cluster, "kubeconfig").resolve())

    def run(self, program, *words, text=None, good=True):
        done = subprocess.run([program, "--kubeconfig", self.kubeconfig, *words], input=text,
                              capture_output=True, text=True)
        # Helm says of each link of the chart that it is one.
        done.stderr = "\n".join(l for l in done.stderr.splitlines() if not l.startswith("walk.go:"))
        if good and done.returncode != 0:
            raise AssertionError(f"{pathlib.Path(program).name} {' '.join(words)}: {done.stderr}")
        return done

    def kubectl(self, *words, **more):
        return self.run(str(pathlib.Path(self.told.cluster, "bin/kubectl")), *words, **more)

    def helm(self, *words, **more):
        done = self.run(self.told.helm, *words, "-n", SPACE, **more)
        return done

    def get(self, *words):
        return json.loads(self.kubectl("get", *words, "-o", "json").stdout)

    def until(self, what, good):
        end = time.monotonic() + BOUND
        while True:
            try:
                return good()
            except AssertionError as fault:
                if time.monotonic() > end:
                    raise AssertionError(f"{what}: not within {BOUND} s: {fault}") from fault
            time.sleep(0.2)

    def template(self, *words):
        return self.helm("template", RELEASE, self.told.chart, "--validate", *words).stdout

    def has_images(self):
        if not self.told.images:
            raise Skip("no node with a kubelet here")

    def without_console(self, chart=None):
        """Values that leave the console out: it runs on a network for pods. Charts of earlier commits have none."""
        values = yaml.safe_load(pathlib.Path(chart or self.told.chart, "values.yaml").read_text())
        return ["--set", "console.enabled=false"] if "console" in values else []

    def here(self):
        """Values for a cluster without a network: pods are on the host's."""
        server = yaml.safe_load(pathlib.Path(self.kubeconfig).read_text())
        port = server["clusters"][0]["cluster"]["server"].rsplit(":", 1)[1]
        return ["--set", "scheduler.replicas=1,scheduler.hostNetwork=true,agent.hostNetwork=true,agent.helper.hostNetwork=true",
                "--set", f"apiServer.host=127.0.0.1,apiServer.port={port}",
                "--set", "scheduler.ports.kubeScheduler=21259,image.pullPolicy=Never",
                "--set", "webhook.url=https://127.0.0.1:9443/webhook,agent.node=sim-h100"]


def left(world):
    """Everything in the cluster that names the release."""
    kinds = world.kubectl("api-resources", "--verbs=list", "-o", "name").stdout.split()
    kinds = [k for k in kinds if k not in ("events", "events.events.k8s.io")]
    label = f"app.kubernetes.io/instance={RELEASE}"
    found = world.kubectl("get", ",".join(kinds), "-A", "-l", label, "-o", "name", "--ignore-not-found")
    return found.stdout.split()


def named_ours(world):
    """And what is called like ours, whoever made it."""
    kinds = ("mutatingwebhookconfigurations,validatingadmissionpolicies,"
             "validatingadmissionpolicybindings,customresourcedefinitions,clusterroles,"
             "clusterrolebindings")
    names = world.kubectl("get", kinds, "-o", "name").stdout.split()
    inside = world.kubectl("get", "secrets,configmaps,leases,services,roles,rolebindings,"
                           "deployments,daemonsets,serviceaccounts,pods", "-n", SPACE, "-o", "name")
    return [n for n in names + inside.stdout.split() if "divvy" in n]


def gone(world):
    def check():
        over = left(world) + named_ours(world)
        assert not over, f"there is still {', '.join(over)}"
    world.until("nothing is left", check)


def pod(name, limits, image="none"):
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
                       "spec": {"containers": [{"name": "c", "image": image,
                                                "resources": {"limits": limits}}]}})


def pods_of(world, part):
    """Of the release; those that end are not among them."""
    found = world.get("pods", "-n", SPACE, "-l", "app.kubernetes.io/component=" + part)["items"]
    return [one for one in found if "deletionTimestamp" not in one["metadata"]]


def ready(one):
    return any(c["type"] == "Ready" and c["status"] == "True" for c in one["status"].get("conditions", []))


def installed(world, *words, chart=None):
    world.helm("install", RELEASE, chart or world.told.chart, "--create-namespace", *words)


@contextlib.contextmanager
def uninstalled_at_last(world):
    """For what the release needs as long as it is there."""
    try:
        yield
    except BaseException:
        world.helm("uninstall", RELEASE, "--wait", "--timeout", f"{BOUND}s", good=False)
        raise
    uninstalled(world)


def uninstalled(world):
    world.helm("uninstall", RELEASE, "--wait", "--timeout", f"{BOUND}s")
    gone(world)


@contextlib.contextmanager
def folders():
    """A folder, and values by which what a node has of Divvy is there: an uninstalled release leaves it, as it must."""
    with tempfile.TemporaryDirectory(prefix="divvy-chart-", ignore_cleanup_errors=True) as folder:
        yield folder, ["--set", f"agent.runtimeDir={folder}/run,agent.installDir={folder}/lib,agent.cdiDir={folder}/cdi"]


def tested(world):
    """Helm looks for its pod's log in the release's namespace, and the pod is not there."""
    done = world.helm("test", RELEASE, "--timeout", f"{BOUND}s", good=False)
    if done.returncode != 0:
        found = world.get("pod", "divvy-test-share", "-n", "default")
        over = [c["state"] for c in found["status"].get("containerStatuses", [])]
        raise AssertionError(f"helm test: {done.stderr}; its container: {over}")


def unmade(world):
    """why the release's pods are not made, as those say it that make them"""
    return [f"{c.get('reason')}: {c.get('message')}"
            for kind in ("replicasets", "daemonsets") for one in world.get(kind, "-n", SPACE)["items"]
            for c in one["status"].get("conditions", []) if c["status"] == "True"]


def status(world, per_device="10", pods=3):
    def ready():
        node = world.get("node", NODE)
        count = node["status"]["allocatable"].get("nvidia.com/gpu")
        states = {p["metadata"]["name"]: [(c["name"], c.get("ready"), c["state"], c.get("lastState"))
                                          for c in p["status"].get("containerStatuses", [])]
                  for p in world.get("pods", "-n", SPACE)["items"]}
        assert count == per_device, f"{NODE} has {count} nvidia.com/gpu; {states}"
        assert all(c[1] for s in states.values() for c in s) and len(states) == pods, (states, unmade(world))
        done = world.kubectl("create", "-n", "default", "--dry-run=server", "-f", "-", "-o", "json",
                             text=pod("asks", SHARE), good=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["spec"]["schedulerName"] == "divvy-scheduler"
    world.until("all run, and pods with devices are given to Divvy", ready)
