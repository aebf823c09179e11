"""What can be said of the chart without a cluster: that it says what deploy/kubernetes says, what it
asks of nodes, and which values it refuses. Usage: chart_test.py HELM CHART MANIFESTS"""
import json
import pathlib
import subprocess
import sys
import unittest

import yaml

HELM, CHART, MANIFESTS = "", "", ""
OPERATOR = ["--api-versions", "monitoring.coreos.com/v1"]


def helm(*words):
    return subprocess.run([HELM, *words], capture_output=True, text=True)


def render(*words, namespace="divvy-system"):
    done = helm("template", "divvy", CHART, "-n", namespace, "--kube-version", "v1.34.4", *words)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def refusal(*words):
    done = helm("template", "divvy", CHART, "--kube-version", "v1.34.4", *words)
    return done.stderr if done.returncode != 0 else ""


def key(one):
    return one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]


def one_of(documents, kind, name):
    return next(d for d in documents if d["kind"] == kind and d["metadata"]["name"] == name)


def without_ours(one):
    """What is said of it beside the release's labels."""
    one = dict(one, metadata=dict(one["metadata"]))
    labels = {k: v for k, v in one["metadata"].pop("labels", {}).items()
              if not k.startswith(("app.kubernetes.io/", "helm.sh/"))}
    if labels:
        one["metadata"]["labels"] = labels
    return one


def plain():
    found = []
    for name in ("rbac", "agent-rbac", "policies", "fencing", "queues", "webhook"):
        text = pathlib.Path(MANIFESTS, name + ".yaml").read_text()
        found += [d for d in yaml.safe_load_all(text) if d and d["kind"] != "Namespace"]
    return found


class SaysWhatTheManifestsSay(unittest.TestCase):
    def test_every_document_is_there_and_the_same(self):
        ours = {key(d): without_ours(d) for d in render()}
        self.assertGreater(len(plain()), 20)
        for wanted in plain():
            self.assertEqual(ours.get(key(wanted)), without_ours(wanted), key(wanted))

    def test_kube_scheduler_is_told_the_same(self):
        config = one_of(render(), "ConfigMap", "divvy-scheduler")["data"]["scheduler-config.yaml"]
        text = pathlib.Path(MANIFESTS, "scheduler-config.yaml").read_text()
        self.assertEqual(yaml.safe_load(config), yaml.safe_load(text))

    def test_another_namespace_is_said_everywhere(self):
        done = helm("template", "divvy", CHART, "-n", "gpus", "--kube-version", "v1.34.4")
        self.assertEqual(done.returncode, 0, done.stderr)
        said = [line for line in done.stdout.splitlines() if "divvy-system" in line]
        self.assertEqual(said, [])
        self.assertIn("system:serviceaccount:gpus:divvy-agent", done.stdout)
        self.assertIn("--lease=gpus/divvy-scheduler", done.stdout)

    def test_no_document_is_there_twice(self):
        keys = [key(d) for d in render(*OPERATOR)]
        self.assertEqual(sorted(keys), sorted(set(keys)))

    def test_what_is_generated_elsewhere_takes_its_place(self):
        documents = render("--set-string", "generated.config=kind: Another")
        config = one_of(documents, "ConfigMap", "divvy-scheduler")["data"]["scheduler-config.yaml"]
        self.assertEqual(yaml.safe_load(config), {"kind": "Another"})


