"""What can be said of the chart without a cluster: that it says what deploy/kubernetes says, and what of it
is there where. Usage: chart_test.py HELM CHART MANIFESTS DIVVY"""
import json
import pathlib
import sys
import tempfile
import unittest

import yaml

from rendered import (CHART, MANIFESTS, OPERATOR, helm, key, one_of,
                      page, plain, refusal, render, without_ours)


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

    # Regression: policies refused HAMi's plugins what they write while one came from HAMi.
    def test_policies_that_name_others_accounts_are_said_whole(self):
        ours, theirs = "system:serviceaccount:divvy-system:divvy-scheduler", "system:serviceaccount:kube-system:hami-device-plugin"
        text = pathlib.Path(MANIFESTS, "policies.yaml").read_text()
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text.replace(f"'{ours}'", f"'{ours}', '{theirs}'"))
            file.flush()
            documents = render("--set-file", "generated.policies=" + file.name, namespace="gpus")
        policies = [d for d in documents if d["kind"] == "ValidatingAdmissionPolicy"]
        naming = {d["metadata"]["name"] for d in policies if theirs in json.dumps(d["spec"])}
        self.assertLessEqual({"divvy-pod-annotations", "divvy-node-annotations", "divvy-bindings"}, naming)
        self.assertIn("system:serviceaccount:gpus:divvy-scheduler", json.dumps(policies))
        for option in ("--writers", "--other-schedulers", "generated.policies"):
            self.assertIn(option, page("migration.md").split("## From HAMi")[1].split("## From NVIDIA")[0])


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

    # Regression: of two images one was told of.
    def test_who_has_no_way_out_is_told_of_all(self):
        told = page("install.md").split("## Install without internet access")[1].split("\n## ")[0]
        for image in self.images():
            self.assertIn(image.split(":")[0], told)
        self.assertIn("kube-scheduler:vX.Y.Z", told)

    def test_providers_suffixes_are_no_part_of_the_tag(self):
        self.assertIn("kube-scheduler:v1.33.1", self.images("--kube-version", "v1.33.1-eks-ab12"))

    def test_a_digest_goes_before_a_tag(self):
        digest = "sha256:" + "0" * 64
        self.assertIn("divvy@" + digest, self.images("--set", "image.digest=" + digest))

    def test_pull_secrets_reach_all_pods(self):
        words = ["--set", "imagePullSecrets[0].name=mine"]
        for kind, name in (("DaemonSet", "divvy-agent"), ("DaemonSet", "divvy-agent-helper"),
                           ("Deployment", "divvy-scheduler"), ("Deployment", "divvy-console")):
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

    # Regression: alerts named a pod's address where runbooks want a node.
    def test_an_agents_instance_is_its_nodes_name(self):
        documents = render(*OPERATOR)
        monitor = one_of(documents, "PodMonitor", "divvy-agent")["spec"]["podMetricsEndpoints"]
        self.assertEqual(monitor, [{"port": "metrics", "interval": "30s", "honorLabels": True, "relabelings": [
            {"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "instance"}]}])
        self.assertNotIn("relabelings", one_of(documents, "ServiceMonitor", "divvy-scheduler")["spec"]["endpoints"][0])

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

    def test_deprecated_names_are_one_value_of_both(self):
        def switches(*words):
            documents = render(*words)
            pods = [one_of(documents, kind, f"divvy-{part}")["spec"]["template"]["spec"]["containers"]
                    for kind, part in (("Deployment", "scheduler"), ("DaemonSet", "agent"))]
            return [arg for containers in pods for c in containers for arg in c.get("args", [])
                    if arg.startswith("--deprecated-names")]
        self.assertEqual(switches(), ["--deprecated-names=on"] * 2)
        self.assertEqual(switches("--set", "deprecatedNames=false"), ["--deprecated-names=off"] * 2)

    def test_rules_and_dashboards_are_those_that_are_tested(self):
        rules = one_of(render(*OPERATOR), "PrometheusRule", "divvy-alerts")
        alerts = yaml.safe_load((pathlib.Path(CHART).parents[1] / "prometheus" / "alerts.yaml").read_text("utf-8"))
        self.assertEqual(rules["spec"], alerts)
        self.assertNotIn("PrometheusRule", self.kinds(*OPERATOR, "--set", "monitoring.rules=false"))
        # Regression: where none was installed one was missed for ever.
        rules = one_of(render(*OPERATOR, "--set", "scheduler.enabled=false"), "PrometheusRule", "divvy-alerts")
        self.assertEqual(rules["spec"]["groups"], [g for g in alerts["groups"] if g["name"] == "divvy-node"])
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
        self.assertNotIn("Deployment", self.kinds("--set", "scheduler.enabled=false,console.enabled=false"))
        for part in ("scheduler", "console"):
            left = {d["metadata"]["name"] for d in render("--set", part + ".enabled=false") if d["kind"] == "Deployment"}
            self.assertEqual(left, {"divvy-scheduler", "divvy-console"} - {"divvy-" + part})

    # Regression: agents of Volcano's nodes went by what any maker of a pod could write.
    def test_agents_alone_have_the_policies_that_let_others_place(self):
        def policies(*words):
            return {d["metadata"]["name"] for d in render("--set", "scheduler.enabled=false", *words)
                    if d["kind"].startswith("ValidatingAdmissionPolicy")}
        kept = {"divvy-volcano-annotations", "divvy-visible-devices", "divvy-agents", "divvy-priority"}
        documents = {key(d): without_ours(d) for d in render("--set", "scheduler.enabled=false")}
        for wanted in plain():
            if wanted["metadata"]["name"] in kept:
                self.assertEqual(documents.get(key(wanted)), without_ours(wanted), key(wanted))
        self.assertEqual(policies(), kept)
        self.assertEqual(policies("--set", "agent.enabled=false"), set())
        # Who gives some has them all.
        given = policies("--set-file", f"generated.policies={MANIFESTS}/policies.yaml")
        self.assertEqual(given, {d["metadata"]["name"] for d in
                                 yaml.safe_load_all(pathlib.Path(MANIFESTS, "policies.yaml").read_text()) if d})

    # Regression: any pod said that it has high priority, and that it is never evicted.
    def test_priority_is_restricted_until_it_is_said_otherwise(self):
        def high(*words):
            policy = one_of(render(*words), "ValidatingAdmissionPolicy", "divvy-priority")["spec"]
            return next(v["expression"] for v in policy["variables"] if v["name"] == "high")
        self.assertEqual(high(), "false")
        self.assertEqual(high("--set", "scheduler.priorityClasses.batch=low"), "false")
        self.assertEqual(high("--set", "scheduler.priorityClasses.batch=low,scheduler.priorityClasses.serve=high,"
                              "scheduler.priorityClasses.chat=high"),
                         "object.spec.?priorityClassName.orValue('') in ['chat', 'serve']")
        free = [d["metadata"]["name"] for d in render("--set", "policies.restrictPriority=false")]
        self.assertNotIn("divvy-priority", free)
        self.assertEqual(free.count("divvy-devices"), 2)
        for option in ("--priority-value=1=high", "--priority-class=a=high"):
            words = ("--set-string", "scheduler.extraArgs={" + option + "}")
            self.assertIn("divvy-priority does not include " + option, refusal(*words))
            self.assertEqual(refusal(*words, "--set", "policies.restrictPriority=false"), "")
            given = ("--set-file", f"generated.policies={MANIFESTS}/policies.yaml")
            self.assertEqual(refusal(*words, *given), "")

    def test_a_certificate_of_ones_own_leaves_divvys_secret_out(self):
        documents = render("--set", "webhook.secretName=mine")
        self.assertNotIn("Secret", {d["kind"] for d in documents})
        args = one_of(documents, "Deployment", "divvy-scheduler")["spec"]["template"]["spec"]
        self.assertIn("--cert-file=/etc/divvy-webhook/tls.crt", args["containers"][0]["args"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
