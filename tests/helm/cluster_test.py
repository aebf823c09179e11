#!/usr/bin/env python3
"""What the chart does in a cluster: cluster_test.py --helm H --chart C --cluster DIR [--before C0]
[--images DIR] [--json FILE] [--only TEXT] [--but TEXT]

DIR is where `cluster up` put its kubeconfig and kubectl. Without a kubelet (and --images) the
release's pods do not run: objects are looked at, and what API servers make of them. One record per
check, as `cluster check` writes them."""
import argparse
import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import traceback

import yaml

SPACE, RELEASE, NODE = "divvy-system", "divvy", "kubelet-1"
AGENT_USER = 65532
BOUND = 120  # seconds, for what a cluster does at once
SHARE = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1024"}


class Skip(Exception):
    pass


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


def installed(world, *words, chart=None):
    world.helm("install", RELEASE, chart or world.told.chart, "--create-namespace", *words)


def uninstalled(world):
    world.helm("uninstall", RELEASE, "--wait", "--timeout", f"{BOUND}s")
    gone(world)


# ---- checks -------------------------------------------------------------------------------------

def accepted(world):
    """chart: API servers accept what is rendered, and know all of its fields"""
    world.kubectl("create", "namespace", SPACE, good=False)
    # Pods that name one are refused where it is not.
    world.kubectl("apply", "-f", "-", text=json.dumps({
        "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"},
        "handler": "nvidia"}))
    for words in ([], ["--set", "webhook.secretName=mine,queues.keep=true"],
                  ["--set", "agent.runtimeClassName=nvidia,scheduler.compat=hami"],
                  ["--set", "scheduler.hostNetwork=true,agent.hostNetwork=true,apiServer.host=1.2.3.4,apiServer.port=6443"],
                  ["--set-string", "scheduler.deviceConfig=nvidia: {}", "--set", "monitoring.enabled=false"]):
        text = world.template(*words)
        documents = [d for d in yaml.safe_load_all(text) if d]
        done = world.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", text=text)
        count = len(done.stdout.strip().splitlines())
        assert count == len(documents), f"{count} of {len(documents)}: {done.stderr}"
        assert not [l for l in done.stderr.splitlines() if "unknown field" in l], done.stderr


def restricted(world):
    """facts 4.3: the scheduler's pod is one of a `restricted` namespace; the agent's is not"""
    world.kubectl("create", "namespace", "restricted", good=False)
    world.kubectl("label", "namespace", "restricted", "--overwrite",
                  "pod-security.kubernetes.io/enforce=restricted")
    documents = [d for d in yaml.safe_load_all(world.template()) if d]
    for kind, name, fits in (("Deployment", "divvy-scheduler", True),
                             ("DaemonSet", "divvy-agent", False)):
        found = next(d for d in documents if d["kind"] == kind and d["metadata"]["name"] == name)
        spec = found["spec"]["template"]["spec"]
        spec.pop("serviceAccountName"), spec.pop("priorityClassName")
        text = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
        done = world.kubectl("create", "-n", "restricted", "--dry-run=server", "-f", "-", text=text, good=False)
        assert (done.returncode == 0) == fits, done.stderr
        assert fits or "violates PodSecurity" in done.stderr, done.stderr
    world.kubectl("delete", "namespace", "restricted", "--wait=false")


def closed(world):
    """installed, and nobody answers the webhook: pods with devices are refused, others are made"""
    installed(world, "--set", "scheduler.replicas=1")

    def refused():
        done = world.kubectl("create", "-n", "default", "--dry-run=server", "-f", "-",
                             text=pod("asks", SHARE), good=False)
        assert done.returncode != 0 and "pods.divvy.dev" in done.stderr, done.stderr
    world.until("pods with devices are refused", refused)
    world.kubectl("create", "-n", "default", "--dry-run=server", "-f", "-",
                  text=pod("asks-not", {"cpu": "1"}))
    second = world.helm("install", "another", world.told.chart, good=False)
    assert second.returncode != 0 and "ownership" in second.stderr, second.stderr
    uninstalled(world)


