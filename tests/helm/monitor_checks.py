"""What is made for Prometheus' operator, before an API server that has its kinds."""
import copy
import json
import pathlib

import yaml

from world import SPACE, Skip, installed, uninstalled

KINDS = {"ServiceMonitor", "PodMonitor", "PrometheusRule"}


def monitored(world):
    """where Prometheus' operator has its kinds monitors and rules are made, and API servers accept all of their fields;
    where they are not none are made; a wrong name, a wrong kind of value and a wrong duration are refused"""
    if not world.told.operator:
        raise Skip("the kinds of Prometheus' operator could not be had")
    world.kubectl("create", "namespace", SPACE, good=False)
    assert not monitors(world), "they are made where nobody knows their kinds"
    files = sorted(pathlib.Path(world.told.operator).glob("*.yaml"))
    assert len(files) == len(KINDS), files
    kinds = [word for file in files for word in ("-f", str(file))]
    world.kubectl("create", *kinds)
    try:
        world.kubectl("wait", "--for=condition=Established", "--timeout=60s", *kinds)

        def known():
            found = monitors(world, "--set", "monitoring.labels.release=mine")
            assert {one["kind"] for one in found} == KINDS, [one["kind"] for one in found]
            return found
        # Who asks which kinds there are is told a moment after they can be made.
        found = world.until("they are made", known)
        for one in found:
            assert one["metadata"]["labels"]["release"] == "mine", one["metadata"]
            assert not fault_of(world, one), fault_of(world, one)
        wrong_ones(world, {one["kind"]: one for one in found})
        installed(world, "--set", "scheduler.replicas=1")
        made = world.get("servicemonitors,podmonitors,prometheusrules", "-n", SPACE)["items"]
        assert {one["kind"] for one in made} == KINDS and len(made) == len(found), [one["kind"] for one in made]
        uninstalled(world)
    finally:
        world.kubectl("delete", *kinds)


def monitors(world, *words):
    documents = [one for one in yaml.safe_load_all(world.template(*words)) if one]
    return [one for one in documents if one["apiVersion"].startswith("monitoring.coreos.com/")]


def fault_of(world, one):
    done = world.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", text=json.dumps(one), good=False)
    return done.stderr if done.returncode != 0 else ""


def wrong_ones(world, by_kind):
    """controls"""
    for kind, path, name, value in (("ServiceMonitor", ("endpoints", 0), "intervall", "30s"),
                                    ("ServiceMonitor", ("endpoints", 0), "interval", "30 seconds"),
                                    ("PodMonitor", ("podMetricsEndpoints", 0), "honorLabels", "yes"),
                                    ("PodMonitor", ("podMetricsEndpoints", 0, "relabelings", 0), "sourceLabel", "x"),
                                    ("PrometheusRule", ("groups", 0, "rules", 0), "for", "a while"),
                                    ("PrometheusRule", ("groups", 0, "rules", 0), "summary", "x")):
        one = copy.deepcopy(by_kind[kind])
        at = one["spec"]
        for step in path:
            at = at[step]
        at[name] = value
        said = fault_of(world, one)
        assert name in said, f"{kind} with {name}: {value} is not refused for it: {said!r}"
