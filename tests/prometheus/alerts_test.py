"""Alerts, their runbooks and the dashboards speak of what there is; what fires is in alerts_test.yaml."""
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yaml"
METRIC = re.compile(r"\bdivvy_\w+")


def of_agents():
    return set(re.findall(r"^\| `(\w+)`", (ROOT / "docs" / "operations" / "monitoring.md").read_text("utf-8"), re.M))


def of_sources(folder):
    return {name for file in (ROOT / "src" / folder).rglob("*.cpp")
            for name in re.findall(r'"(divvy_\w+)"', file.read_text("utf-8"))}


def known():
    """Every family that one of our programs tells of, under old names, too."""
    names = of_agents() | of_sources("scheduler") | of_sources("public_names")
    return names | {f"{name}_{part}" for name in names if name.endswith("_seconds")
                    for part in ("bucket", "count", "sum")}


class Alerts(unittest.TestCase):
    def test_each_has_a_section_in_the_runbooks(self):
        text = ALERTS.read_text("utf-8")
        names = re.findall(r"- alert: (\w+)", text)
        sections = re.findall(r"^## (\w+)", (ROOT / "docs" / "operations" / "runbooks.md").read_text("utf-8"), re.M)
        self.assertGreater(len(names), 10)
        self.assertEqual(sorted(names), sorted(sections))
        links = re.findall(r"runbook: docs/operations/runbooks.md#(\w+)", text)
        self.assertEqual([name.lower() for name in names], links)

    def test_only_families_that_there_are(self):
        families = known()
        for file in [ALERTS, *(ROOT / "deploy" / "grafana").glob("*.json")]:
            unknown = set(METRIC.findall(file.read_text("utf-8"))) - families
            self.assertEqual(unknown, set(), file.name)

    def test_no_family_is_of_agents_and_of_the_scheduler(self):
        self.assertIn("divvy_device_info", of_sources("scheduler"))
        self.assertEqual(of_agents() & of_sources("scheduler"), set())

    def test_dashboards_name_their_data_source_and_overlap_nowhere(self):
        boards = sorted((ROOT / "deploy" / "grafana").glob("*.json"))
        self.assertEqual(len(boards), 3)
        for file in boards:
            board = json.loads(file.read_text("utf-8"))
            places = set()
            for panel in board["panels"]:
                self.assertEqual(panel["datasource"]["uid"], "${source}")
                at = panel["gridPos"]
                cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                         for y in range(at["y"], at["y"] + at["h"])}
                self.assertFalse(cells & places, f"{file.name}: {panel['title']}")
                places |= cells

    # promtool passes what no case names, and a case of no alert that expects nothing.
    def test_each_has_a_case_in_which_it_fires_and_one_in_which_it_does_not(self):
        names = set(re.findall(r"- alert: (\w+)", ALERTS.read_text("utf-8")))
        cases = (HERE / "alerts_test.yaml").read_text("utf-8")
        for what, case in (
                ("fires", r"^ +alertname: (\w+)\n +exp_alerts:\n +- exp_labels: "),
                ("does not", r"^ +- \{alertname: (\w+), eval_time: \w+, exp_alerts: \[\]\}$")):
            with self.subTest(what):
                self.assertEqual(set(re.findall(case, cases, re.M)), names)

    @unittest.skipUnless(shutil.which("promtool"), "promtool (Debian: prometheus) is not installed")
    def test_what_fires_and_what_does_not(self):
        with tempfile.TemporaryDirectory() as folder:
            for file in (ALERTS, HERE / "alerts_test.yaml"):
                shutil.copy(file, folder)
            for words in (("check", "rules", "alerts.yaml"), ("test", "rules", "alerts_test.yaml")):
                done = subprocess.run(["promtool", *words], cwd=folder, capture_output=True, text=True,
                                      check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
