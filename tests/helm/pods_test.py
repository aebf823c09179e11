"""What the chart's pods ask of nodes, and what they are told. Usage: pods_test.py HELM CHART MANIFESTS DIVVY"""
import sys
import tempfile
import unittest

import yaml

from rendered import one_of, page, pod_of, render


class AsksOfNodes(unittest.TestCase):
    def setUp(self):
        self.documents = render()
        self.agent = one_of(self.documents, "DaemonSet", "divvy-agent")["spec"]["template"]["spec"]
        self.helper = one_of(self.documents, "DaemonSet", "divvy-agent-helper")["spec"]["template"]["spec"]
        self.scheduler = one_of(self.documents, "Deployment", "divvy-scheduler")["spec"]
        self.pods = [self.helper, self.agent, self.scheduler["template"]["spec"],
                     one_of(self.documents, "Pod", "divvy-test-share")["spec"],
                     pod_of(self.documents, "Deployment", "divvy-console")]

    def folders(self, name, *words):
        """of the host, and which of them can be written"""
        spec = one_of(render(*words), "DaemonSet", name)["spec"]["template"]["spec"]
        paths = {v["name"]: v["hostPath"]["path"] for v in spec["volumes"]}
        return {paths[m["name"]]: not m.get("readOnly", False) for m in spec["containers"][0]["volumeMounts"]}

    def test_the_agent_has_these_folders_and_no_others(self):
        own = {"/run/divvy": True, "/var/lib/divvy": True}
        kubelets = {"/var/lib/kubelet/device-plugins": True, "/var/lib/kubelet/pod-resources": False}
        mounts, alone = ("--set", "agent.injection=mounts"), ("--set", "agent.helper.enabled=false")
        self.assertEqual(self.folders("divvy-agent", *mounts), own)
        self.assertEqual(self.folders("divvy-agent-helper", *mounts), {**own, **kubelets})
        self.assertEqual(self.folders("divvy-agent", *alone, *mounts), {**own, **kubelets})
        # And where the runtime may be told by CDI, where it looks for that. The agent alone is both.
        for cdi in (), ("--set", "agent.injection=cdi"):
            self.assertEqual(self.folders("divvy-agent", *cdi), {**own, "/etc/cdi": False, "/var/run/cdi": False})
            self.assertEqual(self.folders("divvy-agent-helper", *cdi), {**own, **kubelets, "/var/run/cdi": True})
            self.assertEqual(self.folders("divvy-agent", *alone, *cdi),
                             {**own, **kubelets, "/etc/cdi": False, "/var/run/cdi": True})

    # Regression: a kubelet with another --root-dir has them apart, and there was one value for both.
    def test_pod_resources_may_be_elsewhere(self):
        for enabled, name in (("true", "divvy-agent-helper"), ("false", "divvy-agent")):
            documents = render("--set", "agent.podResourcesDir=/k0s/pod-resources,agent.helper.enabled=" + enabled)
            spec = pod_of(documents, "DaemonSet", name)
            volumes = {v["name"]: v["hostPath"]["path"] for v in spec["volumes"] if "hostPath" in v}
            mounts = {m["name"]: m["mountPath"] for m in spec["containers"][0]["volumeMounts"]}
            self.assertEqual(volumes["pod-resources"], "/k0s/pod-resources")
            self.assertEqual(volumes["device-plugins"], "/var/lib/kubelet/device-plugins")
            self.assertEqual(mounts["pod-resources"], "/var/lib/kubelet/pod-resources")

    # Regression: a pod with one path mounted twice is none.
    def test_a_folder_is_mounted_once_wherever_it_is(self):
        for folder in ("/etc/cdi", "/etc/cdi/"):
            for enabled, writes in (("true", False), ("false", True)):
                documents = render("--set", f"agent.injection=cdi,agent.cdiDir={folder},agent.helper.enabled={enabled}")
                spec = pod_of(documents, "DaemonSet", "divvy-agent")
                mounts = [m for m in spec["containers"][0]["volumeMounts"] if m["mountPath"].rstrip("/") == "/etc/cdi"]
                self.assertEqual([not m.get("readOnly", False) for m in mounts], [writes], folder)
                self.assertNotIn("static-cdi", [v["name"] for v in spec["volumes"]])

    # Regression: numbers from 1000000 on were 1.00065e+09, which is nobody.
    def test_large_numbers_stay_numbers(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("agent: {helper: {agentUser: 1000650000}}\ntest: {memoryMiB: 1048576}\n")
            file.flush()
            documents = render("--values", file.name)
        self.assertEqual(pod_of(documents, "DaemonSet", "divvy-agent")["securityContext"]["runAsUser"], 1000650000)
        self.assertIn("--agent-user=1000650000",
                      pod_of(documents, "DaemonSet", "divvy-agent-helper")["containers"][0]["args"])
        limits = one_of(documents, "Pod", "divvy-test-share")["spec"]["containers"][0]["resources"]["limits"]
        self.assertIs(type(limits["nvidia.com/gpumem"]), int)

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
            # That one the kubelet gives.
            self.assertEqual(pod["nodeSelector"], {"kubernetes.io/os": "linux"})
            self.assertNotIn("affinity", pod)
            self.assertEqual(pod["tolerations"], [{"operator": "Exists"}])
            self.assertEqual(pod["priorityClassName"], "system-node-critical")

    # Regression: where a node has another system, or no runtime of that class, rollouts waited for its pods.
    def test_nodes_on_which_agents_cannot_run_are_left_out(self):
        words = r"agent.nodeSelector.nvidia\.com/gpu\.present=true"
        documents = render("--set", "agent.runtimeClassName=nvidia", "--set-string", words,
                           "--set-string", r"agent.nodeSelector.kubernetes\.io/os=windows")
        for name in ("divvy-agent", "divvy-agent-helper"):
            pod = pod_of(documents, "DaemonSet", name)
            self.assertEqual(pod["runtimeClassName"], "nvidia")
            self.assertEqual(pod["nodeSelector"], {"kubernetes.io/os": "linux", "nvidia.com/gpu.present": "true"})
        for name in ("install.md", "rke2.md"):
            self.assertIn(words, page(name))

    # Regression: it was not to be changed where there is no address of IPv4.
    def test_all_that_is_asked_from_elsewhere_listens_where_it_is_told(self):
        for words, address in (((), "0.0.0.0"), (("--set-string", "listenAddress=[::]"), "[::]")):
            documents = render(*words)
            scheduler = pod_of(documents, "Deployment", "divvy-scheduler")["containers"][0]["args"]
            self.assertLessEqual({f"--webhook-listen={address}:9443", f"--metrics-listen={address}:9395",
                                  "--listen=127.0.0.1:9396"}, set(scheduler))
            self.assertIn(f"--metrics-listen={address}:9394",
                          pod_of(documents, "DaemonSet", "divvy-agent")["containers"][0]["args"])
            self.assertIn(f"--listen={address}:9400",
                          pod_of(documents, "Deployment", "divvy-console")["containers"][0]["args"])

    # Regression: of an address of IPv6 the certificate was for "[fd00".
    def test_a_certificate_is_for_whom_api_servers_call(self):
        for host, name in (("10.0.0.1", "10.0.0.1"), ("gate.example", "gate.example"), ("[fd00::1]", "fd00::1")):
            for port in ("", ":9443"):
                words = ("--set-string", f"webhook.url=https://{host}{port}/webhook")
                args = pod_of(render(*words), "Deployment", "divvy-scheduler")["containers"][0]["args"]
                self.assertIn("--cert-names=" + name, args)

    # Regression: on a node of a control plane its own kube-scheduler had the port.
    def test_on_a_hosts_network_there_is_another_kube_scheduler(self):
        for words, port in (("scheduler.hostNetwork=false", 10259), ("scheduler.hostNetwork=true", 9397),
                            ("scheduler.hostNetwork=true,scheduler.ports.kubeScheduler=7", 7)):
            container = pod_of(render("--set", words), "Deployment", "divvy-scheduler")["containers"][1]
            self.assertIn(f"--secure-port={port}", container["command"])
            self.assertEqual(container["livenessProbe"]["httpGet"]["port"], port)

    def test_two_replicas_on_two_nodes_and_a_budget(self):
        self.assertEqual(self.scheduler["replicas"], 2)
        one_of(self.documents, "PodDisruptionBudget", "divvy-scheduler")
        pod = self.scheduler["template"]["spec"]
        self.assertIn("podAntiAffinity", pod["affinity"])
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            self.assertIn(probe, pod["containers"][0])

    def test_agents_are_looked_after_where_their_port_is_theirs(self):
        probes = {"livenessProbe": "/healthz", "readinessProbe": "/readyz"}
        for words, there in (("agent.hostNetwork=false", True), ("agent.hostNetwork=true", False),
                             ("agent.metrics.enabled=false", False),
                             # Somebody says whose it is.
                             ("agent.hostNetwork=true,agent.probes=always", True), ("agent.probes=always", True),
                             ("agent.probes=never", False)):
            container = pod_of(render("--set", words), "DaemonSet", "divvy-agent")["containers"][0]
            for probe, path in probes.items():
                self.assertEqual(probe in container, there, words)
                if there:
                    self.assertEqual(container[probe]["httpGet"], {"path": path, "port": "metrics"})
        self.assertIn("agent.probes=always", page("monitoring.md"))

    def test_secrets_are_allowed_by_name(self):
        for role in (d for d in self.documents if d["kind"] in ("Role", "ClusterRole")):
            for rule in role["rules"]:
                if "secrets" in rule.get("resources", []) and rule["verbs"] != ["create"]:
                    self.assertEqual(rule["resourceNames"], ["divvy-webhook"])

    # Regression: our own scheduler's pod had an annotation that the policies keep for what a scheduler writes: once
    # they were in force it could not be made anew, and nothing was placed any more.
    def test_policies_let_our_own_pods_be_made(self):
        documents = render("--set-string", "agent.nodeSettings=settings: []")
        templates = [d["spec"]["template"] for d in documents if "template" in d.get("spec", {})]
        pods = [d for d in documents if d["kind"] == "Pod"]
        self.assertGreaterEqual(len(templates), 4)
        for one in [*templates, *pods]:
            for key in one["metadata"].get("annotations", {}):
                self.assertFalse(key.startswith("divvy.dev/") or key.startswith("hami.io/"), key)

    def test_a_change_of_what_is_read_at_the_start_begins_pods_anew(self):
        def stamp(*words):
            spec = one_of(render(*words), "Deployment", "divvy-scheduler")["spec"]
            return spec["template"]["metadata"]["annotations"]["checksum/config"]
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

    def test_what_a_node_announces_is_named(self):
        one_of(render(), "ClusterRole", "divvy-agent-announce")
        silent = render("--set", "agent.announce.memory=none", "--set", "agent.announce.cores=none")
        self.assertFalse([d for d in silent if d["metadata"]["name"] == "divvy-agent-announce"])
        docs = render("--set", "agent.announce.memory=nvidia.com/gpumem", "--set", "agent.announce.cores=none")
        args = one_of(docs, "DaemonSet", "divvy-agent")["spec"]["template"]["spec"]["containers"][0]["args"]
        self.assertIn("--announce-memory=nvidia.com/gpumem", args)
        self.assertIn("--announce-cores=none", args)
        one_of(docs, "ClusterRole", "divvy-agent-announce")

    # Regression: where resources have other names `helm test` asked for memory by one that nobody serves.
    def test_what_the_scheduler_calls_otherwise_the_test_does_too(self):
        said = "nvidia:\n  resourceCountName: volcano.sh/vgpu-number\n  resourceMemoryName: volcano.sh/vgpu-memory\n"
        whole = yaml.safe_dump({"kind": "ConfigMap", "data": {"device-config.yaml": said}})
        for text in (said, whole):
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                file.write(text)
                file.flush()
                documents = render("--set-file", "scheduler.deviceConfig=" + file.name,
                                   "--set", "agent.resource=volcano.sh/vgpu-number")
            test = one_of(documents, "Pod", "divvy-test-share")["spec"]
            self.assertEqual(test["containers"][0]["resources"]["limits"],
                             {"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": 1024})
            self.assertNotIn("schedulerName", test)
        for text in ("", "nvidia: {}", "nvidia: {resourceMemoryName: }", "hygon: {}", "- no map"):
            documents = render("--set-string", "scheduler.deviceConfig=" + text)
            limits = one_of(documents, "Pod", "divvy-test-share")["spec"]["containers"][0]["resources"]["limits"]
            self.assertEqual(set(limits), {"nvidia.com/gpu", "nvidia.com/gpumem"}, text)

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
        self.assertIn("checksum/config", agent(*words)["metadata"]["annotations"])
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
        self.assertNotEqual(before["checksum/config"], after["checksum/config"])
        self.assertNotIn("--node-settings", " ".join(agent()["spec"]["containers"][0]["args"]))
        self.assertNotIn("ConfigMap/divvy-agent", {d["kind"] + "/" + d["metadata"]["name"] for d in render()})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
