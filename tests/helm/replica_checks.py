"""The scheduler's two replicas on a network for pods, as the chart has them if it is told nothing else."""
import json
import ssl
import urllib.error
import urllib.request

from network import PODS, Network
from world import RELEASE, SPACE, folders, installed, pods_of, ready, status, tested, uninstalled_at_last


def runs_in_two_replicas(world):
    """one of two replicas leads, both are ready by their probes; who is cut off from API servers is not, and is not
    ended; the disruption budget lets go one at a time, another leads and pods are placed; without a budget both go"""
    world.has_images()
    with Network(world) as network, folders() as (_, words):
        words = [*words, "--set", "agent.node=sim-h100,image.pullPolicy=Never", *world.without_console()]
        with uninstalled_at_last(world):
            installed(world, *words)
            network.serves("divvy-scheduler")
            status(world, pods=4)
            assert all(p["status"]["podIP"].startswith(PODS) for p in world.get("pods", "-n", SPACE)["items"])
            tested(world)
            one_is_cut_off(world, network)
            one_goes_at_a_time(world)
            both_go(world, words)


def replicas(world):
    """The one that leads and the one that does not, both ready; each says that of itself."""
    found = pods_of(world, "scheduler")
    assert len(found) == 2 and all(ready(one) for one in found), [one["status"] for one in found]
    holder = world.get("lease", "divvy-scheduler", "-n", SPACE)["spec"].get("holderIdentity", "")
    found.sort(key=lambda one: not holder.startswith(one["metadata"]["name"] + "_"))
    assert holder.startswith(found[0]["metadata"]["name"] + "_"), (holder, [p["metadata"]["name"] for p in found])
    said = [answer(one) for one in found]
    assert said[0].startswith("200: leads"), said
    assert said[1].startswith(f"200: {holder} leads"), said
    return found


def answer(one, path="/readyz"):
    """What it says of itself where its kubelet asks."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    try:
        with urllib.request.urlopen(f"https://{one['status']['podIP']}:9443{path}", timeout=5, context=trusting) as said:
            return f"{said.status}: {said.read().decode()}"
    except urllib.error.HTTPError as fault:
        return f"{fault.code}: {fault.read().decode()}"
    except OSError as fault:
        raise AssertionError(f"{one['metadata']['name']}: {fault}") from fault


def evicted(world, one):
    name = one["metadata"]["name"]
    asked = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": SPACE}}
    done = world.kubectl("create", "--raw", f"/api/v1/namespaces/{SPACE}/pods/{name}/eviction", "-f", "-",
                         text=json.dumps(asked), good=False)
    assert done.returncode == 0 or "disruption budget" in done.stderr, done.stderr
    return done.returncode == 0


def allowed(world, count):
    found = world.get("poddisruptionbudget", "divvy-scheduler", "-n", SPACE)
    status = found["status"]
    assert status.get("observedGeneration") == found["metadata"]["generation"], status
    assert (status["expectedPods"], status["disruptionsAllowed"]) == (2, count), status


def one_is_cut_off(world, network):
    leader, standby = world.until("one of two leads", lambda: replicas(world))
    network.cut(standby)

    def unready():
        found = world.get("pod", standby["metadata"]["name"], "-n", SPACE)
        assert not ready(found), found["status"]["conditions"]
        assert [c["restartCount"] for c in found["status"]["containerStatuses"]] == [0, 0], found["status"]
        assert answer(found).startswith("503"), answer(found)
        assert answer(found, "/healthz").startswith("200")
    world.until("who is cut off is not ready", unready)

    def one_is_ready():
        assert ready(world.get("pod", leader["metadata"]["name"], "-n", SPACE)), "nobody is"
        behind = network.addresses("divvy-scheduler")
        assert behind == {leader["status"]["podIP"]}, behind
    # The webhook is asked by its Service, behind which there is one now.
    world.until("one is ready, and behind the Service", one_is_ready)
    tested(world)
    world.until("nobody may go", lambda: allowed(world, 0))
    assert not evicted(world, leader), "the only one that was ready went"
    network.mend(standby)
    world.until("both are ready again", lambda: replicas(world))


def one_goes_at_a_time(world):
    # Where that takes so long that another one is ready before the second is asked to go, it is asked anew.
    for _ in range(3):
        before = world.until("one of two leads", lambda: replicas(world))
        world.until("one may go", lambda: allowed(world, 1))
        gone = [evicted(world, one) for one in before]
        if gone != [True, True]:
            break
    assert gone == [True, False], gone
    after = world.until("both are ready again, and one leads", lambda: replicas(world))
    names = [[one["metadata"]["name"] for one in both] for both in (before, after)]
    assert names[0][0] not in names[1] and names[0][1] in names[1], names
    world.until("one may go again", lambda: allowed(world, 1))
    tested(world)


def both_go(world, words):
    """control"""
    world.helm("upgrade", RELEASE, world.told.chart, *words, "--set", "scheduler.podDisruptionBudget.enabled=false")
    gone = [evicted(world, one) for one in world.until("one of two leads", lambda: replicas(world))]
    assert gone == [True, True], gone
    world.until("both are ready again", lambda: replicas(world))
