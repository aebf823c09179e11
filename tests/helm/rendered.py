"""The chart as tests of it have it: rendered by Helm, without a cluster. Each is called with
HELM CHART MANIFESTS DIVVY: programs, the chart's folder, that of the plain manifests."""
import pathlib
import subprocess
import sys

import yaml

HELM, CHART, MANIFESTS, DIVVY = sys.argv[1:5]
OPERATOR = ["--api-versions", "monitoring.coreos.com/v1"]


def helm(*words):
    return subprocess.run([HELM, *words], capture_output=True, text=True)


def render(*words, namespace="divvy-system"):
    done = helm("template", "divvy", CHART, "-n", namespace, "--kube-version", "v1.34.4", *words)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def refusal(*words):
    done = helm("template", "divvy", CHART, "--kube-version", "v1.34.4", *words)
    return done.stderr if done.returncode != 0 else ""


def key(one):
    return one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]


def one_of(documents, kind, name):
    return next(d for d in documents if d["kind"] == kind and d["metadata"]["name"] == name)


def pod_of(documents, kind, name):
    return one_of(documents, kind, name)["spec"]["template"]["spec"]


def of_deploy(*path):
    return pathlib.Path(CHART).parents[1].joinpath(*path).read_text("utf-8")


def page(name):
    return next((pathlib.Path(CHART).parents[2] / "docs").rglob(name)).read_text("utf-8")


def without_ours(one):
    """What is said of it beside the release's labels."""
    one = dict(one, metadata=dict(one["metadata"]))
    labels = {k: v for k, v in one["metadata"].pop("labels", {}).items()
              if not k.startswith(("app.kubernetes.io/", "helm.sh/"))}
    if labels:
        one["metadata"]["labels"] = labels
    return one


def plain():
    found = []
    for name in ("rbac", "agent-rbac", "agent-announce-rbac", "policies", "fencing", "queues", "webhook"):
        text = pathlib.Path(MANIFESTS, name + ".yaml").read_text()
        found += [d for d in yaml.safe_load_all(text) if d and d["kind"] != "Namespace"]
    return found
