#!/usr/bin/env python3
"""What Prometheus reads of an agent, as its tenants are."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest
import urllib.error
import urllib.parse
import urllib.request

from product import (BOUND, BUILD, BUSY, GIB, HAND, MIB, OUT_OF_MEMORY, SUCCESS, ProductTest, Tenant,
                     free_port, main, wait_until)
from swapping import SwapTest

ROOT = pathlib.Path(__file__).parents[2]
SAMPLE = re.compile(r'^(\w+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def parse(text):
    """name -> [(labels, value)]."""
    families = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = SAMPLE.match(line).groups()
        families.setdefault(name, []).append((dict(LABEL.findall(labels or "")), float(value)))
    return families


class Served(ProductTest):
    """An agent that tells."""

    variables = {}  # in its environment

    def setUp(self):
        super().setUp()
        self.product.environment |= self.variables
        node = f"sim-{self.profile}"
        self.agent = self.product.start("agent", "--node", node, "--metrics-listen",
                                        "127.0.0.1:0", "--log-file")
        log = self.product.runtime / node / "agent.log"

        def address():
            found = log.exists() and re.search(r"metrics are served url=(http://\S+)", log.read_text())
            return found and found.group(1)

        self.url = wait_until(address, "the agent says where its metrics are")

    def scrape(self):
        with urllib.request.urlopen(self.url, timeout=10) as reply:
            self.assertEqual(reply.headers.get_content_type(), "text/plain")
            return reply.read().decode()

    def value(self, family, **labels):
        """Of the one sample of that family with these labels; None: there is none."""
        found = [value for has, value in parse(self.scrape()).get(family, ())
                 if labels.items() <= has.items()]
        self.assertLessEqual(len(found), 1, f"{family} {labels}")
        return found[0] if found else None


class Metrics(Served):
    def test_cards_are_told_of_without_tenants(self):
        self.assertGreater(self.value("divvy_device_memory_total_bytes"), 70 * GIB)
        self.assertEqual(self.value("divvy_device_running_tenants"), 0)
        self.assertIsNone(self.value("divvy_tenant_info"))

    def test_limit_use_and_refusals_of_a_tenant(self):
        tenant = self.tenant("train", "4Gi")
        info = {"tenant": self.product.tenant_row("train")["id"]}
        self.assertEqual(self.value("divvy_tenant_info", name="train", **info), 1)
        self.assertEqual(self.value("divvy_tenant_memory_limit_bytes", **info), 4 * GIB)
        self.assertEqual(tenant.hands[0].ask("open"), [SUCCESS])
        before = self.value("divvy_tenant_memory_used_bytes", **info)
        self.assertEqual(tenant.hands[0].ask("alloc", GIB)[0], SUCCESS)
        self.assertGreaterEqual(self.value("divvy_tenant_memory_used_bytes", **info), before + GIB)
        self.assertEqual(tenant.hands[0].ask("alloc", 8 * GIB)[0], OUT_OF_MEMORY)
        self.assertEqual(self.value("divvy_tenant_allocations_refused_total", **info), 1)
        wait_until(lambda: self.value("divvy_tenant_memory_byte_seconds_total", **info) > GIB,
                   "what it has is charged by the second")
        self.assertEqual(tenant.end(), 0)
        wait_until(lambda: self.value("divvy_tenant_info", **info) is None, "it is gone")

    def test_an_ordinary_tenant_that_has_memory_and_does_nothing_is_idle(self):
        """Regression: only of who could be swapped, or ended for it, was told how long."""
        tenant = Tenant(self.product, "notebook", "4Gi", hand=BUSY, patience=BOUND)
        hand = tenant.hands[0]
        self.assertEqual(hand.ask("open", 1), [SUCCESS])
        info = {"tenant": self.product.tenant_row("notebook")["id"]}
        idle = lambda: self.value("divvy_tenant_idle_seconds", **info)
        wait_until(lambda: (idle() or 0) >= 3, "it is seen to do nothing")
        self.assertEqual(hand.ask("run", 1000), [SUCCESS])
        wait_until(lambda: idle() <= 1, "and to work")
        hand.tell("rest")
        self.assertEqual(hand.answer()[0], SUCCESS)
        wait_until(lambda: idle() >= 3, "and not any more")
        self.assertEqual(tenant.end(), 0)

    def test_a_program_that_ends_on_a_full_device_is_counted(self):
        script = f"printf 'open\\nalloc {64 * MIB}\\n' | SIMGPU_FAULTS=oom {HAND}"
        self.product.divvy("run", *self.product.sim, "--memory", "1Gi", "--name", "brief", "--", "sh", "-c", script)
        wait_until(lambda: self.value("divvy_allocations_device_full_total") == 1, "it is counted")
        reasons = [event["reason"] for event in self.product.rows("events") if event["kind"] == "device-full"]
        self.assertEqual(len(reasons), 1)
        self.assertIn("1 request of 64 MiB within its limit of 1 GiB", reasons[0])

    def test_the_state_is_served_without_command_lines(self):
        tenant = self.tenant("told", "1Gi")
        command = self.product.tenant_row("told")["command"]
        self.assertIn(str(HAND), command)
        with urllib.request.urlopen(self.url.replace("/metrics", "/v1/snapshot"), timeout=10) as reply:
            text = reply.read().decode()
            self.assertEqual(reply.headers["Content-Type"], "application/json")
        self.assertIn('"told"', json.dumps(json.loads(text)))
        self.assertNotIn(str(HAND), text)
        self.assertEqual(tenant.end(), 0)

    def test_who_looks_after_the_agent_is_answered(self):
        for path in ("/healthz", "/readyz"):
            with urllib.request.urlopen(self.url.replace("/metrics", path), timeout=10) as reply:
                self.assertEqual(reply.read(), b"ok\n")

    def test_processes_that_are_nobodys_are_counted(self):
        wait_until(lambda: self.value("divvy_device_unmanaged_processes") == 0, "the card is looked at")
        environment = dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "simgpu"),
                           SIMGPU_PROFILE=self.profile,
                           SIMGPU_DIR=str(self.product.runtime / f"sim-{self.profile}" / "card"))
        stranger = subprocess.Popen([HAND], env=environment, text=True, stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE)
        self.addCleanup(stranger.wait)
        self.addCleanup(stranger.kill)
        stranger.stdin.write("open\n")
        stranger.stdin.flush()
        wait_until(lambda: self.value("divvy_device_unmanaged_processes") == 1, "it is counted")
        self.assertGreater(self.value("divvy_device_unmanaged_memory_bytes"), 0)
        self.assertEqual(self.value("divvy_device_graphics_memory_bytes"), 0)

    def test_other_paths_are_not_found(self):
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(self.url.replace("/metrics", "/other"), timeout=10)
        self.assertEqual(refused.exception.code, 404)

    def test_an_address_that_is_taken_is_said(self):
        port = self.url.rsplit(":", 1)[1].split("/")[0]
        status, _, err = self.product.divvy("agent", "--node", "sim-a100", "--metrics-listen",
                                            f"127.0.0.1:{port}")
        self.assertNotEqual(status, 0)
        self.assertIn("--metrics-listen", err)

    @unittest.skipUnless(shutil.which("promtool"), "promtool (Debian: prometheus) is not installed")
    def test_promtool_finds_nothing_to_say(self):
        self.tenant("train", "4Gi")
        done = subprocess.run(["promtool", "check", "metrics"], input=self.scrape(), text=True,
                              capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))


class Paused(Served, SwapTest):
    def test_who_takes_turns_has_seconds_without_its_memory_and_who_keeps_it_has_none(self):
        kept = self.filled("kept", "15%", "--guaranteed", "15%", blocks=16)
        one, two = self.filled("one", "50%", blocks=60), self.filled("two", "50%", blocks=60)
        ids = {each.name: self.product.tenant_row(each.name)["id"] for each in (kept, one, two)}
        paused = lambda name: self.value("divvy_tenant_paused_seconds_total", tenant=ids[name])
        self.work(kept, one, two)
        wait_until(lambda: min(paused("one"), paused("two")) >= 2, "both wait for their turns", 60)
        self.assertEqual(paused("kept"), 0)
        self.end_correctly(kept, one, two)


# Nothing is overcommitted, swapped or queued here, and who computes is a tenant.
QUIET = {"divvy_device_memory_pressure_ratio", "divvy_device_unmanaged_utilisation_ratio",
         "divvy_host_swap_committed_bytes / (divvy_host_swap_bytes > 0)"}


@unittest.skipUnless(shutil.which("prometheus"), "prometheus (Debian: prometheus) is not installed")
class Scraped(Served):
    """A real Prometheus that scrapes a real agent."""

    def setUp(self):
        super().setUp()
        port = free_port()
        config = self.product.root / "prometheus.yaml"
        alerts = ROOT / "deploy" / "prometheus" / "alerts.yaml"
        config.write_text(json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(alerts)],
            "scrape_configs": [{"job_name": "divvy", "static_configs": [
                {"targets": [self.url.split("/")[2]]}]}]}))
        prometheus = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--web.listen-address=127.0.0.1:{port}",
             f"--storage.tsdb.path={self.product.root / 'tsdb'}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(prometheus.wait)
        self.addCleanup(prometheus.kill)
        self.api = f"http://127.0.0.1:{port}/api/v1/"

    def ask(self, path, **query):
        with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            url = self.api + path + "?" + urllib.parse.urlencode(query)
            with urllib.request.urlopen(url, timeout=10) as reply:
                return json.load(reply)["data"]
        return None

    def result(self, query):
        return (self.ask("query", query=query) or {}).get("result")

    def test_dashboards_show_something(self):
        tenant = self.tenant("train", "4Gi", arguments=("--cores", "50"))
        other = self.tenant("serve", "4Gi", arguments=("--cores", "50"))
        self.assertEqual(tenant.hands[0].ask("open"), [SUCCESS])
        self.assertEqual(tenant.hands[0].ask("alloc", GIB)[0], SUCCESS)
        wait_until(lambda: self.result("divvy_tenant_info"), "prometheus has scraped the tenants")
        wait_until(lambda: self.result("rate(divvy_tenant_throttled_seconds_total[1m])"),
                   "and twice")
        for name in ("devices", "tenants"):
            board = json.loads((ROOT / "deploy" / "grafana" / f"{name}.json").read_text("utf-8"))
            for panel in board["panels"]:
                for target in panel["targets"]:
                    query = re.sub(r'\{\w+=~"\$\w+"\}', "", target["expr"])
                    query = query.replace("$__range", "1h")
                    # Who is quiet answers with nothing, and not with an error.
                    quiet = query in QUIET
                    wait_until(lambda: (self.result(query) is not None) if quiet else self.result(query),
                               f"{panel['title']}: {query}")
        for one in (tenant, other):
            self.assertEqual(one.end(), 0)

    def test_alerts_are_loaded_and_healthy(self):
        def evaluated():
            groups = (self.ask("rules") or {}).get("groups", [])
            rules = [rule for group in groups for rule in group["rules"]]
            return rules if rules and all(r["health"] != "unknown" for r in rules) else None

        for rule in wait_until(evaluated, "prometheus evaluates the alerts"):
            self.assertEqual(rule["health"], "ok", rule)


if __name__ == "__main__":
    main()
