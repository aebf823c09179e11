"""The chart's hub: its pod, its rights, and the account for hubs elsewhere. Usage: hub_test.py HELM CHART MANIFESTS DIVVY"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import yaml

from rendered import DIVVY, MANIFESTS, one_of, pod_of, refusal, render

NAME, ACCESS = "divvy-hub", "divvy-hub-access"
ENABLED = ("--set", "hub.enabled=true")
ALONE = ("--set", "hub.enabled=true,scheduler.enabled=false,agent.enabled=false,console.enabled=false")
KUBECONFIG = """clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c}}]
current-context: c
"""


def hubs(*words):
    return {(d["kind"], d["metadata"]["name"]) for d in render(*words) if d["metadata"]["name"].startswith(NAME)}


def args(*words):
    return pod_of(render(*ENABLED, *words), "Deployment", NAME)["containers"][0]["args"]


def by_hand(kind):
    text = pathlib.Path(MANIFESTS, "hub.yaml").read_text()
    return next(d for d in yaml.safe_load_all(text) if d["kind"] == kind)


class Hub(unittest.TestCase):
    def test_default_has_none(self):
        self.assertEqual(hubs(), set())

    def test_enabled_has_these_documents(self):
        wanted = {(kind, NAME) for kind in ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Service",
                                            "Deployment", "NetworkPolicy")}
        self.assertEqual(hubs(*ENABLED), wanted)
        view_only = hubs(*ENABLED, "--set", "hub.dispatch=false")
        self.assertEqual(view_only, wanted - {("ClusterRole", NAME), ("ClusterRoleBinding", NAME)})

    def test_rights_are_those_of_the_manifest(self):
        self.assertEqual(one_of(render(*ENABLED), "ClusterRole", NAME)["rules"], by_hand("ClusterRole")["rules"])

    def test_alone_no_other_part_runs(self):
        kinds = {(d["kind"], d["metadata"]["name"]) for d in render(*ALONE)
                 if d["kind"] in ("Deployment", "DaemonSet", "MutatingWebhookConfiguration")}
        self.assertEqual(kinds, {("Deployment", NAME)})

    def test_pod_is_as_confined_as_the_schedulers(self):
        documents = render(*ENABLED)
        hub, scheduler = (pod_of(documents, "Deployment", name) for name in (NAME, "divvy-scheduler"))
        self.assertEqual(hub["securityContext"], scheduler["securityContext"])
        self.assertEqual(hub["containers"][0]["securityContext"], scheduler["containers"][0]["securityContext"])
        self.assertEqual(hub["containers"][0]["image"], scheduler["containers"][0]["image"])

    def test_pull_secrets_reach_the_pod(self):
        pod = pod_of(render(*ENABLED, "--set", "imagePullSecrets[0].name=mine"), "Deployment", NAME)
        self.assertEqual(pod["imagePullSecrets"], [{"name": "mine"}])

    def test_only_its_namespace_and_monitoring_reach_the_port(self):
        rule, = one_of(render(*ENABLED), "NetworkPolicy", NAME)["spec"]["ingress"]
        self.assertEqual([one["port"] for one in rule["ports"]], [9450])
        self.assertEqual(rule["from"][0], {"podSelector": {}})
        self.assertTrue(all("ipBlock" not in peer for peer in rule["from"]))

    def test_metrics_are_scraped(self):
        documents = render(*ENABLED, "--api-versions", "monitoring.coreos.com/v1")
        monitor = one_of(documents, "ServiceMonitor", NAME)["spec"]
        service = one_of(documents, "Service", NAME)
        labels = service["metadata"]["labels"]
        self.assertLessEqual(monitor["selector"]["matchLabels"].items(), labels.items())
        self.assertIn(monitor["endpoints"][0]["port"], [one["name"] for one in service["spec"]["ports"]])

    def test_program_accepts_all_options(self):
        given = args("--set", "hub.reserved={a,b},hub.onDemand={c},hub.spillAfter=10m,hub.kueueClearsNominations=true")
        for option in ("--dispatch", "--reserved=a,b", "--on-demand=c", "--spill-after=10m",
                       "--kueue-clears-nominations", "--divvy-namespace=divvy-system", "--listen=0.0.0.0:9450"):
            self.assertIn(option, given)
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder, "config")
            config.write_text(KUBECONFIG)
            here = [one.replace("/etc/divvy-hub/clusters.kubeconfig", str(config)) for one in given]
            # The program reads its options, and ends at this one.
            done = subprocess.run([DIVVY, *here, "--contexts=nowhere"], capture_output=True, text=True, timeout=20,
                                  env={"KUBECONFIG": str(config)})
        self.assertIn("nowhere", done.stderr)
        self.assertNotEqual(done.returncode, 0)

    def test_values_that_exclude_each_other_are_refused(self):
        both = refusal(*ENABLED, "--set", "hub.reserved={a},hub.onDemand={a}")
        self.assertIn("hub.reserved and hub.onDemand both list a", both)
        for value in ("hub.spillAfter=10m", "hub.kueueClearsNominations=true"):
            self.assertIn("hub.dispatch", refusal(*ENABLED, "--set", "hub.dispatch=false," + value))
        for value in ("hub.spillAfter=1d", "hub.replicas=0", "hub.clustersSecret=", "hub.unknown=1"):
            self.assertIn("schema", refusal(*ENABLED, "--set", value), value)


class Access(unittest.TestCase):
    def test_account_reads_one_service_and_nothing_else(self):
        documents = render("--set", "hubAccess.enabled=true")
        self.assertEqual({(d["kind"], d["metadata"]["name"]) for d in documents if NAME in d["metadata"]["name"]},
                         {(kind, ACCESS) for kind in ("ServiceAccount", "Role", "RoleBinding", "Secret")})
        role = one_of(documents, "Role", ACCESS)
        self.assertEqual(role["rules"], [{"apiGroups": [""], "resources": ["services/proxy"],
                                          "resourceNames": ["divvy-scheduler:metrics"], "verbs": ["get", "create"]}])
        service = one_of(documents, "Service", "divvy-scheduler")
        self.assertIn("metrics", [one["name"] for one in service["spec"]["ports"]])

    def test_secret_is_the_accounts_token(self):
        secret = one_of(render("--set", "hubAccess.enabled=true"), "Secret", ACCESS)
        self.assertEqual(secret["type"], "kubernetes.io/service-account-token")
        self.assertEqual(secret["metadata"]["annotations"], {"kubernetes.io/service-account.name": ACCESS})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
