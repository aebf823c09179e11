#!/usr/bin/env python3
"""The doctor knows every admission policy that Divvy installs, and the page of templates every placeholder."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCTOR = ROOT / "src" / "doctor" / "checks" / "cluster_control.cpp"
MANIFESTS = ROOT / "src" / "scheduler" / "manifests"


def installed():
    """Names of the ValidatingAdmissionPolicies in deploy/kubernetes."""
    pattern = re.compile(r"^kind: ValidatingAdmissionPolicy\nmetadata:\n  name: (\S+)", re.M)
    return {name for page in (ROOT / "deploy" / "kubernetes").glob("*.yaml") for name in pattern.findall(page.read_text("utf-8"))}


class Policies(unittest.TestCase):
    def test_doctor_looks_for_each_installed_policy(self):
        known = set(re.findall(r'"(divvy-[a-z-]+)"', DOCTOR.read_text("utf-8")))
        self.assertGreater(len(installed()), 5)
        self.assertEqual(installed() - known, set())

    def test_each_template_of_a_policy_is_installed_under_its_name(self):
        templates = {f"divvy-{page.stem}" for page in (MANIFESTS / "templates" / "policies").glob("*.yaml")} - {"divvy-header"}
        self.assertEqual(templates, installed() - {"divvy-scheduler-fencing"})

    def test_each_placeholder_has_a_row_and_each_row_is_of_one(self):
        pages = [page.read_text("utf-8") for page in (MANIFESTS / "templates").rglob("*.yaml")]
        used = {name for page in pages for name in re.findall(r"@(?:for )?([A-Z][A-Z0-9_]*)@", page)}
        rows = (MANIFESTS / "README.md").read_text("utf-8").partition("## Placeholders")[2]
        self.assertEqual(set(re.findall(r"`@([A-Z][A-Z0-9_]*)@`", rows)), used)

    # A rule without an explanation cannot be reviewed.
    def test_each_rule_of_a_template_is_explained(self):
        for page in (MANIFESTS / "templates").rglob("*.yaml"):
            lines = page.read_text("utf-8").split("\n")
            for number, line in enumerate(lines):
                if re.match(r" +- (?:expression|name: [a-z-]+$)", line) and "expression: >-" in line + lines[number + 1]:
                    self.assertRegex(lines[number - 1], "^ *#! ", f"{page.name}:{number + 1}")


if __name__ == "__main__":
    unittest.main()