class AsksOfNodes(unittest.TestCase):
    def setUp(self):
        self.documents = render()
        self.agent = one_of(self.documents, "DaemonSet", "divvy-agent")["spec"]["template"]["spec"]
        self.helper = one_of(self.documents, "DaemonSet", "divvy-agent-helper")["spec"]["template"]["spec"]
        self.scheduler = one_of(self.documents, "Deployment", "divvy-scheduler")["spec"]
        self.pods = [self.helper, self.agent, self.scheduler["template"]["spec"],
                     one_of(self.documents, "Pod", "divvy-test-share")["spec"]]

    def folders(self, name, *words):
        """of the host, and which of them can be written"""
        spec = one_of(render(*words), "DaemonSet", name)["spec"]["template"]["spec"]
        paths = {v["name"]: v["hostPath"]["path"] for v in spec["volumes"]}
        return {paths[m["name"]]: not m.get("readOnly", False) for m in spec["containers"][0]["volumeMounts"]}

    def test_the_agent_has_these_folders_and_no_others(self):
        own = {"/run/divvy": True, "/var/lib/divvy": True}
        kubelets = {"/var/lib/kubelet/device-plugins": True, "/var/lib/kubelet/pod-resources": False}
        cdi = ("--set", "agent.injection=cdi")
        self.assertEqual(self.folders("divvy-agent"), own)
        self.assertEqual(self.folders("divvy-agent-helper"), {**own, **kubelets})
        # And where the runtime is told by CDI, where it looks for that.
        self.assertEqual(self.folders("divvy-agent", *cdi), {**own, "/etc/cdi": False, "/var/run/cdi": False})
        self.assertEqual(self.folders("divvy-agent-helper", *cdi), {**own, **kubelets, "/var/run/cdi": True})
        # The agent alone is both.
        alone = ("--set", "agent.helper.enabled=false")
        self.assertEqual(self.folders("divvy-agent", *alone), {**own, **kubelets})
        self.assertEqual(self.folders("divvy-agent", *alone, *cdi),
                         {**own, **kubelets, "/etc/cdi": False, "/var/run/cdi": True})

    def test_who_is_root_has_no_network_and_no_token(self):
        self.assertEqual([pod["securityContext"].get("runAsUser") for pod in self.pods[:2]], [0, 65532])
        self.assertTrue(self.helper["hostPID"])
        self.assertFalse(self.helper["automountServiceAccountToken"])
        self.assertNotIn("serviceAccountName", self.helper)
        self.assertFalse(self.helper.get("hostNetwork", False))
        policy = one_of(self.documents, "NetworkPolicy", "divvy-agent-helper")["spec"]
        self.assertEqual(policy["policyTypes"], ["Ingress", "Egress"])
        self.assertNotIn("ingress", policy)
        self.assertNotIn("egress", policy)
        labels = one_of(self.documents, "DaemonSet", "divvy-agent-helper")["spec"]["template"]["metadata"]["labels"]
        self.assertLessEqual(policy["podSelector"]["matchLabels"].items(), labels.items())

    def test_both_are_told_the_same(self):
        words = ("--set", "agent.helper.agentUser=7,agent.node=sim-h100,agent.kubeletDir=/k,agent.runtimeDir=/r")
        agent, helper = (one_of(render(*words), "DaemonSet", name)["spec"]["template"]["spec"]
                         for name in ("divvy-agent", "divvy-agent-helper"))
        self.assertEqual(agent["securityContext"]["runAsUser"], 7)
        for word in ("--agent-user=7", "--node=sim-h100", "--kubelet-dir=/k", "--cdi-dir=/var/run/cdi"):
            self.assertIn(word, helper["containers"][0]["args"])
        self.assertIn("--helper", agent["containers"][0]["args"])
        for spec in (agent, helper):
            self.assertIn({"name": "DIVVY_RUNTIME_DIR", "value": "/r"}, spec["containers"][0]["env"])

    def test_without_a_helper_the_agent_is_root(self):
        documents = render("--set", "agent.helper.enabled=false")
        agent = one_of(documents, "DaemonSet", "divvy-agent")["spec"]["template"]["spec"]
        self.assertEqual(agent["securityContext"]["runAsUser"], 0)
        self.assertTrue(agent["hostPID"])
        self.assertNotIn("--helper", agent["containers"][0]["args"])
        self.assertFalse([d for d in documents if d["metadata"]["name"] == "divvy-agent-helper"])

    def test_nobody_else_has_any(self):
        for pod in self.pods[2:]:
            self.assertEqual([v for v in pod.get("volumes", []) if "hostPath" in v], [])
        for pod in self.pods[1:]:
            self.assertFalse(pod.get("hostPID", False))
            self.assertTrue(pod["securityContext"]["runAsNonRoot"])

    def test_every_container_is_confined(self):
        for pod in self.pods:
            for container in pod["containers"]:
                context = container["securityContext"]
                self.assertFalse(context["privileged"])
                self.assertFalse(context["allowPrivilegeEscalation"])
                self.assertTrue(context["readOnlyRootFilesystem"])
                self.assertEqual(context["capabilities"], {"drop": ["ALL"]})
                self.assertEqual(context["seccompProfile"], {"type": "RuntimeDefault"})

    def test_new_nodes_are_joined_without_a_label(self):
        for pod in (self.agent, self.helper):
            self.assertNotIn("nodeSelector", pod)
            self.assertNotIn("affinity", pod)
            self.assertEqual(pod["tolerations"], [{"operator": "Exists"}])
            self.assertEqual(pod["priorityClassName"], "system-node-critical")

    def test_two_replicas_on_two_nodes_and_a_budget(self):
        self.assertEqual(self.scheduler["replicas"], 2)
        one_of(self.documents, "PodDisruptionBudget", "divvy-scheduler")
        pod = self.scheduler["template"]["spec"]
        self.assertIn("podAntiAffinity", pod["affinity"])
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            self.assertIn(probe, pod["containers"][0])

    def test_secrets_are_allowed_by_name(self):
        for role in (d for d in self.documents if d["kind"] in ("Role", "ClusterRole")):
            for rule in role["rules"]:
                if "secrets" in rule.get("resources", []) and rule["verbs"] != ["create"]:
                    self.assertEqual(rule["resourceNames"], ["divvy-webhook"])

    def test_a_change_of_what_is_read_at_the_start_begins_pods_anew(self):
        def stamp(*words):
            spec = one_of(render(*words), "Deployment", "divvy-scheduler")["spec"]
            return spec["template"]["metadata"]["annotations"]["divvy.dev/config"]
        self.assertNotEqual(stamp(), stamp("--set-string", "scheduler.pools=pools: []"))

    def test_volcanos_words_are_used_where_it_places(self):
        docs = render("--set", "agent.dialect=volcano")
        args = one_of(docs, "DaemonSet", "divvy-agent")["spec"]["template"]["spec"]["containers"][0]["args"]
        self.assertIn("--dialect=volcano", args)
        # Its name is the agent's own default of that dialect, and there are no names of models.
        self.assertFalse([a for a in args if a.startswith(("--resource", "--model"))])
        # Its nodes say how much memory they have: the agent may write that, and otherwise may not.
        self.assertEqual(one_of(docs, "ClusterRole", "divvy-agent-announce")["rules"],
                         [{"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]}])
        test = one_of(docs, "Pod", "divvy-test-share")["spec"]
        self.assertEqual(test["schedulerName"], "volcano")
        self.assertEqual(set(test["containers"][0]["resources"]["limits"]),
                         {"volcano.sh/vgpu-number", "volcano.sh/vgpu-memory"})
        self.assertFalse([d for d in render() if d["metadata"]["name"] == "divvy-agent-announce"])

    def test_what_a_node_announces_is_named(self):
        docs = render("--set", "agent.announce.memory=nvidia.com/gpumem", "--set", "agent.announce.cores=none")
        args = one_of(docs, "DaemonSet", "divvy-agent")["spec"]["template"]["spec"]["containers"][0]["args"]
        self.assertIn("--announce-memory=nvidia.com/gpumem", args)
        self.assertIn("--announce-cores=none", args)
        one_of(docs, "ClusterRole", "divvy-agent-announce")

    def test_names_of_models_are_the_schedulers(self):
        said = "model_resources:\n- {kind: NVIDIA, resource: example.com/l20, models: [L20]}\n"
        words = ("--set-string", "scheduler.modelResources=" + said.replace(",", "\\,"))

        def agent(*words):
            return one_of(render(*words), "DaemonSet", "divvy-agent")["spec"]["template"]
        documents = render(*words)
        self.assertEqual(one_of(documents, "ConfigMap", "divvy-agent")["data"], {"model-resources.yaml": said})
        container = agent(*words)["spec"]["containers"][0]
        self.assertIn("--model-resources=/etc/divvy/model-resources.yaml", container["args"])
        self.assertIn({"name": "config", "mountPath": "/etc/divvy", "readOnly": True}, container["volumeMounts"])
        self.assertIn("divvy.dev/config", agent(*words)["metadata"]["annotations"])
        # Where they are off nothing of it is said; with Volcano they are, if nobody says otherwise.
        for off in (("agent.modelNames=off",), ("agent.dialect=volcano",)):
            args = agent(*words, "--set", *off)["spec"]["containers"][0]["args"]
            self.assertNotIn("--model-resources", " ".join(args), off)
        args = agent(*words, "--set", "agent.dialect=volcano,agent.modelNames=on")["spec"]["containers"][0]["args"]
        self.assertIn("--model-names=on", args)
        self.assertIn("--model-resources=/etc/divvy/model-resources.yaml", args)

    def test_the_first_of_several_names_is_what_notes_and_tests_ask_for(self):
        docs = render("--set-string", "agent.resource=example.com/a\\,example.com/b")
        args = one_of(docs, "DaemonSet", "divvy-agent")["spec"]["template"]["spec"]["containers"][0]["args"]
        self.assertIn("--resource=example.com/a,example.com/b", args)
        test = one_of(docs, "Pod", "divvy-test-share")["spec"]
        self.assertIn("example.com/a", test["containers"][0]["resources"]["limits"])

    def test_settings_of_nodes_reach_the_agents(self):
        said = "settings:\n- nodes: [gpu-7]\n  exclude: {indices: [0]}\n"
        words = ("--set-string", "agent.nodeSettings=" + said.replace(",", "\\,"))

        def agent(*words):
            return one_of(render(*words), "DaemonSet", "divvy-agent")["spec"]["template"]
        documents = render(*words)
        self.assertEqual(one_of(documents, "ConfigMap", "divvy-agent")["data"], {"node-settings.yaml": said})
        spec = agent(*words)["spec"]
        container = spec["containers"][0]
        mount = next(m for m in container["volumeMounts"] if m["name"] == "config")
        self.assertTrue(mount["readOnly"])
        self.assertIn("--node-settings=" + mount["mountPath"] + "/node-settings.yaml", container["args"])
        self.assertIn({"name": "config", "configMap": {"name": "divvy-agent"}}, spec["volumes"])
        # Read at the start: a change begins agents anew, and annotations of one's own stay.
        mine = ("--set-string", "agent.podAnnotations.mine=yes")
        before = agent(*words, *mine)["metadata"]["annotations"]
        self.assertEqual(before["mine"], "yes")
        after = agent("--set-string", "agent.nodeSettings=settings: []")["metadata"]["annotations"]
        self.assertNotEqual(before["divvy.dev/config"], after["divvy.dev/config"])
        self.assertNotIn("--node-settings", " ".join(agent()["spec"]["containers"][0]["args"]))
        self.assertNotIn("ConfigMap/divvy-agent", {d["kind"] + "/" + d["metadata"]["name"] for d in render()})


class Images(unittest.TestCase):
    def images(self, *words):
        found = set()
        for one in render(*words):
            spec = one.get("spec", {})
            spec = spec.get("template", {}).get("spec", spec)
            found |= {c["image"] for c in spec.get("containers", [])}
        return found

    def test_one_value_moves_all(self):
        found = self.images("--set", "image.registry=here.example:5000/mirror")
        self.assertEqual(found, {"here.example:5000/mirror/divvy:0.1.0",
                                 "here.example:5000/mirror/kube-scheduler:v1.34.4"})

    def test_providers_suffixes_are_no_part_of_the_tag(self):
        self.assertIn("kube-scheduler:v1.33.1", self.images("--kube-version", "v1.33.1-eks-ab12"))

    def test_a_digest_goes_before_a_tag(self):
        digest = "sha256:" + "0" * 64
        self.assertIn("divvy@" + digest, self.images("--set", "image.digest=" + digest))

    def test_pull_secrets_reach_all_pods(self):
        words = ["--set", "imagePullSecrets[0].name=mine"]
        for kind, name in (("DaemonSet", "divvy-agent"), ("DaemonSet", "divvy-agent-helper"), ("Deployment", "divvy-scheduler")):
            spec = one_of(render(*words), kind, name)["spec"]["template"]["spec"]
            self.assertEqual(spec["imagePullSecrets"], [{"name": "mine"}])


class ByCapability(unittest.TestCase):
    def kinds(self, *words):
        return {d["kind"] for d in render(*words)}

    def test_monitors_are_made_where_they_are_known(self):
        self.assertNotIn("ServiceMonitor", self.kinds())
        self.assertIn("ServiceMonitor", self.kinds(*OPERATOR))
        self.assertNotIn("ServiceMonitor", self.kinds(*OPERATOR, "--set", "monitoring.enabled=false"))

    def test_agents_are_scraped_where_they_are_said_to_answer(self):
        self.assertNotIn("PodMonitor", self.kinds())
        self.assertIn("PodMonitor", self.kinds(*OPERATOR))
        self.assertNotIn("PodMonitor", self.kinds(*OPERATOR, "--set", "agent.metrics.enabled=false"))

    def test_agents_answer_where_they_are_scraped(self):
        def arguments(*words):
            agent = one_of(render(*words), "DaemonSet", "divvy-agent")
            return agent["spec"]["template"]["spec"]["containers"][0]["args"]
        self.assertIn("--metrics-listen=0.0.0.0:9394", arguments())
        self.assertIn("--metrics-listen=0.0.0.0:9", arguments("--set", "agent.metrics.port=9"))
        self.assertIn("--metrics-listen=none", arguments("--set", "agent.metrics.enabled=false"))
        self.assertNotIn("--compat-metrics", arguments())
        self.assertIn("--compat-metrics", arguments("--set", "agent.metrics.compat=true"))
        self.assertNotIn("--compat-metrics", arguments("--set", "agent.metrics.compat=true",
                                                       "--set", "agent.metrics.enabled=false"))

    def test_rules_and_dashboards_are_those_that_are_tested(self):
        rules = one_of(render(*OPERATOR), "PrometheusRule", "divvy-alerts")
        alerts = yaml.safe_load((pathlib.Path(CHART).parents[1] / "prometheus" / "alerts.yaml").read_text("utf-8"))
        self.assertEqual(rules["spec"], alerts)
        self.assertNotIn("PrometheusRule", self.kinds(*OPERATOR, "--set", "monitoring.rules=false"))
        boards = [d for d in render("--set", "monitoring.dashboards=true") if d["kind"] == "ConfigMap"
                  and d["metadata"]["name"].startswith("divvy-dashboard-")]
        self.assertEqual(len(boards), 3)
        for board in boards:
            for name, text in board["data"].items():
                file = pathlib.Path(CHART).parents[1] / "grafana" / name
                self.assertEqual(json.loads(text), json.loads(file.read_text("utf-8")))

    def test_a_crd_stays_only_if_asked(self):
        def policy(*words):
            crd = one_of(render(*words), "CustomResourceDefinition", "queues.divvy.dev")
            return crd["metadata"].get("annotations", {}).get("helm.sh/resource-policy")
        self.assertIsNone(policy())
        self.assertEqual(policy("--set", "queues.keep=true"), "keep")

    def test_parts_can_be_left_out(self):
        self.assertNotIn("DaemonSet", self.kinds("--set", "agent.enabled=false"))
        self.assertNotIn("Deployment", self.kinds("--set", "scheduler.enabled=false"))

    def test_a_certificate_of_ones_own_leaves_divvys_secret_out(self):
        documents = render("--set", "webhook.secretName=mine")
        self.assertNotIn("Secret", {d["kind"] for d in documents})
        args = one_of(documents, "Deployment", "divvy-scheduler")["spec"]["template"]["spec"]
        self.assertIn("--cert-file=/etc/divvy-webhook/tls.crt", args["containers"][0]["args"])


class Refuses(unittest.TestCase):
    def test_what_it_does_not_know(self):
        for words, named in ((["--set", "schedulerName=x"], "schedulerName"),
                             (["--set", "agent.devicePlugin=x"], "devicePlugin"),
                             (["--set", "image.registry=https://x"], "registry"),
                             (["--set", "agent.perDevice=0"], "perDevice"),
                             (["--set", "agent.node=sim"], "node"),
                             (["--set", "scheduler.compat=volcano"], "compat"),
                             (["--set", "agent.kubeletDir=var/lib"], "kubeletDir"),
                             (["--set", "webhook.url=http://x/webhook"], "url"),
                             (["--set-string", "scheduler.replicas=2"], "replicas")):
            said = refusal(*words)
            self.assertIn(named, said, words)
            self.assertIn("schema", said, words)

    def test_kubernetes_without_admission_policies(self):
        done = helm("template", "divvy", CHART, "--kube-version", "v1.29.9")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("incompatible with Kubernetes", done.stderr)

    def test_a_webhook_without_whom_to_call(self):
        self.assertIn("generated.webhook", refusal("--set-string", "generated.webhook=kind: X"))

    def test_nothing_that_it_says_itself(self):
        done = helm("lint", "--strict", CHART)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    HELM, CHART, MANIFESTS = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
