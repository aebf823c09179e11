#!/usr/bin/env python3
"""The doctor knows every admission policy that Divvy installs."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCTOR = ROOT / "src" / "doctor" / "checks" / "cluster_control.cpp"


def installed():
    """Names of the ValidatingAdmissionPolicies in deploy/kubernetes."""
    pattern = re.compile(r"^kind: ValidatingAdmissionPolicy\nmetadata:\n  name: (\S+)", re.M)
    return {name for page in (ROOT / "deploy" / "kubernetes").glob("*.yaml") for name in pattern.findall(page.read_text("utf-8"))}


class Policies(unittest.TestCase):
    def test_doctor_looks_for_each_installed_policy(self):
        known = set(re.findall(r'"(divvy-[a-z-]+)"', DOCTOR.read_text("utf-8")))
        self.assertGreater(len(installed()), 5)
        self.assertEqual(installed() - known, set())


if __name__ == "__main__":
    unittest.main()
