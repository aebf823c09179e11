"""The chart's console: the rights of its account, and what viewers with tokens see of a pod with a share that works."""
import json
import pathlib
import ssl
import urllib.error
import urllib.request

from network import Network
from running_checks import processes
from tenant import Tenant
from world import NODE, RELEASE, SPACE, folders, installed, pods_of, ready, status, uninstalled, uninstalled_at_last

CONSOLE, AUDIENCE, SHOWN = "divvy-console", "divvy-console", "working"
ACCOUNT = f"system:serviceaccount:{SPACE}:{CONSOLE}"
REVIEWS = {("authentication.k8s.io", "tokenreviews"), ("authorization.k8s.io", "subjectaccessreviews")}
# Accounts in `default`: one is bound to the chart's role for viewers, the other one to none.
SEES, GUEST = "sees-all", "guest"


def console_may_only_read(world):
    """the console's account reads what its page shows, and creates the two reviews; API servers refuse it any other
    write, Secrets, and requests to pods of other namespaces; the role for viewers is bound to no subject"""
    installed(world, "--set", "scheduler.replicas=1")
    may = world.until("the account has its rights", lambda: rights(world))
    writes = {one for one in may if one[2] not in ("get", "list", "watch")}
    assert writes == {(*one, "create") for one in REVIEWS} | everyones_writes(world), writes
    proxy, away = ("pods", "--subresource=proxy", "-n"), ("-n", "default")
    for words, good in ((("list", "nodes"), True), (("watch", "pods", "-A"), True), (("list", "queues.divvy.dev"), True),
                        (("get", *proxy, SPACE), True), (("get", *proxy, "default"), False),
                        (("create", *proxy, SPACE), False), (("create", "pods", *away), False),
                        (("get", "secrets", "-n", SPACE), False), (("patch", "nodes"), False),
                        (("create", "pods", "--subresource=eviction", *away), False),
                        (("patch", "queues.divvy.dev"), False), (("impersonate", "users"), False),
                        (("create", "serviceaccounts", "--subresource=token", "-n", SPACE), False)):
        assert allowed(world, ACCOUNT, *words) == good, words
    bound = [one["metadata"]["name"] for one in world.get("clusterrolebindings,rolebindings", "-A")["items"]
             if one["roleRef"]["name"] == "divvy-console-viewer"]
    assert not bound, bound
    uninstalled(world)


def allowed(world, user, *words):
    done = world.kubectl("auth", "can-i", *words, "--as", user, good=False)
    assert done.stdout.strip() in ("yes", "no"), done.stderr
    return done.stdout.strip() == "yes"


def rights(world, user=ACCOUNT):
    """In the release's namespace, as an API server has them: group, resource, verb."""
    asked = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": SPACE}}
    done = world.kubectl("create", "--raw", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", "--as", user,
                         "-f", "-", text=json.dumps(asked))
    rules = json.loads(done.stdout)["status"]["resourceRules"]
    found = {(group, resource, verb) for rule in rules for group in rule["apiGroups"] for resource in rule["resources"]
             for verb in rule["verbs"]}
    assert user != ACCOUNT or ("", "nodes", "watch") in found, found
    return found


def everyones_writes(world):
    """Of each account, such as reviews of itself."""
    other = f"system:serviceaccount:{SPACE}:another"
    return {one for one in rights(world, other) if one[2] not in ("get", "list", "watch")}


def runs_a_console(world):
    """the console is ready by its probes, confined, and answers 401 without a token; with a token for consoles a viewer
    that is bound to the chart's role sees the use of a pod with a share and makes no plan, with one for API servers it
    may; a viewer without rights sees neither the pod nor its node; with a certificate the console serves HTTPS"""
    world.has_images()
    with Network(world) as network, folders() as (folder, words):
        words = [*words, "--set", "agent.node=sim-h100,image.pullPolicy=Never,scheduler.replicas=1"]
        with uninstalled_at_last(world):
            installed(world, *words)
            for name in ("divvy-scheduler", CONSOLE):
                network.serves(name)
            status(world, pods=4)
            confined(world)
            tenant = Tenant(world)
            with_viewers(world)
            service = world.get("service", CONSOLE, "-n", SPACE)["spec"]["clusterIP"]
            address = f"http://{service}/"
            without_a_token(address)
            viewer = token(world, SEES)
            world.until("the use of the pod is shown", lambda: shows_use(address, viewer))
            by_cookie(world, address)
            without_rights(world, address, viewer)
            tenant.works()
            serves_https(world, words, viewer)
            tenant.noticed(folder + "/run")


def confined(world):
    """the program is no user of the node's, without capabilities, under seccomp"""
    program, = processes("console")
    assert program["Uid"].split() == ["65532"] * 4, program["Uid"]
    assert int(program["CapEff"], 16) == 0 and program["NoNewPrivs"] == "1" and program["Seccomp"] == "2", program


def with_viewers(world):
    for name in (SEES, GUEST):
        world.kubectl("create", "serviceaccount", name, "-n", "default")
    world.kubectl("create", "clusterrolebinding", SEES, "--clusterrole", "divvy-console-viewer",
                  "--serviceaccount", f"default:{SEES}")
    user = f"system:serviceaccount:default:{SEES}"

    def known():
        assert allowed(world, user, "list", "nodes"), "it has no rights yet"
    world.until("API servers know the binding", known)


