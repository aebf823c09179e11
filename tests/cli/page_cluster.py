"""An API server for the commands of pages: two nodes with four GPUs each, one pod with a GPU, one that waits.

It answers lists and objects, returns what a dry run creates, and merges patches. It checks no rights.
"""
import http.server
import json
import pathlib
import threading

KUBECONFIG = """apiVersion: v1
kind: Config
current-context: test
contexts:
- {{name: test, context: {{cluster: east, user: audit, namespace: team-a}}}}
- {{name: prod, context: {{cluster: east, user: audit}}}}
clusters:
- {{name: east, cluster: {{server: "http://127.0.0.1:{port}"}}}}
users:
- {{name: audit, user: {{token: of-the-test}}}}
"""


MANIFEST = """apiVersion: v1
kind: Pod
metadata: {name: evaluation}
spec:
  containers:
  - name: main
    image: IMAGE
    resources: {limits: {divvy.dev/gpu: 1, divvy.dev/gpumem: 8Gi, divvy.dev/gpucores: 30}}
"""
# The reader's manifests.
MANIFESTS = ("job.yaml", "service.yaml", "trainer.yaml", "pod.yaml")


def node(name):
    cards = [{"id": f"GPU-{name}-{index}", "index": index, "count": 10, "devmem": 81559, "devcore": 100,
              "type": "NVIDIA-NVIDIA H100 80GB HBM3", "health": True} for index in range(4)]
    return {"metadata": {"name": name, "uid": name, "labels": {},
                         "annotations": {"hami.io/node-nvidia-register": json.dumps(cards)}},
            "spec": {}, "status": {"allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110",
                                                   "nvidia.com/gpu": "40", "divvy.dev/gpu": "40"}}}


def queue(name):
    return {"apiVersion": "divvy.dev/v1alpha1", "kind": "Queue", "metadata": {"name": name, "uid": name},
            "spec": {"namespaces": [name], "guarantee": [{"model": "*", "gpuMilli": 2000}]}}


def pod(namespace, name, place=None):
    annotations = {} if place is None else {
        "hami.io/vgpu-node": place,
        "hami.io/vgpu-devices-allocated": f"GPU-{place}-3,NVIDIA,8192,30:;"}
    return {"metadata": {"name": name, "namespace": namespace, "uid": f"{namespace}-{name}",
                         "annotations": annotations},
            "spec": {"schedulerName": "divvy-scheduler", **({"nodeName": place} if place else {}),
                     "containers": [{"name": "main", "resources": {"limits": {
                         "nvidia.com/gpu": "1", "nvidia.com/gpumem": "8192" if place else "100000"}}}]},
            "status": {"phase": "Running" if place else "Pending"}}


class PageCluster:
    def __init__(self, folder):
        self.objects = {}
        for one in (node("gpu-7"), node("gpu-8")):
            self.objects[f"/api/v1/nodes/{one['metadata']['name']}"] = one
        for name in ("default", "team-a", "vision"):
            self.objects[f"/api/v1/namespaces/{name}"] = {"metadata": {"name": name}}
            self.objects[f"/api/v1/namespaces/{name}/pods/trainer"] = pod(name, "trainer")
        self.objects["/api/v1/namespaces/team-a/pods/serving"] = pod("team-a", "serving", "gpu-7")
        self.objects["/apis/divvy.dev/v1alpha1/queues/vision"] = queue("vision")
        self.objects["/version"] = {"major": "1", "minor": "34", "gitVersion": "v1.34.4"}
        cluster = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, found):
                body = json.dumps(found if found is not None else {
                    "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}).encode()
                self.send_response(200 if found is not None else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def sent(self):
                return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

            def do_GET(self):
                self.answer(cluster.get(self.path.split("?")[0]))

            def do_POST(self):
                made = self.sent()
                made["metadata"] = {"uid": "made", "namespace": self.path.split("/")[4], **made["metadata"]}
                self.answer(made)

            def do_PATCH(self):
                self.answer(cluster.patch(self.path.split("?")[0], self.sent()))

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.kubeconfig = pathlib.Path(folder) / "other.yaml"
        self.kubeconfig.write_text(KUBECONFIG.format(port=self.server.server_port))
        for name in MANIFESTS:
            (pathlib.Path(folder) / name).write_text(MANIFEST)

    def get(self, path):
        if path in self.objects:
            return self.objects[path]
        kind = path.rsplit("/", 1)[-1]
        known = ("nodes", "pods", "namespaces", "resourcequotas", "poddisruptionbudgets", "queues")
        if kind not in known:
            return None
        items = [one for at, one in self.objects.items() if at.split("/")[-2] == kind]
        return {"metadata": {"resourceVersion": "7"}, "items": items}

    def patch(self, path, changes):
        found = self.objects.get(path)
        if found is None or not isinstance(changes, dict):
            return found
        found["metadata"].setdefault("annotations", {}).update(
            {key: value for key, value in changes.get("metadata", {}).get("annotations", {}).items() if value})
        return found

    def close(self):
        self.server.shutdown()
        self.server.server_close()
