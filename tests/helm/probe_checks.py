"""What a kubelet makes of what agents say of themselves: who is ready, who is ended, and where an upgrade stays."""
import json
import pathlib
import urllib.error
import urllib.request

from network import Network
from stand_in import NAME, StandIn
from world import NODE, RELEASE, SPACE, folders, installed, pods_of, ready, status, uninstalled_at_last

OFTEN = 3  # as often as the kubelet has asked, at least


def runs_with_probed_agents(world):
    """an agent that its kubelet does not know is not ready, by its probe: it is not ended, and an upgrade stays
    there and leaves the next node alone; it goes on when the kubelet knows the agent. Controls: an agent that
    is alive by /readyz is ended, and without probes the upgrade goes on"""
    world.has_images()
    with Network(world) as network, folders() as (folder, words):
        words = [*words, "--set", "agent.node=sim-h100,image.pullPolicy=Never,scheduler.replicas=1"]
        words += world.without_console()
        # Of another kubelet, which is not there.
        for name in ("device-plugins", "pod-resources"):
            pathlib.Path(folder, "kubelet", name).mkdir(parents=True)
        unknown = ["--set", f"agent.kubeletDir={folder}/kubelet"]
        with uninstalled_at_last(world):
            installed(world, *words)
            network.serves("divvy-scheduler")
            status(world)
            with StandIn(world) as stand_in:
                rolled_out(world, stand_in)
                world.helm("upgrade", RELEASE, world.told.chart, *words, *unknown)
                one_stays_unready(world, stand_in, folder)
                it_is_not_ended(world, stand_in)
                world.helm("upgrade", RELEASE, world.told.chart, *words)
                rolled_out(world, stand_in)
                answers(world, 200)
                world.helm("upgrade", RELEASE, world.told.chart, *words, *unknown, "--set", "agent.probes=never")
                rolled_out(world, stand_in)
                # Who is not asked whether it is ready is so before it answers anybody.
                answers(world, 503)


def agent_on(world, node):
    found = [one for one in pods_of(world, "agent") if one["spec"].get("nodeName") == node]
    assert len(found) == 1, [(one["metadata"]["name"], one["status"]["phase"]) for one in found]
    return found[0]


def asked(agent, path="/readyz"):
    try:
        with urllib.request.urlopen(f"http://{agent['status']['podIP']}:9394{path}", timeout=5) as said:
            return said.status
    except urllib.error.HTTPError as fault:
        return fault.code
    except (OSError, KeyError) as fault:
        raise AssertionError(f"{agent['metadata']['name']}: {fault}") from fault


def answers(world, ready, alive=200):
    """The agent on the kubelet's node, as soon as it answers."""
    def done():
        agent = agent_on(world, NODE)
        said = asked(agent), asked(agent, "/healthz")
        assert said == (ready, alive), said
    world.until(f"the agent says {ready} of whether it is ready", done)


def rolled_out(world, stand_in):
    """The agents of both nodes are of the last template, and ready."""
    def done():
        stand_in.attend()
        said = world.kubectl("rollout", "status", "daemonset/divvy-agent", "-n", SPACE, "--watch=false").stdout
        assert "successfully rolled out" in said, said
        assert ready(agent_on(world, NODE)) and ready(agent_on(world, NAME))
    world.until("the agents of both nodes are of the last template", done)


def refused(world, agent, probe):
    """How often the kubelet has said that it was answered 503."""
    events = world.get("events", "-n", SPACE, "--field-selector",
                       f"involvedObject.uid={agent['metadata']['uid']},reason=Unhealthy")["items"]
    return sum(one.get("count") or 1 for one in events
               if one["message"].startswith(f"{probe} probe failed: HTTP probe failed with statuscode: 503"))


def unready(world, stand_in, good):
    """The agent on the kubelet's node, which is GOOD, runs, and has been asked often enough whether it is ready."""
    def seen():
        stand_in.attend()
        agent = agent_on(world, NODE)
        assert good(agent), agent["spec"]["containers"][0]
        assert agent["status"]["phase"] == "Running" and not ready(agent), agent["status"]
        count = refused(world, agent, "Readiness")
        assert count >= OFTEN, f"asked {count} times: {agent['status']}"
        return agent
    return world.until("an agent is not ready, by its probe", seen)


def one_stays_unready(world, stand_in, folder):
    """Whichever of both nodes was the first, it is there now."""
    unready(world, stand_in, lambda one: f"--kubelet-dir={folder}/kubelet" in one["spec"]["containers"][0]["args"])
    answers(world, 503)


def it_is_not_ended(world, stand_in):
    """Asked each second whether it is alive: 3 times no would end it. The next node's agent stays what it was."""
    next_one = agent_on(world, NAME)["metadata"]["uid"]
    at = "/spec/template/spec/containers/0/livenessProbe/"

    def probed(**changes):
        patch = [{"op": "replace", "path": at + name.replace("_", "/"), "value": value} for name, value in changes.items()]
        world.kubectl("patch", "daemonset", "divvy-agent", "-n", SPACE, "--type=json", "-p", json.dumps(patch))
    probed(periodSeconds=1, failureThreshold=3)
    agent = unready(world, stand_in, lambda one: one["spec"]["containers"][0]["livenessProbe"]["periodSeconds"] == 1)
    assert agent["status"]["containerStatuses"][0]["restartCount"] == 0, agent["status"]
    assert agent_on(world, NAME)["metadata"]["uid"] == next_one, "the upgrade has gone on"
    said = world.kubectl("rollout", "status", "daemonset/divvy-agent", "-n", SPACE, "--watch=false").stdout
    assert "1 out of 2 new pods have been updated" in said, said
    probed(httpGet_path="/readyz")

    def ended():
        stand_in.attend()
        found = agent_on(world, NODE)
        assert refused(world, found, "Liveness") >= OFTEN, found["status"]
        assert found["status"]["containerStatuses"][0]["restartCount"] > 0, found["status"]
    world.until("control: who is alive by /readyz is ended", ended)
