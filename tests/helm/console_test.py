"""The chart's console: its pod, its rights, and the ways to it. Usage: console_test.py HELM CHART MANIFESTS DIVVY"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

from rendered import CHART, DIVVY, one_of, page, pod_of, refusal, render

NAME = "divvy-console"
REVIEWS = {("authentication.k8s.io", "tokenreviews", "create"),
           ("authorization.k8s.io", "subjectaccessreviews", "create")}
READS = {"get", "list", "watch"}
# A dry run of the planner, with the rights of the kubeconfig's user. In the cluster the viewer's own token makes it.
DRY_RUN = {("", "pods", "create")}


def consoles(*words, **more):
    """Every document of the console, by kind and name."""
    return {(d["kind"], d["metadata"]["name"]): d for d in render(*words, **more)
            if d["metadata"]["name"].startswith(NAME)}


def container(*words):
    return pod_of(render(*words), "Deployment", NAME)["containers"][0]


def rights(role):
    return {(group, resource, verb) for rule in role["rules"] for group in rule["apiGroups"]
            for resource in rule["resources"] for verb in rule["verbs"]}


def rights_of_the_page():
    """Of the ClusterRole and of the Role that docs/guides/console-cluster.md gives to the kubeconfig's user."""
    text = page("console-cluster.md").split("## Rights\n")[1].split("```yaml\n")[1].split("```")[0]
    documents = [one for one in yaml.safe_load_all(text) if one]
    return [rights(next(d for d in documents if d["kind"] == kind)) for kind in ("ClusterRole", "Role")]