def there_and_back(world):
    """upgrade from the previous commit's chart, rollback, uninstall with nothing left"""
    if not world.told.before:
        raise Skip("there is no chart of an earlier commit")
    world.helm("install", RELEASE, world.told.before, "--create-namespace")
    webhook = world.get("mutatingwebhookconfiguration", "divvy-scheduler")
    # As Divvy does: what it writes is not taken away by an upgrade.
    patch = [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": authority(world)}]
    world.kubectl("patch", "mutatingwebhookconfiguration", "divvy-scheduler", "--type=json",
                  "-p", json.dumps(patch))
    lease = world.get("lease", "divvy-scheduler", "-n", SPACE)["metadata"]["uid"]
    world.helm("upgrade", RELEASE, world.told.chart, "--set", "agent.perDevice=7,scheduler.fencing=false")
    args = world.get("daemonset", "divvy-agent", "-n", SPACE)
    assert "--per-device=7" in json.dumps(args), args
    assert "divvy-scheduler-fencing" not in world.kubectl("get", "validatingadmissionpolicies").stdout
    world.helm("rollback", RELEASE, "1")
    args = world.get("daemonset", "divvy-agent", "-n", SPACE)
    assert "--per-device=7" not in json.dumps(args), "the rollback was none"
    after = world.get("mutatingwebhookconfiguration", "divvy-scheduler")
    assert after["metadata"]["uid"] == webhook["metadata"]["uid"]
    assert after["webhooks"][0]["clientConfig"].get("caBundle"), "whom to trust was forgotten"
    assert world.get("lease", "divvy-scheduler", "-n", SPACE)["metadata"]["uid"] == lease
    uninstalled(world)


def authority(world):
    text = yaml.safe_load(pathlib.Path(world.kubeconfig).read_text())
    one = text["clusters"][0]["cluster"]
    if "certificate-authority-data" in one:
        return one["certificate-authority-data"]
    import base64
    return base64.b64encode(pathlib.Path(one["certificate-authority"]).read_bytes()).decode()


def runs_beside_a_pod(world):
    """the images of the recipes, under the chart's own security contexts: helm test passes; upgrades, those
    from an agent and its helper to one of root's and back among them, and an uninstall disturb no pod with a share"""
    if not world.told.images:
        raise Skip("no node with a kubelet here")
    with folders() as words:
        run_beside_a_pod(world, [*world.here(), *words])


def runs_from_before(world):
    """a release of an earlier commit's chart and image is upgraded to these, rolled back and upgraded again, and
    a pod with a share works on"""
    if not world.told.images:
        raise Skip("no node with a kubelet here")
    if not world.told.before or not pathlib.Path(world.told.images, "divvy-before.tar").exists():
        raise Skip("there is no image of an earlier commit")
    with folders() as words:
        upgrade_beside_a_pod(world, [*world.here(), *words])


@contextlib.contextmanager
def folders():
    """Not the node's usual ones: an uninstalled release leaves them, as it must."""
    with tempfile.TemporaryDirectory(prefix="divvy-chart-", ignore_cleanup_errors=True) as folder:
        yield ["--set", f"agent.runtimeDir={folder}/run,agent.installDir={folder}/lib,agent.cdiDir={folder}/cdi"]


def run_beside_a_pod(world, words):
    installed(world, *words)
    status(world)
    rights(AGENT_USER)
    tested(world)
    stays, before = staying(world)
    agent = world.get("pods", "-n", SPACE, "-l", "app.kubernetes.io/component=agent")["items"][0]
    world.helm("upgrade", RELEASE, world.told.chart, *words, "--set", "agent.perDevice=12")

    def anew():
        found = world.get("pods", "-n", SPACE, "-l", "app.kubernetes.io/component=agent")["items"]
        assert len(found) == 1 and found[0]["metadata"]["uid"] != agent["metadata"]["uid"]
    world.until("the agent is another", anew)
    status(world, "12")
    tested(world)
    for enabled, user in (("false", 0), ("true", AGENT_USER)):
        world.helm("upgrade", RELEASE, world.told.chart, *words, "--set", f"agent.helper.enabled={enabled}")
        world.until(f"the agent is user {user}", lambda user=user: rights(user))
        status(world, pods=3 if user else 2)
        tested(world)
    assert stays() == before, "it was started again"
    uninstalled(world)
    assert stays() == before, "it ended with the release"
    world.kubectl("delete", "pod", "staying", "-n", "default", "--now")


def upgrade_beside_a_pod(world, words):
    installed(world, *words, "--set", "image.tag=before", chart=world.told.before)
    status(world)
    stays, before = staying(world)
    for step in (("upgrade", RELEASE, world.told.chart, *words), ("rollback", RELEASE, "1"),
                 ("upgrade", RELEASE, world.told.chart, *words)):
        world.helm(*step)
        tag = "before" if step[0] == "rollback" else "0.1.0"

        def anew(tag=tag):
            pods = world.get("pods", "-n", SPACE)["items"]
            images = {c["image"] for p in pods for c in p["spec"]["containers"] if c["image"].startswith("divvy:")}
            assert images == {f"divvy:{tag}"}, images
        world.until(f"all pods of Divvy's are of the image {tag}", anew)
        status(world)
        tested(world)
        assert stays() == before, f"it was started again by {step[0]}"
    uninstalled(world)
    assert stays() == before, "it ended with the release"
    world.kubectl("delete", "pod", "staying", "-n", "default", "--now")


def staying(world):
    """A pod with a share that works until it is ended; and what tells that it is still the same."""
    made = json.loads(pod("staying", SHARE, "divvy:0.1.0"))
    made["spec"].update(hostNetwork=True)
    made["spec"]["containers"][0].update(command=["/opt/divvy/bin/share-probe", "stay"], imagePullPolicy="Never")
    world.kubectl("create", "-n", "default", "-f", "-", text=json.dumps(made))

    def stays():
        found = world.get("pod", "staying", "-n", "default")
        counts = found["status"].get("containerStatuses", [{}])[0]
        assert found["status"]["phase"] == "Running" and counts.get("restartCount") == 0, found["status"]
        return found["metadata"]["uid"], counts["containerID"]
    return stays, world.until("a pod with a share runs", stays)


def processes(word):
    """of this machine's `divvy WORD`: what the kernel says of each"""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if len(words) > 1 and words[0].endswith(b"divvy") and words[1] == word.encode():
                lines = (folder / "status").read_text().splitlines()
                found.append(dict(line.split(":\t", 1) for line in lines if ":\t" in line))
    return found


def rights(user):
    """the agent is that user's; it sees the node's processes only where it has no helper for that"""
    agents = processes("agent")
    assert len(agents) == 1, [one["Pid"] for one in agents]
    agent = agents[0]
    assert agent["Uid"].split() == [str(user)] * 4, agent["Uid"]
    # Its numbers, from ours inwards.
    assert (len(agent["NSpid"].split()) == 1) == (user == 0), agent["NSpid"]
    helpers = processes("agent-helper")
    assert len(helpers) == (1 if user else 0), [one["Pid"] for one in helpers]
    for one in [agent, *helpers]:
        assert int(one["CapEff"], 16) == 0 and one["NoNewPrivs"] == "1" and one["Seccomp"] == "2", one
    for one in helpers:
        assert one["Uid"].split() == ["0"] * 4 and len(one["NSpid"].split()) == 1, one
        # The runtime's own, and that it took from itself.
        assert int(one["Seccomp_filters"]) >= 2, one


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


CHECKS = [accepted, restricted, closed, there_and_back, runs_beside_a_pod, runs_from_before]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("helm", "chart", "cluster"):
        parser.add_argument("--" + name, required=True)
    for name in ("before", "images", "json", "only", "but"):
        parser.add_argument("--" + name, default="")
    told = parser.parse_args()
    records, failed = [], 0
    for check in CHECKS:
        name = "chart-" + check.__name__.replace("_", "-")
        if told.only not in name or (told.but and told.but in name):
            continue
        world, began = World(told), time.monotonic()
        record = {"name": name, "requirement": " ".join(check.__doc__.split())}
        try:
            check(world)
            record["result"] = "pass"
        except Skip as why:
            record.update(result="skip", reason=str(why))
        except Exception as fault:  # whatever it is, it is the check's
            record.update(result="fail", reason=str(fault) or traceback.format_exc())
            failed += 1
            world.helm("uninstall", RELEASE, good=False)
        record["seconds"] = round(time.monotonic() - began, 2)
        print(f"{record['result']:5} {record['seconds']:7.1f} s  {name}  {record.get('reason', '')}",
              file=sys.stderr, flush=True)
        records.append(record)
    if told.json:
        pathlib.Path(told.json).write_text(json.dumps(records, indent=1) + "\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
