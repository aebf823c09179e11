"""A network for the pods of this machine's node: each has an address, from which only Services are reached, and this
process carries what goes to these, as a kube-proxy would. Nothing of it can leave the machine."""
import ipaddress
import json
import pathlib
import random
import socket
import subprocess
import threading

import yaml

from world import SPACE

# Of RFC 2544, for benchmarks: no machine's own network. The Services' are those of the cluster's API server.
PODS, SERVICES, API = "198.18.77", "198.18.80.0/20", "198.18.80.1"
CONFIG = {"cniVersion": "0.4.0", "name": "pods", "loadOnlyInlinedPlugins": True, "plugins": [{"type": "pods"}]}
# A pair of interfaces. The host's answers for the API server's address, which all of Service's are behind.
PLUGIN = f"""#!/bin/sh
cat >/dev/null
PATH=$PATH:/usr/sbin:/sbin
case "$CNI_COMMAND" in
VERSION) echo '{{"cniVersion": "0.4.0", "supportedVersions": ["0.3.1", "0.4.0"]}}' ;;
ADD)
  set -e
  cd "$(dirname "$0")"
  n=2
  until mkdir "taken-$n" 2>/dev/null; do n=$((n + 1)) && [ "$n" -lt 250 ]; done
  ip link add "divvy$n" type veth peer name "peer$n"
  ip link set "peer$n" netns "$CNI_NETNS"
  inside="nsenter --net=$CNI_NETNS ip"
  $inside link set lo up
  $inside link set "peer$n" name "$CNI_IFNAME"
  $inside addr add "{PODS}.$n/32" dev "$CNI_IFNAME"
  $inside link set "$CNI_IFNAME" up
  $inside route add {API}/32 dev "$CNI_IFNAME"
  $inside route add {SERVICES} via {API}
  ip link set "divvy$n" up
  ip route add "{PODS}.$n/32" dev "divvy$n" src {API}
  echo '{{"cniVersion": "0.4.0", "interfaces": [{{"name": "'"$CNI_IFNAME"'", "sandbox": "'"$CNI_NETNS"'"}}],
    "ips": [{{"version": "4", "interface": 0, "address": "{PODS}.'"$n"'/32"}}]}}' ;;
esac
"""


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"
    return json.loads(done.stdout) if "-j" in words else None


class Network:
    """For pods that are made while it is entered; they have to be gone when it is left."""

    def __init__(self, world):
        self.world, self.held, self.undo = world, [], []
        self.cut_off, self.clients, self.lock = set(), [], threading.Lock()

    def __enter__(self):
        self.without_those_before()
        # What goes to nobody stays here, too.
        for where in (SERVICES, PODS + ".0/24"):
            self.do(("route", where), "unreachable")
        folder = pathlib.Path(self.world.told.cluster, "ctd", "cni")
        (folder / "pods").write_text(PLUGIN)
        (folder / "pods").chmod(0o755)
        server = yaml.safe_load(pathlib.Path(self.world.kubeconfig).read_text())["clusters"][0]["cluster"]["server"]
        self.address(API)
        self.carry(API, 443, lambda: [("127.0.0.1", int(server.rsplit(":", 1)[1]))])
        # The runtime takes the first by name, as soon as it is there.
        (folder / "05-pods.conflist").write_text(json.dumps(CONFIG))
        return self

    def __exit__(self, *_):
        for listener in self.held:
            closed(listener)
            listener.close()
        for words in reversed(self.undo):
            ip(*words)

    def without_those_before(self):
        """A process that was killed has taken nothing back."""
        ours = [ipaddress.ip_network(SERVICES), ipaddress.ip_network(PODS + ".0/24")]
        of_ours = lambda text: any(ipaddress.ip_network(text).subnet_of(one) for one in ours)
        for route in ip("-j", "-4", "route", "show", "type", "unreachable"):
            if of_ours(route["dst"]):
                ip("route", "del", "unreachable", route["dst"])
        for address in ip("-j", "-4", "addr", "show", "dev", "lo")[0]["addr_info"]:
            if of_ours(address["local"]):
                ip("addr", "del", address["local"] + "/32", "dev", "lo")

    def do(self, what, *kind):
        ip(what[0], "add", *kind, *what[1:])
        self.undo.append((what[0], "del", *kind, *what[1:]))

    def address(self, one):
        self.do(("addr", one + "/32", "dev", "lo"))

    def serves(self, name):
        """The Service is there from now on: to one of its ready pods."""
        found = self.world.get("service", name, "-n", SPACE)["spec"]
        self.address(found["clusterIP"])
        for port in found["ports"]:
            self.carry(found["clusterIP"], port["port"], lambda port=port["name"]: self.ready(name, port))

    def addresses(self, name):
        """Of the pods that a Service has, by whichever port."""
        ports = [port["name"] for port in self.world.get("service", name, "-n", SPACE)["spec"]["ports"]]
        return {address for port in ports for address, _ in self.ready(name, port)}

    def ready(self, name, port):
        slices = self.world.get("endpointslices", "-n", SPACE, "-l", "kubernetes.io/service-name=" + name)["items"]
        found = [(address, one["port"]) for s in slices for one in s.get("ports") or [] if one["name"] == port
                 for e in s.get("endpoints") or [] if e["conditions"].get("ready") for address in e["addresses"]]
        return random.sample(found, len(found))

    def carry(self, address, port, targets):
        listener = socket.create_server((address, port))
        self.held.append(listener)
        threading.Thread(target=self.accept, args=(listener, targets), daemon=True).start()

    def accept(self, listener, targets):
        while True:
            try:
                client, peer = listener.accept()
            except OSError:
                return  # it was closed
            threading.Thread(target=self.joined, args=(client, peer[0], targets), daemon=True).start()

    def joined(self, client, peer, targets):
        with client:
            with self.lock:
                self.clients.append((peer, client))
            for target in targets() if peer not in self.cut_off else []:
                try:
                    server = socket.create_connection(target, timeout=2)
                except OSError:
                    continue
                server.settimeout(None)
                with server:
                    back = threading.Thread(target=copied, args=(server, client), daemon=True)
                    back.start()
                    copied(client, server)
                    back.join()
                break
            with self.lock:
                self.clients.remove((peer, client))

    def cut(self, pod):
        """It reaches no Service any more, until `mend`, and what it had open is closed."""
        with self.lock:
            self.cut_off.add(pod["status"]["podIP"])
            for peer, client in self.clients:
                if peer in self.cut_off:
                    closed(client)

    def mend(self, pod):
        with self.lock:
            self.cut_off.discard(pod["status"]["podIP"])


def copied(source, sink):
    try:
        while some := source.recv(65536):
            sink.sendall(some)
    except OSError:
        pass  # one of both has ended
    closed(source)
    closed(sink)


def closed(one):
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it was already