class Default(unittest.TestCase):
    def setUp(self):
        self.documents = render()
        self.deployment = one_of(self.documents, "Deployment", NAME)["spec"]
        self.pod = self.deployment["template"]["spec"]
        self.container, = self.pod["containers"]

    def test_these_documents_are_there_and_no_others(self):
        self.assertEqual({kind for kind, name in consoles() if name == NAME},
                         {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Service",
                          "Deployment", "NetworkPolicy"})
        self.assertEqual({key for key in consoles() if key[1] != NAME}, {("ClusterRole", "divvy-console-viewer")})

    def test_one_pod_at_a_time_serves_viewers_with_tokens(self):
        self.assertEqual((self.deployment["replicas"], self.deployment["strategy"]), (1, {"type": "Recreate"}))
        self.assertEqual(self.container["args"],
                         ["console", "--cluster", "--login=token", "--listen=0.0.0.0:9400", "--base-path=/",
                          "--history=/var/lib/divvy/console.sqlite", "--agents=divvy-system", "--compat=none"])
        self.assertEqual(self.pod["serviceAccountName"], NAME)
        self.assertEqual(self.container["resources"]["limits"], {"memory": "1Gi"})
        self.assertEqual(set(self.container["resources"]["requests"]), {"cpu", "memory"})

    def test_the_pod_is_as_confined_as_the_schedulers(self):
        scheduler = pod_of(self.documents, "Deployment", "divvy-scheduler")
        self.assertEqual(self.pod["securityContext"], scheduler["securityContext"])
        self.assertEqual(self.container["securityContext"], scheduler["containers"][0]["securityContext"])
        self.assertEqual(self.container["image"], scheduler["containers"][0]["image"])

    # A Service gives variables DIVVY_CONSOLE_... to each pod of its namespace.
    def test_no_service_is_told_by_variables(self):
        self.assertIs(self.pod["enableServiceLinks"], False)

    def test_only_the_history_can_be_written(self):
        self.assertEqual(self.container["volumeMounts"], [{"name": "history", "mountPath": "/var/lib/divvy"}])
        self.assertEqual(self.pod["volumes"], [{"name": "history", "emptyDir": {"sizeLimit": "2Gi"}}])
        self.assertIn({"name": "SQLITE_TMPDIR", "value": "/var/lib/divvy"}, self.container["env"])

    def test_probes_ask_for_health_and_the_first_reading(self):
        wanted = {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
        self.assertEqual(self.container["ports"], [{"name": "console", "containerPort": 9400}])
        for probe, path in wanted.items():
            self.assertEqual(self.container[probe]["httpGet"], {"path": path, "port": "console", "scheme": "HTTP"})

    def test_the_service_selects_the_pod(self):
        service = one_of(self.documents, "Service", NAME)["spec"]
        labels = self.deployment["template"]["metadata"]["labels"]
        self.assertEqual(service["selector"], labels)
        self.assertEqual(self.deployment["selector"]["matchLabels"], labels)
        self.assertEqual(service["type"], "ClusterIP")
        self.assertEqual(service["ports"], [{"name": "http", "port": 80, "targetPort": "console"}])


class Rights(unittest.TestCase):
    def roles_of_the_account(self, documents):
        """Every role that any binding of the chart gives to the console's account."""
        found = []
        for one in documents:
            if one["kind"] in ("RoleBinding", "ClusterRoleBinding"):
                for subject in one["subjects"]:
                    if (subject["kind"], subject["name"]) == ("ServiceAccount", NAME):
                        self.assertEqual(subject["namespace"], "divvy-system")
                        found.append((one["roleRef"]["kind"], one["roleRef"]["name"]))
        return sorted(found)

    def test_the_account_writes_nothing_but_the_two_reviews(self):
        for words in ((), ("--set", "console.allowChanges=true")):
            self.writes_nothing_but_the_two_reviews(render(*words))

    def writes_nothing_but_the_two_reviews(self, documents):
        bound = self.roles_of_the_account(documents)
        self.assertEqual(bound, [("ClusterRole", NAME), ("Role", NAME)])
        for kind, name in bound:
            found = rights(one_of(documents, kind, name))
            self.assertEqual({right for right in found if right[2] not in READS},
                             REVIEWS if kind == "ClusterRole" else set())
            self.assertFalse([right for right in found if "*" in right], found)
        # In the agents' namespace only.
        self.assertEqual(one_of(documents, "Role", NAME)["metadata"]["namespace"], "divvy-system")
        for one in documents:
            if one["kind"] in ("ClusterRole", "Role") and one["metadata"]["name"].startswith(NAME):
                self.assertFalse([rule for rule in one["rules"] if "secrets" in rule["resources"]])

    def test_reads_are_those_of_the_page(self):
        cluster, agents = rights_of_the_page()
        self.assertGreater(len(cluster), 15)
        self.assertLessEqual(DRY_RUN, cluster)
        documents = render()
        self.assertEqual(rights(one_of(documents, "ClusterRole", NAME)), (cluster - DRY_RUN) | REVIEWS)
        self.assertEqual(rights(one_of(documents, "Role", NAME)), agents)
        self.assertEqual(agents, {("", "pods/proxy", "get")})

    # Objects of the page that were made by hand would keep the chart from being installed.
    def test_names_of_the_page_are_not_those_of_the_chart(self):
        text = page("console-cluster.md").split("## Rights\n")[1].split("```yaml\n")[1].split("```")[0]
        by_hand = {(d["kind"], d["metadata"]["name"]) for d in yaml.safe_load_all(text) if d}
        self.assertEqual(by_hand & set(consoles()), set())

    def test_without_agents_no_pod_is_asked(self):
        for words in ("agent.enabled=false", "agent.metrics.enabled=false"):
            documents = render("--set", words)
            self.assertIn("--agents=none", pod_of(documents, "Deployment", NAME)["containers"][0]["args"])
            self.assertEqual(self.roles_of_the_account(documents), [("ClusterRole", NAME)])

    def test_the_viewers_role_is_bound_to_no_subject(self):
        documents = render()
        role = one_of(documents, "ClusterRole", "divvy-console-viewer")
        self.assertEqual(rights(role), {(group, resource, verb) for verb in ("list", "watch")
                                        for group, resource in (("", "nodes"), ("", "pods"), ("", "events"),
                                                                ("divvy.dev", "queues"))})
        self.assertFalse([d for d in documents if d.get("roleRef", {}).get("name") == "divvy-console-viewer"])
        self.assertFalse([label for label in role["metadata"]["labels"] if "aggregate-to" in label])
        wider = one_of(render("--set", "console.viewerRole.aggregateTo={view}"), "ClusterRole", "divvy-console-viewer")
        self.assertEqual(wider["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"], "true")
        self.assertIn("divvy-console-viewer", page("console-cluster.md"))


class Said(unittest.TestCase):
    def test_it_can_be_left_out(self):
        self.assertEqual(consoles("--set", "console.enabled=false"), {})

    def test_it_needs_neither_scheduler_nor_agents(self):
        for words in ("scheduler.enabled=false", "agent.enabled=false"):
            self.assertIn(("Deployment", NAME), consoles("--set", words))

    def test_it_follows_the_namespace(self):
        documents = consoles(namespace="gpus")
        self.assertIn("--agents=gpus", pod_of(documents.values(), "Deployment", NAME)["containers"][0]["args"])
        for (kind, name), one in documents.items():
            wanted = None if kind.startswith("Cluster") else "gpus"
            self.assertEqual(one["metadata"].get("namespace"), wanted, (kind, name))
            self.assertEqual([s["namespace"] for s in one.get("subjects", [])], ["gpus"] * len(one.get("subjects", [])))

    def test_its_own_certificate_makes_it_serve_https(self):
        documents = render("--set", "console.tls.secretName=mine")
        pod = pod_of(documents, "Deployment", NAME)
        served, = pod["containers"]
        self.assertLessEqual({"--tls-cert=/etc/divvy-console/tls.crt", "--tls-key=/etc/divvy-console/tls.key"},
                             set(served["args"]))
        self.assertIn({"name": "certificate", "mountPath": "/etc/divvy-console", "readOnly": True},
                      served["volumeMounts"])
        self.assertIn({"name": "certificate", "secret": {"secretName": "mine"}}, pod["volumes"])
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            self.assertEqual(served[probe]["httpGet"]["scheme"], "HTTPS")
        self.assertEqual(one_of(documents, "Service", NAME)["spec"]["ports"],
                         [{"name": "https", "port": 443, "targetPort": "console"}])
        self.assertFalse([word for word in container()["args"] if word.startswith("--tls")])

    def test_a_path_of_its_own_is_that_of_probes_and_ingress(self):
        for given, wanted in (("/", "/"), ("/gpu/", "/gpu/"), ("/gpu", "/gpu/"), ("/a.b/c", "/a.b/c/")):
            documents = render("--set", f"console.basePath={given},console.ingress.enabled=true")
            served = pod_of(documents, "Deployment", NAME)["containers"][0]
            self.assertIn("--base-path=" + given, served["args"])
            self.assertEqual(served["livenessProbe"]["httpGet"]["path"], wanted + "healthz")
            self.assertEqual(served["readinessProbe"]["httpGet"]["path"], wanted + "readyz")
            path, = one_of(documents, "Ingress", NAME)["spec"]["rules"][0]["http"]["paths"]
            self.assertEqual((path["path"], path["pathType"]), (given, "Prefix"))

    def test_an_ingress_is_made_where_it_is_asked_for(self):
        self.assertNotIn(("Ingress", NAME), consoles())
        bare = one_of(render("--set", "console.ingress.enabled=true"), "Ingress", NAME)
        self.assertEqual(set(bare["spec"]), {"rules"})
        self.assertNotIn("host", bare["spec"]["rules"][0])
        whole = one_of(render("--set", "console.ingress.enabled=true,console.ingress.className=nginx,"
                              "console.ingress.host=gpu.example,console.ingress.tls.secretName=cert",
                              "--set-string", r"console.ingress.annotations.example\.com/a=true"), "Ingress", NAME)
        self.assertEqual(whole["metadata"]["annotations"], {"example.com/a": "true"})
        self.assertEqual(whole["spec"]["ingressClassName"], "nginx")
        self.assertEqual(whole["spec"]["tls"], [{"hosts": ["gpu.example"], "secretName": "cert"}])
        rule, = whole["spec"]["rules"]
        self.assertEqual(rule["host"], "gpu.example")
        for words, port in ((), "http"), (("--set", "console.tls.secretName=mine"), "https"):
            documents = render("--set", "console.ingress.enabled=true", *words)
            backend = one_of(documents, "Ingress", NAME)["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]
            self.assertEqual(backend, {"name": NAME, "port": {"name": port}})
            self.assertEqual([one["name"] for one in one_of(documents, "Service", NAME)["spec"]["ports"]], [port])

    def test_a_service_of_another_type(self):
        service = one_of(render("--set", "console.service.type=NodePort,console.service.nodePort=30940",
                                "--set-string", "console.service.annotations.a=b"), "Service", NAME)
        self.assertEqual(service["spec"]["type"], "NodePort")
        self.assertEqual(service["spec"]["ports"][0]["nodePort"], 30940)
        self.assertEqual(service["metadata"]["annotations"], {"a": "b"})
        free = one_of(render("--set", "console.service.type=NodePort"), "Service", NAME)
        self.assertNotIn("nodePort", free["spec"]["ports"][0])

    def test_history_may_outlive_the_pod(self):
        self.assertNotIn(("PersistentVolumeClaim", NAME), consoles())
        documents = render("--set", "console.history.persistent=true,console.history.size=5Gi")
        claim = one_of(documents, "PersistentVolumeClaim", NAME)["spec"]
        self.assertEqual(claim, {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}})
        self.assertEqual(pod_of(documents, "Deployment", NAME)["volumes"],
                         [{"name": "history", "persistentVolumeClaim": {"claimName": NAME}}])
        documents = render("--set", "console.history.persistent=true,console.history.storageClass=fast")
        self.assertEqual(one_of(documents, "PersistentVolumeClaim", NAME)["spec"]["storageClassName"], "fast")
        pod = pod_of(render("--set", "console.history.size=3Gi"), "Deployment", NAME)
        self.assertEqual(pod["volumes"], [{"name": "history", "emptyDir": {"sizeLimit": "3Gi"}}])

    def test_words_reach_the_program(self):
        args = container("--set", "console.clusterName=a cluster,console.teamLabel=example.com/team",
                         "--set", "console.extraArgs={--interval=5s}",
                         "--set-json", 'console.trustedProxies=["10.0.0.0/8", "fd00::7"]',
                         "--set-string", "listenAddress=[::]")["args"]
        self.assertLessEqual({"--trusted-proxies=10.0.0.0/8,fd00::7", "--name=a cluster",
                              "--team-label=example.com/team", "--interval=5s", "--listen=[::]:9400"}, set(args))
        self.assertIn("--allow-changes", container("--set", "console.allowChanges=true")["args"])
        env = container("--set", "apiServer.host=10.0.0.1,apiServer.port=6443")["env"]
        self.assertIn({"name": "KUBERNETES_SERVICE_HOST", "value": "10.0.0.1"}, env)
        self.assertIn({"name": "KUBERNETES_SERVICE_PORT", "value": "6443"}, env)

    def test_a_proxy_names_the_viewers_in_headers(self):
        given = ["--set-json", 'console.trustHeadersFrom=["10.0.3.7/32", "fd00::7"]', "--set", "console.login=headers"]
        args = container(*given)["args"]
        self.assertLessEqual({"--login=headers", "--trust-headers-from=10.0.3.7/32,fd00::7"}, set(args))
        self.assertNotIn("--login=token", args)
        self.assertFalse([word for word in container()["args"] if word.startswith("--trust")])
        # The program accepts the chart's words: it fails at the kubeconfig, which is read later.
        with tempfile.TemporaryDirectory() as folder:
            words = [word for word in args if word.startswith(("--login", "--trust"))]
            said = subprocess.run([DIVVY, "console", "--cluster", *words], capture_output=True, text=True, timeout=20,
                                  env={"KUBECONFIG": folder + "/none", "HOME": folder})
            self.assertIn(folder + "/none", said.stderr)
            self.assertNotEqual(said.returncode, 0)

    # Devices and pools would be others than the scheduler's.
    def test_it_reads_what_the_scheduler_reads(self):
        words = ["--set", "scheduler.compat=hami,scheduler.nodePolicy=spread,scheduler.minRuntime=10m",
                 "--set-string", "scheduler.pools=pools: []", "--set-string", "scheduler.deviceConfig=nvidia: {}",
                 "--set-string", "scheduler.modelResources=model_resources: []"]
        documents = render(*words)
        pod = pod_of(documents, "Deployment", NAME)
        args = pod["containers"][0]["args"]
        both = {"--compat=hami", "--node-policy=spread", "--min-runtime=10m", "--pools=/etc/divvy/pools.yaml",
                "--device-config=/etc/divvy/device-config.yaml", "--model-resources=/etc/divvy/model-resources.yaml"}
        self.assertLessEqual(both, set(args))
        self.assertLessEqual(both, set(pod_of(documents, "Deployment", "divvy-scheduler")["containers"][0]["args"]))
        self.assertIn({"name": "config", "mountPath": "/etc/divvy", "readOnly": True},
                      pod["containers"][0]["volumeMounts"])
        items = next(v for v in pod["volumes"] if v["name"] == "config")["configMap"]
        held = one_of(documents, "ConfigMap", items["name"])["data"]
        self.assertEqual({i["key"] for i in items["items"]},
                         {"pools.yaml", "device-config.yaml", "model-resources.yaml"})
        self.assertLessEqual({i["key"] for i in items["items"]}, set(held))
        # They are read at the start.
        stamp = lambda docs: one_of(docs, "Deployment", NAME)["spec"]["template"]["metadata"]["annotations"]
        self.assertNotEqual(stamp(documents), stamp(render(*words, "--set-string", "scheduler.pools=pools: [{}]")))
        # Where there is no scheduler its ConfigMap is not there.
        alone = pod_of(render(*words, "--set", "scheduler.enabled=false"), "Deployment", NAME)
        self.assertFalse([a for a in alone["containers"][0]["args"] if "/etc/divvy" in a or "--compat" in a])
        self.assertEqual([v["name"] for v in alone["volumes"]], ["history"])

    def test_prices_reach_the_program(self):
        given = {"currency": "EUR", "prices": [{"model": "H100", "perHour": 2.9, "from": "2026-07-01"},
                                               {"model": "A10", "perHour": "0.000001"}]}
        words = ["--set-json", "console.prices=" + json.dumps(given)]
        documents = render(*words)
        pod = pod_of(documents, "Deployment", NAME)
        self.assertIn("--prices=/etc/divvy-prices/prices.yaml", pod["containers"][0]["args"])
        self.assertIn({"name": "prices", "mountPath": "/etc/divvy-prices", "readOnly": True},
                      pod["containers"][0]["volumeMounts"])
        volume = next(v for v in pod["volumes"] if v["name"] == "prices")
        held = one_of(documents, "ConfigMap", volume["configMap"]["name"])["data"]["prices.yaml"]
        self.assertEqual(yaml.safe_load(held), given)
        # They are read at the start.
        stamp = lambda docs: one_of(docs, "Deployment", NAME)["spec"]["template"]["metadata"]["annotations"]
        given["prices"][0]["perHour"] = 3
        self.assertNotEqual(stamp(documents), stamp(render("--set-json", "console.prices=" + json.dumps(given))))
        # The program reads the chart's text: it fails at the kubeconfig, which is read after the prices.
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "prices.yaml").write_text(held)
            said = subprocess.run([DIVVY, "console", "--cluster", "--prices", folder + "/prices.yaml"],
                                  capture_output=True, text=True, timeout=20,
                                  env={"KUBECONFIG": folder + "/none", "HOME": folder})
            self.assertNotIn("prices", said.stderr)
            self.assertNotEqual(said.returncode, 0)

    def test_placement_is_that_of_the_values(self):
        given = {"nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}], "priorityClassName": "high",
                 "affinity": {"nodeAffinity": {}}}
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(yaml.safe_dump({"console": {**given, "podAnnotations": {"example": "z"}, "podLabels": {"l": "m"}}}))
            file.flush()
            template = one_of(render("-f", file.name), "Deployment", NAME)["spec"]["template"]
        self.assertEqual({name: template["spec"][name] for name in given}, given)
        self.assertEqual(template["metadata"]["annotations"], {"example": "z"})
        self.assertEqual(template["metadata"]["labels"]["l"], "m")
        bare = pod_of(render(), "Deployment", NAME)
        self.assertFalse([name for name in given if name in bare])


