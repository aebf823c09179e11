"""A node without a kubelet, beside the one that has one. Its kubelet's part is taken here: of the release's pods there
it is said that they are ready, and they end when they are told to."""
import json

from world import SPACE, ready

NAME = "stand-in"


class StandIn:
    def __init__(self, world):
        self.world = world

    def __enter__(self):
        # Agents tolerate every taint, and nobody else is to come.
        self.world.kubectl("create", "-f", "-", text=json.dumps({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": NAME, "labels": {"kubernetes.io/os": "linux", "kubernetes.io/hostname": NAME}},
            "spec": {"taints": [{"key": "divvy.test/stand-in", "effect": "NoSchedule"}]}}))
        room = {"cpu": "8", "memory": "8Gi", "pods": "20"}
        self.patch("node", NAME, {"capacity": room, "allocatable": room,
                                  "conditions": [{"type": "Ready", "status": "True", "reason": "Test"}]})
        return self

    def __exit__(self, *_):
        self.world.kubectl("delete", "node", NAME)
        for one in self.pods():
            self.end(one)

    def patch(self, kind, name, status):
        self.world.kubectl("patch", kind, name, "-n", SPACE, "--subresource=status", "--type=merge",
                           "-p", json.dumps({"status": status}))

    def pods(self):
        return self.world.get("pods", "-n", SPACE, "--field-selector", "spec.nodeName=" + NAME)["items"]

    def end(self, one):
        self.world.kubectl("delete", "pod", one["metadata"]["name"], "-n", SPACE, "--force", "--grace-period=0",
                           "--ignore-not-found")

    def attend(self):
        """What a kubelet would do now."""
        for one in self.pods():
            if "deletionTimestamp" in one["metadata"]:
                self.end(one)
            elif not ready(one):
                self.patch("pod", one["metadata"]["name"], {
                    "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})
