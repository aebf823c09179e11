"""A cluster for pictures: 50 simulated nodes, five namespaces with queues, and pods that wait for each reason."""
import concurrent.futures
import datetime
import json
import re
import subprocess
import time
import urllib.error
import urllib.request

H100 = ("NVIDIA H100 80GB HBM3", 80, 40)
L4 = ("NVIDIA L4", 24, 10)
POD_SECONDS = 240


def nodes(fake_nodes):
    """Returns a List of nodes with 8 devices each: h100-01 to h100-40, l4-01 to l4-10."""
    items = []
    for model, gib, count in (H100, L4):
        text = subprocess.run([fake_nodes, f"{count}x8", model, str(gib)], check=True, capture_output=True,
                              text=True).stdout
        short = model.split()[1].lower()
        text = re.sub(r"node-(\d{5})", lambda match: f"{short}-{int(match[1]) + 1:02}", text)
        items += json.loads(text)["items"]
    return {"apiVersion": "v1", "kind": "NodeList", "items": items}


def amount(devices):
    return [{"model": "*", "gpuMilli": devices * 1000}]


def queue(name, parent=None, namespaces=(), guarantee=0, limit=0, weight=1):
    spec = {"weight": weight, "guarantee": amount(guarantee), "limit": amount(limit)}
    if parent:
        spec["parent"] = parent
    if namespaces:
        spec["namespaces"] = list(namespaces)
    return {"apiVersion": "divvy.dev/v1alpha1", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def namespace(name, team=None):
    labels = {"divvy.dev/team": team} if team else {}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def pod_spec(image, gpus, memory=None, cores=None, model=None, **more):
    limits = {"divvy.dev/gpu": gpus}
    if memory:
        limits["divvy.dev/gpumem"] = memory
    if cores:
        limits["divvy.dev/gpucores"] = cores
    container = {"name": "main", "image": image, "resources": {"limits": limits}}
    if model:
        container["args"] = ["--model", model]
    return {"terminationGracePeriodSeconds": 0, "containers": [container], **more}


def labels_of(name):
    return {"app": name}


def deployment(space, name, replicas, spec, annotations=None):
    template = {"metadata": {"labels": labels_of(name), "annotations": annotations or {}}, "spec": spec}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": space},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels_of(name)}, "template": template}}


def job(space, name, pods, spec, annotations=None):
    template = {"metadata": {"labels": labels_of(name), "annotations": annotations or {}},
                "spec": {"restartPolicy": "Never", **spec}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": space},
            "spec": {"parallelism": pods, "completions": pods, "backoffLimit": 100, "template": template}}


def pod(space, name, spec, annotations=None):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": space, "labels": labels_of(name),
                         "annotations": annotations or {}}, "spec": spec}


def groups():
    return [
        namespace("pretraining", "research"), namespace("finetuning", "research"), namespace("chat", "products"),
        namespace("notebooks"), namespace("evaluation"),
        queue("research", guarantee=240, limit=300),
        queue("pretraining", "research", ["pretraining"], 176, 240),
        queue("finetuning", "research", ["finetuning"], 48, 80),
        queue("products", guarantee=40, limit=80),
        queue("chat", "products", ["chat"], 32, 48),
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 1000},
        {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "devices", "namespace": "notebooks"},
         "spec": {"hard": {"limits.nvidia.com/gpumem": "220000"}}},
    ]


def workloads():
    """Objects in the order of their creation: the first ones get the devices."""
    on_h100 = {"use.divvy.dev/model": "H100"}
    on_l4 = {"use.divvy.dev/model": "L4"}
    trainer = "registry.example.com/research/trainer:2.4"
    vllm = "docker.io/vllm/vllm-openai:v0.11.0"
    lab = "quay.io/jupyter/pytorch-notebook:cuda12"
    first = [
        job("pretraining", "pretrain-70b", 24, pod_spec(trainer, 8), {"use.divvy.dev/gang-min": "24", **on_h100}),
        job("finetuning", "tune-8b", 8, pod_spec(trainer, 8), on_h100),
        deployment("chat", "assistant", 10,
                   pod_spec(vllm, 4, "76Gi", 100, "meta-llama/Llama-3.3-70B-Instruct"), on_h100),
        deployment("chat", "embeddings", 16, pod_spec(vllm, 1, "8Gi", 20, "BAAI/bge-m3"), on_l4),
        deployment("chat", "speech", 8, pod_spec(vllm, 1, "10Gi", 30, "openai/whisper-large-v3"), on_l4),
    ]
    notebooks = [pod("notebooks", f"lab-{name}", pod_spec(lab, 1, "10Gi", 10), on_l4)
                 for name in ("ana", "ben", "chen", "dora", "emil", "fatma", "goran", "hana", "ines", "jun", "kofi",
                              "lena", "marek", "nadia", "omar", "priya", "quinn", "rosa", "sven", "tara")]
    notebooks += [pod("evaluation", f"eval-{at}", pod_spec(lab, 1, "40Gi", 40), on_h100) for at in range(1, 9)]
    # Two of four fit within the limit of the queue, and take the last free nodes.
    last = [job("finetuning", "tune-32b", 4, pod_spec(trainer, 8), on_h100)]
    waiting = [
        # Above the size of such a device; no node has 8 of them free; above the size of any device.
        pod("evaluation", "eval-l4", pod_spec(lab, 1, "40Gi", 10), on_l4),
        pod("evaluation", "review", pod_spec(lab, 8, "10Gi", 100), on_h100),
        pod("evaluation", "eval-405b", pod_spec(lab, 1, "140Gi", 10)),
        # The ResourceQuota, a gate, a node selector, and the limit of the queue.
        pod("notebooks", "lab-vera", pod_spec(lab, 1, "16Gi", 10), on_l4),
        pod("notebooks", "audit", pod_spec(lab, 1, "4Gi", 10, schedulingGates=[{"name": "example.com/approval"}])),
        pod("notebooks", "scratch", pod_spec(lab, 1, "4Gi", 10, nodeSelector={"disk": "nvme"})),
        deployment("chat", "assistant-canary", 2,
                   pod_spec(vllm, 4, "76Gi", 100, "meta-llama/Llama-4-Scout-17B-16E"), on_h100),
    ]
    return first, notebooks, last, waiting


