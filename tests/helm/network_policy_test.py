"""Which peers reach which ports of the chart's pods. Usage: network_policy_test.py HELM CHART MANIFESTS DIVVY"""
import sys
import unittest

from rendered import one_of, pod_of, refusal, render

PODS = {"divvy-scheduler": "Deployment", "divvy-agent": "DaemonSet", "divvy-agent-helper": "DaemonSet",
        "divvy-console": "Deployment"}
CLOSED = ["--set", "networkPolicy.controlPlane={10.0.0.0/24,fd00::/64},networkPolicy.nodes={10.1.0.0/16}"]
OWN_NAMESPACE = {"podSelector": {}}
KUBE_SYSTEM = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}


def policies(*words):
    return {d["metadata"]["name"]: d["spec"] for d in render(*words) if d["kind"] == "NetworkPolicy"}


def block(cidr):
    return {"ipBlock": {"cidr": cidr}}


def peers(policy, port):
    """By the rules of the policy; None: the port is open to all addresses."""
    found = []
    for rule in policy.get("ingress", []):
        if port in [one["port"] for one in rule["ports"]]:
            if "from" not in rule:
                return None
            found += rule["from"]
    return found


def open_ports(policy):
    return {one["port"] for rule in policy.get("ingress", []) for one in rule["ports"]}


class Default(unittest.TestCase):
    # Regression: every pod of the cluster reached every port of scheduler and agents.
    def test_each_pod_has_a_policy_that_selects_it(self):
        documents = render()
        for name, kind in PODS.items():
            policy = one_of(documents, "NetworkPolicy", name)["spec"]
            labels = one_of(documents, kind, name)["spec"]["template"]["metadata"]["labels"]
            self.assertLessEqual(policy["podSelector"]["matchLabels"].items(), labels.items(), name)
            self.assertIn("Ingress", policy["policyTypes"], name)

    def test_ports_that_no_one_needs_are_closed(self):
        found = policies()
        self.assertEqual(open_ports(found["divvy-scheduler"]), {9443, 9395, 10259})
        self.assertEqual(open_ports(found["divvy-agent"]), {9394})
        self.assertEqual(open_ports(found["divvy-agent-helper"]), set())
        self.assertEqual(open_ports(found["divvy-console"]), {9400})

    # A webhook that API servers do not reach refuses all pods with devices, and where they are no chart can know.
    def test_the_webhook_is_reached_from_everywhere_until_its_callers_are_named(self):
        self.assertIsNone(peers(policies()["divvy-scheduler"], 9443))

    def test_metrics_are_open_to_divvys_namespace_and_the_usual_ones_of_monitoring(self):
        found = policies()
        for name, port in (("divvy-scheduler", 9395), ("divvy-scheduler", 10259), ("divvy-agent", 9394)):
            allowed = peers(found[name], port)
            self.assertEqual(len(allowed), 2, name)
            self.assertIn(OWN_NAMESPACE, allowed, name)
            (named,) = allowed[1]["namespaceSelector"]["matchExpressions"]
            self.assertEqual((named["key"], named["operator"]), ("kubernetes.io/metadata.name", "In"))
            self.assertLessEqual({"monitoring", "cattle-monitoring-system", "openshift-monitoring"}, set(named["values"]))

    # kubectl port-forward comes from inside the pod.
    def test_the_console_is_reached_from_divvys_namespace(self):
        self.assertEqual(peers(policies()["divvy-console"], 9400), [OWN_NAMESPACE])

    def test_egress_is_left_alone_but_the_helpers(self):
        found = policies()
        self.assertEqual({name: p["policyTypes"] for name, p in found.items()},
                         {"divvy-scheduler": ["Ingress"], "divvy-agent": ["Ingress"], "divvy-console": ["Ingress"],
                          "divvy-agent-helper": ["Ingress", "Egress"]})
        self.assertNotIn("egress", found["divvy-agent-helper"])


