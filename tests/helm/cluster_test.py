#!/usr/bin/env python3
"""What the chart does in a cluster: cluster_test.py --helm H --chart C --cluster DIR [--before C0]
[--images DIR] [--operator DIR] [--json FILE] [--only TEXT] [--but TEXT]

DIR is where `cluster up` put its kubeconfig and kubectl. Without a kubelet (and --images) the
release's pods do not run: objects are looked at, and what API servers make of them. `--operator`: the
kinds of Prometheus' operator. One record per check, as `cluster check` writes them."""
import argparse
import base64
import json
import pathlib
import sys
import time
import traceback

import yaml

from console_checks import console_may_only_read, runs_a_console
from monitor_checks import monitored
from probe_checks import runs_with_probed_agents
from replica_checks import runs_in_two_replicas
from running_checks import runs_beside_a_pod, runs_from_before
from world import RELEASE, SHARE, SPACE, Skip, World, installed, pod, uninstalled


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
                  ["--set", "networkPolicy.controlPlane={10.0.0.0/24,fd00::/64},networkPolicy.nodes={10.1.0.0/16},"
                   "networkPolicy.egress={10.0.0.0/8},networkPolicy.metricsNamespaceLabels.team=sre"],
                  ["--set", "console.ingress.enabled=true,console.ingress.host=gpu.example,console.ingress.className=a,"
                   "console.ingress.tls.secretName=b,console.tls.secretName=c,console.history.persistent=true,"
                   "console.service.type=NodePort,console.service.nodePort=30940,console.viewerRole.aggregateTo={view},"
                   "networkPolicy.consolePeers[0].namespaceSelector.matchLabels.team=sre"],
                  ["--set", "hub.enabled=true,hubAccess.enabled=true"],
                  ["--set-string", "scheduler.deviceConfig=nvidia: {}", "--set", "monitoring.enabled=false"]):
        text = world.template(*words)
        documents = [d for d in yaml.safe_load_all(text) if d]
        done = world.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", text=text)
        count = len(done.stdout.strip().splitlines())
        assert count == len(documents), f"{count} of {len(documents)}: {done.stderr}"
        assert not [l for l in done.stderr.splitlines() if "unknown field" in l], done.stderr


def restricted(world):
    """facts 4.3: the pods of scheduler, console and hub are such as a `restricted` namespace has; the agent's is not"""
    world.kubectl("create", "namespace", "restricted", good=False)
    world.kubectl("label", "namespace", "restricted", "--overwrite",
                  "pod-security.kubernetes.io/enforce=restricted")
    documents = [d for d in yaml.safe_load_all(world.template("--set", "hub.enabled=true")) if d]
    for kind, name, fits in (("Deployment", "divvy-scheduler", True), ("Deployment", "divvy-console", True),
                             ("Deployment", "divvy-hub", True), ("DaemonSet", "divvy-agent", False)):
        found = next(d for d in documents if d["kind"] == kind and d["metadata"]["name"] == name)
        spec = found["spec"]["template"]["spec"]
        spec.pop("serviceAccountName"), spec.pop("priorityClassName", None)
        text = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})

        def judged(text=text, fits=fits):
            done = world.kubectl("create", "-n", "restricted", "--dry-run=server", "-f", "-", text=text, good=False)
            assert (done.returncode == 0) == fits, done.stderr
            assert fits or "violates PodSecurity" in done.stderr, done.stderr
        # API servers hear of a namespace's label a moment later.
        world.until(f"{name} is judged", judged)
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
    return base64.b64encode(pathlib.Path(one["certificate-authority"]).read_bytes()).decode()


CHECKS = [accepted, restricted, monitored, closed, there_and_back, console_may_only_read, runs_beside_a_pod,
          runs_from_before, runs_with_probed_agents, runs_in_two_replicas, runs_a_console]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("helm", "chart", "cluster"):
        parser.add_argument("--" + name, required=True)
    for name in ("before", "images", "operator", "json", "only", "but"):
        parser.add_argument("--" + name, default="")
    told = parser.parse_args()
    records, failed = [], 0
    for check in CHECKS:
        name = "chart-" + check.__name__.replace("_", "-")
        if told.only not in name or (told.but and told.but in name):
            continue
        world, began = World(told), time.monotonic()
        record = {"name": name, "package": "chart", "requirement": " ".join(check.__doc__.split())}
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