class Cluster:
    """The API server, through `kubectl proxy` on loopback."""

    def __init__(self, kubectl, kubeconfig):
        self.command = [kubectl, "--kubeconfig", kubeconfig]
        self.proxy = subprocess.Popen([*self.command, "proxy", "--port=0"], stdout=subprocess.PIPE, text=True)
        self.base = "http://" + self.proxy.stdout.readline().split()[-1]

    def close(self):
        self.proxy.terminate()
        self.proxy.wait()

    def create(self, objects):
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        subprocess.run([*self.command, "apply", "-f", "-"], input=text, text=True, check=True,
                       stdout=subprocess.DEVNULL)

    def call(self, path, body=None, method="GET", kind="application/merge-patch+json"):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": kind}, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def pods(self):
        return self.call("/api/v1/pods")["items"]

    def run_bound(self):
        """Bound pods have no kubelet: their status is written here. Returns how many pods have no node."""
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

        def start(one):
            meta = one["metadata"]
            path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status"
            ready = [{"type": kind, "status": "True", "lastTransitionTime": now}
                     for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")]
            try:
                self.call(path, {"status": {"phase": "Running", "startTime": now, "conditions": ready}}, "PATCH")
            except urllib.error.HTTPError as error:
                if error.code != 404:
                    raise

        pods = self.pods()
        bound = [one for one in pods if one["spec"].get("nodeName") and one["status"]["phase"] == "Pending"]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(start, bound))
        return sum(not one["spec"].get("nodeName") for one in pods)

    def wait_for(self, what, done):
        end = time.monotonic() + POD_SECONDS
        while not done():
            if time.monotonic() > end:
                raise SystemExit(f"cluster: {what} not within {POD_SECONDS} s")
            time.sleep(1)


def stated(one):
    """The pod has a node, or a reason to wait."""
    conditions = one["status"].get("conditions", [])
    return bool(one["spec"].get("nodeName") or any(each["type"] == "PodScheduled" and each.get("message")
                                                   for each in conditions))


def add_agents(cluster, pods):
    cluster.create(pods)
    cluster.wait_for("running agents", lambda: cluster.run_bound() >= 0 and all(
        one["status"]["phase"] == "Running" for one in cluster.pods() if one["spec"].get("nodeName")))


def fill(cluster):
    """Creates all objects, and returns when the pods that wait have a reason."""
    first, notebooks, last, waiting = workloads()
    cluster.create(groups())
    cluster.wait_for("service accounts", lambda: all(
        any(one["metadata"]["namespace"] == space for one in cluster.call("/api/v1/serviceaccounts")["items"])
        for space in ("pretraining", "finetuning", "chat", "notebooks", "evaluation")))
    time.sleep(2)  # the webhook hears of the queues
    for objects in (first, notebooks):
        cluster.create(objects)
        wanted = 66 if objects is first else 66 + len(notebooks)
        cluster.wait_for(f"{wanted} pods", lambda wanted=wanted: len(cluster.pods()) >= wanted)
        cluster.wait_for("nodes for the first pods", lambda: cluster.run_bound() == 0)
    cluster.create(last)
    cluster.wait_for("nodes for two of four pods", lambda: cluster.run_bound() == 2)
    cluster.create(waiting)
    cluster.wait_for("a reason of each pod that waits",
                     lambda: cluster.run_bound() and all(map(stated, cluster.pods())))
    node = "/api/v1/nodes/"
    cluster.call(node + "l4-10", {"spec": {"unschedulable": True}}, "PATCH")
    cluster.call(node + "h100-39/status",
                 {"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "KubeletNotReady",
                                             "message": "container runtime is down"}]}}, "PATCH")