def token(world, name, *words):
    """As the page says; without words it is one for consoles."""
    return world.kubectl("create", "token", name, "-n", "default", *(words or ("--audience", AUDIENCE))).stdout.strip()


def requested(address, path, **more):
    """The status and the text of an answer."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    request = urllib.request.Request(address + path, **more)
    try:
        with urllib.request.urlopen(request, timeout=30, context=trusting) as answer:
            return answer.status, answer.read().decode(), answer.headers
    except urllib.error.HTTPError as fault:
        return fault.code, fault.read().decode(), fault.headers
    except OSError as fault:
        raise AssertionError(f"{address + path}: {fault}") from fault


def ask(address, path, bearer):
    code, text, _ = requested(address, "api/v1/" + path, headers={"Authorization": "Bearer " + bearer})
    assert code == 200, f"{path}: {code} {text[:300]}"
    return json.loads(text)


def opened(address, text):
    """What becomes of a token that is pasted."""
    return requested(address, "api/v1/session", data=json.dumps({"token": text}).encode(),
                     headers={"Content-Type": "application/json"})


def without_a_token(address):
    for path in ("overview", "shares", "nodes", "session"):
        code, text, _ = requested(address, "api/v1/" + path)
        assert code == 401 and json.loads(text)["error"]["code"] == "unauthenticated", (path, code, text)
    code, text, _ = requested(address, "api/v1/login")
    told = json.loads(text)
    assert code == 200 and told["login"] == "token" and "--audience " + AUDIENCE in told["command"], (code, text)
    code, text, _ = opened(address, "none")
    assert code == 401 and json.loads(text)["error"]["code"] == "unauthenticated", (code, text)


def shows_use(address, bearer):
    shares = [one for one in ask(address, "shares", bearer)["items"] if one["pod"] == SHOWN]
    assert len(shares) == 1, shares
    share, = shares
    # The pod allocates and frees all the time.
    assert share["used_bytes"], f"its use is {share['used_bytes']}: {ask(address, 'overview', bearer)['sources']}"
    assert 0 < share["used_bytes"] <= share["limit_bytes"], share
    device = ask(address, "devices/" + share["devices"][0]["id"], bearer)["item"]
    assert device["memory_used_bytes"] is not None and device["utilisation_percent"] is not None, device
    agents, = [one for one in ask(address, "overview", bearer)["sources"] if one["node"] == "agents"]
    assert agents["state"] == "ok", agents


def by_cookie(world, address):
    """A session by a token of each kind that is pasted, then by the cookie that a browser sends."""
    for words, way, plans in (((), "console-token", False), (("--duration", "1h"), "api-token", True)):
        code, text, fields = opened(address, token(world, SEES, *words))
        assert code == 200, (way, code, text)
        cookie = fields["Set-Cookie"].split(";")[0]
        code, text, _ = requested(address, "api/v1/session", headers={"Cookie": cookie})
        said = json.loads(text)
        assert code == 200 and said["way_in"] == way, (code, text)
        assert (said["can"]["change"], said["can"]["plan"]) == (False, plans), said["can"]
        assert said["scope"]["everything"], said["scope"]


def without_rights(world, address, viewer):
    """The same addresses, and no name of the pod or the node in any of the answers. Control: the viewer's have them."""
    bearer = token(world, GUEST)
    scope = ask(address, "session", bearer)["scope"]
    assert scope["pods"] == [] and not scope["nodes"] and not scope["queues"], scope
    for path in ("shares", "nodes", "devices", "events", "workloads", "waiting", "overview"):
        text, whole = (json.dumps(ask(address, path, one)) for one in (bearer, viewer))
        for name in (f"default/{SHOWN}", NODE):
            assert name not in text, f"{path} names {name}: {text[:300]}"
        assert NODE in whole or path not in ("shares", "nodes", "devices"), f"{path}: {whole[:300]}"


def serves_https(world, words, viewer):
    """With the certificate of the cluster's API server: its names are others, and are not compared."""
    before, = pods_of(world, "console")
    files = [str(pathlib.Path(world.told.cluster, "pki", "apiserver" + kind)) for kind in (".crt", ".key")]
    world.kubectl("create", "secret", "tls", "console-certificate", "-n", SPACE, "--cert", files[0], "--key", files[1])
    world.helm("upgrade", RELEASE, world.told.chart, *words, "--set",
               "console.tls.secretName=console-certificate,console.basePath=/gpu/")

    def restarted():
        found = pods_of(world, "console")
        assert len(found) == 1 and found[0]["metadata"]["uid"] != before["metadata"]["uid"], "it is the one before"
        assert ready(found[0]), found[0]["status"]
        return found[0]["status"]["podIP"]
    address = f"https://{world.until('another console is ready', restarted)}:9400/gpu/"
    assert requested(address, "api/v1/overview")[0] == 401
    world.until("it shows the pod", lambda: shows_use(address, viewer))
    world.kubectl("delete", "secret", "console-certificate", "-n", SPACE)
