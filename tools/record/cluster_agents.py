"""Stand-ins of the agents of a cluster of simulated nodes: a pod for each node, and a proxy in front of the API server.

The proxy answers the console's requests for the metrics of these pods. It forwards all others. Use is a fixed part of
each share's limits, by workload, with a deviation that depends on the pod's name only.
"""
import http.client
import http.server
import json
import re
import threading
import zlib

NAMESPACE = "divvy-system"
PORT = 9401
METRICS = re.compile(rf"^/api/v1/namespaces/{NAMESPACE}/pods/agent-([a-z0-9-]+):{PORT}/proxy/(metrics|v1/snapshot)$")
ALLOCATED = "hami.io/vgpu-devices-allocated"
MIB = 1 << 20
CONTEXT = 520 * MIB
# Workload: parts of memory and compute that its pods use, and seconds since the last use.
USE = {
    "pretrain-70b": (0.93, 0.94, 0), "tune-8b": (0.78, 0.86, 0), "tune-32b": (0.9, 0.9, 0),
    "assistant": (0.91, 0.63, 0), "embeddings": (0.72, 0.35, 0), "speech": (0.64, 0.28, 0),
    "eval": (0.7, 0.55, 0), "lab": (0.35, 0.04, 5400),
}


def deviation(name):
    """A number in -0.08 to 0.08 that belongs to the name."""
    return (zlib.crc32(name.encode()) % 1000 - 500) / 6250


def use_of(app, name):
    """(part of memory, part of compute, idle seconds) of a pod."""
    memory, compute, idle = USE.get(app) or USE.get(app.split("-")[0]) or (0.5, 0.3, 0)
    if idle and zlib.crc32(name.encode()) % 4 == 0:
        compute, idle = 0.7, 0
    return min(0.98, memory + deviation(name)), max(0.0, compute + deviation(name + "/compute") / 2), idle


def shares_of(pod):
    """(device, MiB, percent of compute) of a pod with one container."""
    text = pod["metadata"].get("annotations", {}).get(ALLOCATED, "")
    for share in filter(None, re.split("[;:]", text)):
        device, _, mebibytes, cores = share.split(",")
        yield device, int(mebibytes), int(cores)


def devices_of(node):
    text = node["metadata"]["annotations"]["hami.io/node-nvidia-register"]
    return [device["id"] for device in json.loads(text)]


def metrics_by_node(nodes, pods):
    """The text that the agent of each node would expose."""
    samples = {}
    devices = {node["metadata"]["name"]: {device: [CONTEXT, 0.0] for device in devices_of(node)} for node in nodes}

    def put(node, name, labels, value):
        text = ",".join(f'{key}="{what}"' for key, what in labels.items())
        samples.setdefault(node, []).append(f"{name}{{{text}}} {value:.12g}")

    for pod in pods:
        meta, node = pod["metadata"], pod["spec"].get("nodeName")
        if not node or meta["namespace"] == NAMESPACE:
            continue
        memory, compute, idle = use_of(meta["labels"].get("app", ""), meta["name"])
        of = {"namespace": meta["namespace"], "pod": meta["name"], "container": "main"}
        for device, mebibytes, cores in shares_of(pod):
            used, busy = round(mebibytes * MIB * memory), compute * (cores or 100) / 100
            for name, value in (("memory_used_bytes", used), ("memory_resident_bytes", used),
                                ("memory_swapped_bytes", 0), ("compute_usage_ratio", busy)):
                put(node, "divvy_tenant_" + name, of | {"device": device}, value)
            sums = devices[node][device]
            sums[0] += used
            sums[1] += busy
        if idle:
            put(node, "divvy_tenant_idle_seconds", of, idle + zlib.crc32(meta["name"].encode()) % 7200)
    for node, known in devices.items():
        for device, (used, busy) in known.items():
            put(node, "divvy_device_memory_used_bytes", {"device": device}, used)
            put(node, "divvy_device_utilisation_ratio", {"device": device}, min(1.0, busy))
    return {node: "\n".join(lines) + "\n" for node, lines in samples.items()}


def agent_pods(nodes):
    """The pods that the chart's DaemonSet would make, by their labels and port."""
    labels = {"app.kubernetes.io/name": "divvy", "app.kubernetes.io/component": "agent"}
    container = {"name": "agent", "image": "registry.example.com/divvy:0.1.0",
                 "ports": [{"name": "metrics", "containerPort": PORT}]}
    return [{"apiVersion": "v1", "kind": "Pod",
             "metadata": {"name": "agent-" + node, "namespace": NAMESPACE, "labels": labels},
             "spec": {"nodeName": node, "tolerations": [{"operator": "Exists"}], "containers": [container]}}
            for node in nodes]


class Proxy:
    """Serves on loopback; `upstream` is host and port of an HTTP server, such as `kubectl proxy`."""

    def __init__(self, upstream):
        self.text = {}  # node: metrics
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def forward(self):
                found = METRICS.match(self.path)
                if found and found[2] == "metrics":
                    self.answer(proxy.text.get(found[1], ""))
                elif found:
                    self.send_error(404)  # as an agent that has metrics only
                else:
                    pass_on(self, upstream)

            def answer(self, text):
                body = text.encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = forward

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def pass_on(request, upstream):
    """Forwards one request, and its answer as it comes: a watch has no end."""
    size = int(request.headers.get("Content-Length") or 0)
    body = request.rfile.read(size) if size else None
    kept = {name: value for name, value in request.headers.items()
            if name.lower() in ("accept", "content-type", "user-agent")}
    connection = http.client.HTTPConnection(upstream)
    try:
        connection.request(request.command, request.path, body, kept)
        answer = connection.getresponse()
        request.send_response(answer.status)
        request.send_header("Content-Type", answer.getheader("Content-Type") or "application/json")
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        while part := answer.read1(1 << 16):
            request.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        request.wfile.write(b"0\r\n\r\n")
    except (OSError, http.client.HTTPException):
        request.close_connection = True
    finally:
        connection.close()