class Said(unittest.TestCase):
    def test_a_webhook_whose_callers_are_named_is_closed_to_others(self):
        wanted = [block("10.0.0.0/24"), block("fd00::/64"), block("10.1.0.0/16"), KUBE_SYSTEM]
        self.assertEqual(peers(policies(*CLOSED)["divvy-scheduler"], 9443), wanted)

    def test_a_console_with_a_way_in_is_reached_from_everywhere_until_its_peers_are_named(self):
        given = "networkPolicy.consolePeers[0].namespaceSelector.matchLabels.team=sre"
        named = [OWN_NAMESPACE, {"namespaceSelector": {"matchLabels": {"team": "sre"}}}]
        for way in ("console.ingress.enabled=true", "console.service.type=NodePort", "console.service.type=LoadBalancer"):
            self.assertIsNone(peers(policies("--set", way)["divvy-console"], 9400), way)
            self.assertEqual(peers(policies("--set", way + "," + given)["divvy-console"], 9400), named, way)
        self.assertEqual(peers(policies("--set", given)["divvy-console"], 9400), named)

    # The console reads the agents' metrics through them, and divvy clusters the scheduler's capacity.
    def test_api_servers_reach_what_is_read_through_them(self):
        for words, there in ((), True), (("--set", "console.enabled=false"), False):
            found = policies(*CLOSED, *words)
            for cidr in ("10.0.0.0/24", "fd00::/64"):
                self.assertEqual(block(cidr) in peers(found["divvy-agent"], 9394), there, cidr)
                self.assertIn(block(cidr), peers(found["divvy-scheduler"], 9395))
            self.assertIn(block("10.1.0.0/16"), peers(found["divvy-agent"], 9394))

    # API servers need not be on nodes.
    def test_nodes_alone_do_not_close_the_webhook(self):
        found = policies("--set", "networkPolicy.nodes={10.1.0.0/16}")
        self.assertIsNone(peers(found["divvy-scheduler"], 9443))
        self.assertIn(block("10.1.0.0/16"), peers(found["divvy-agent"], 9394))

    def test_metrics_follow_the_names_and_labels_that_are_given(self):
        found = policies("--set", "networkPolicy.metricsNamespaces={watch},networkPolicy.metricsNamespaceLabels.team=sre")
        for name, port in (("divvy-scheduler", 9395), ("divvy-agent", 9394)):
            self.assertEqual(peers(found[name], port), [
                OWN_NAMESPACE,
                {"namespaceSelector": {"matchExpressions": [
                    {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["watch"]}]}},
                {"namespaceSelector": {"matchLabels": {"team": "sre"}}}])
        found = policies("--set-json", "networkPolicy.metricsNamespaces=[]")
        self.assertEqual(peers(found["divvy-agent"], 9394), [OWN_NAMESPACE])

    def test_ports_follow_those_of_the_pods(self):
        words = ["--set", "scheduler.ports.webhook=1,scheduler.ports.metrics=2,scheduler.ports.kubeScheduler=3,agent.metrics.port=4"]
        found = policies(*words)
        self.assertEqual(open_ports(found["divvy-scheduler"]), {1, 2, 3})
        self.assertEqual(open_ports(found["divvy-agent"]), {4})
        documents = render(*words)
        for kind, name in (("Deployment", "divvy-scheduler"), ("DaemonSet", "divvy-agent")):
            ports = {p["containerPort"] for c in pod_of(documents, kind, name)["containers"] for p in c.get("ports", [])}
            self.assertLessEqual(ports, open_ports(found[name]), name)
        quiet = policies("--set", "agent.metrics.enabled=false")["divvy-agent"]
        self.assertEqual((quiet["policyTypes"], quiet.get("ingress", [])), (["Ingress"], []))

    def test_egress_that_is_given_is_all_beside_dns(self):
        found = policies("--set", "networkPolicy.egress={10.0.0.0/24,10.96.0.1/32}")
        for name in ("divvy-scheduler", "divvy-agent", "divvy-console"):
            self.assertEqual(found[name]["policyTypes"], ["Ingress", "Egress"])
            names, rest = found[name]["egress"]
            self.assertEqual({(p["port"], p["protocol"]) for p in names["ports"]},
                             {(53, "UDP"), (53, "TCP"), (5353, "UDP"), (5353, "TCP")})
            self.assertEqual(rest, {"to": [block("10.0.0.0/24"), block("10.96.0.1/32")]})

    # A policy that selects pods on a host's network holds for none of them.
    def test_pods_on_a_hosts_network_have_none(self):
        for value, name in (("scheduler", "divvy-scheduler"), ("agent", "divvy-agent"), ("agent.helper", "divvy-agent-helper")):
            self.assertEqual(set(policies("--set", value + ".hostNetwork=true")), set(PODS) - {name})
            self.assertEqual(set(policies("--set", value + ".enabled=false")) & {name}, set())
        self.assertEqual(set(policies("--set", "console.enabled=false")), set(PODS) - {"divvy-console"})

    def test_none_are_there_where_they_are_switched_off(self):
        self.assertEqual(policies("--set", "networkPolicy.enabled=false"), {})

    def test_what_is_no_cidr_is_refused(self):
        for name in ("controlPlane", "nodes", "egress"):
            for wrong in ("10.0.0.1", "here", "10.0.0.0/33", "fd00::/129", "10.0.0.0/24 "):
                self.assertIn(name, refusal("--set", f"networkPolicy.{name}={{{wrong}}}"), wrong)
            for right in ("0.0.0.0/0", "10.0.0.0/24", "fd00::/64", "::/0"):
                self.assertEqual(refusal("--set", f"networkPolicy.{name}={{{right}}}"), "", right)
        self.assertIn("metricsNamespaces", refusal("--set", "networkPolicy.metricsNamespaces={A}"))
        self.assertIn("from", refusal("--set", "networkPolicy.from=x"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