class Pages(unittest.TestCase):
    def test_values_that_pages_name_are_there(self):
        values = yaml.safe_load(pathlib.Path(CHART, "values.yaml").read_text())
        for name in ("console-cluster.md", "install.md"):
            found = set(re.findall(r"\b((?:console|networkPolicy)(?:\.[a-z][A-Za-z]+)+)", page(name)))
            found -= {"console.sqlite", "console.md"}
            self.assertGreater(len(found), 4, name)
            for each in found:
                at = values
                for word in each.split("."):
                    self.assertIn(word, at, f"{name}: {each}")
                    at = at[word]


class Refuses(unittest.TestCase):
    def test_wrong_values(self):
        for words in ("console.enabled=yes", "console.allowChanges=yes", "console.replicas=2", "console.basePath=gpu", "console.basePath=/a//b",
                      "console.basePath=/../a", "console.basePath=/a b", "console.basePath=",
                      "console.teamLabel=a b", "console.history=memory", "console.history.size=0",
                      "console.history.size=2 Gi", "console.history.path=/x", "console.service.type=ExternalName",
                      "console.service.nodePort=70000", "console.ingress.host=https://x",
                      "console.ingress.host=x:80", "console.ingress.tls=true", "console.tls.secretName=A_B",
                      "console.tls.crt=x", "console.prices.currency=EUR", "console.prices.vat=19",
                      "console.trustedProxies={proxy.example.com}", "console.trustedProxies={10.0.0.0/}",
                      "console.viewerRole.aggregateTo={*}", "console.login=link", "console.login=",
                      "console.trustHeadersFrom={0.0.0.0/0}", "console.trustHeadersFrom={::/0}",
                      "console.trustHeadersFrom={10.0.0.0/7}", "console.trustHeadersFrom={10.0.0.0/08}",
                      "console.trustHeadersFrom={proxy}", "console.trustHeadersFrom=10.0.0.7",
                      "networkPolicy.consolePeers={x}", "networkPolicy.consolePeers[0].from=x"):
            said = refusal("--set", words)
            self.assertIn("schema", said, words)
            self.assertIn(re.split(r"[=\[]", words)[0].split(".")[1], said, words)
        self.assertIn("clusterName", refusal("--set-string", "console.clusterName=" + "x" * 64))
        self.assertIn("clusterName", refusal("--set-json", 'console.clusterName="a\\nb"'))

    def test_what_goes_together_and_is_said_in_part(self):
        said = refusal("--set", "console.ingress.enabled=true,console.ingress.tls.secretName=cert")
        self.assertIn("console.ingress.host, which is empty; accepted", said)
        said = refusal("--set", "console.service.nodePort=30940")
        self.assertIn("console.service.type than ClusterIP; accepted", said)
        said = refusal("--set", "console.login=headers")
        self.assertIn("console.trustHeadersFrom, which is empty; accepted: addresses of the proxy", said)
        said = refusal("--set", "console.trustHeadersFrom={10.0.0.7}")
        self.assertIn("console.trustHeadersFrom requires console.login=headers; accepted", said)
        said = refusal("--set-json", 'console.trustHeadersFrom=["10.0.3.7/32"]', "--set", "console.login=headers",
                       "--set", "console.allowChanges=true")
        self.assertIn("console.allowChanges requires a token of each viewer", said)

    # The program would end at its start.
    def test_paths_that_the_program_does_not_understand(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "config").write_text(
                'clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]\n'
                "contexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n")
            for wrong in ("gpu", "/a//b", "/../a", "/a b", "/a..b"):
                said = subprocess.run([DIVVY, "console", "--cluster", "--base-path=" + wrong], capture_output=True,
                                      text=True, timeout=20, env={"KUBECONFIG": folder + "/config", "HOME": folder})
                self.assertIn("--base-path", said.stderr, wrong)
                self.assertIn("basePath", refusal("--set-string", "console.basePath=" + wrong), wrong)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
