"""The release on a node with a kubelet, its parts on the host's network, beside a pod with a share that works."""
import contextlib
import pathlib

from tenant import Tenant
from world import RELEASE, SPACE, Skip, folders, installed, pods_of, status, tested, uninstalled

AGENT_USER = 65532
# The port is the agents' here. Charts of earlier commits may not know the value.
PROBED = ["--set", "agent.probes=always"]


def runs_beside_a_pod(world):
    """the images of the recipes, under the chart's own security contexts: helm test passes; upgrades, those
    from an agent and its helper to one of root's and back among them, and an uninstall disturb no pod with a share
    that works; who does nothing, or loses its pages, is noticed"""
    world.has_images()
    with folders() as (folder, words):
        run_beside_a_pod(world, folder, [*world.here(), *words, *PROBED, *world.without_console()])


def runs_from_before(world):
    """a release of an earlier commit's chart and image is upgraded to these, rolled back and upgraded again, and
    a pod with a share works on; who does nothing, or loses its pages, is noticed"""
    world.has_images()
    if not world.told.before or not pathlib.Path(world.told.images, "divvy-before.tar").exists():
        raise Skip("there is no image of an earlier commit")
    with folders() as (folder, words):
        upgrade_beside_a_pod(world, folder, [*world.here(), *words])


def run_beside_a_pod(world, folder, words):
    installed(world, *words)
    status(world)
    rights(AGENT_USER)
    tested(world)
    tenant = Tenant(world)
    agent = pods_of(world, "agent")[0]
    world.helm("upgrade", RELEASE, world.told.chart, *words, "--set", "agent.perDevice=12")

    def anew():
        found = pods_of(world, "agent")
        assert len(found) == 1 and found[0]["metadata"]["uid"] != agent["metadata"]["uid"]
    world.until("the agent is another", anew)
    status(world, "12")
    tested(world)
    tenant.works()
    for enabled, user in (("false", 0), ("true", AGENT_USER)):
        world.helm("upgrade", RELEASE, world.told.chart, *words, "--set", f"agent.helper.enabled={enabled}")
        world.until(f"the agent is user {user}", lambda user=user: rights(user))
        status(world, pods=3 if user else 2)
        tested(world)
        tenant.works()
    uninstalled(world)
    tenant.works()
    tenant.noticed(folder + "/run")


def upgrade_beside_a_pod(world, folder, words):
    before = [*words, *world.without_console(world.told.before)]
    words = [*words, *PROBED, *world.without_console()]
    installed(world, *before, "--set", "image.tag=before", chart=world.told.before)
    status(world)
    tenant = Tenant(world)
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
        tenant.works()
    uninstalled(world)
    tenant.works()
    tenant.noticed(folder + "/run")


def processes(word):
    """of `divvy WORD` in pods of this machine: what the kernel says of each"""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            # Others of this machine may have agents, too.
            as_such = words[1:2] == [word.encode()] and words[0].endswith(b"divvy")
            # Or as the program that it becomes.
            ours = as_such or words[0].endswith(b"divvy-" + word.encode())
            if ours and "kubepods" in (folder / "cgroup").read_text():
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
