"""tools/join-checks: of two parts of one list of checks, what each of them made."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

TOOL = pathlib.Path(__file__).parents[2] / "tools" / "join-checks"


def record(name, result):
    return {"name": name, "requirement": "r", "seconds": 1, "result": result}


def joined(*parts, options=()):
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for at, part in enumerate(parts):
            files.append(os.path.join(folder, f"{at}.json"))
            if part is not None:
                pathlib.Path(files[-1]).write_text(part if isinstance(part, str) else json.dumps(part), "utf-8")
        return subprocess.run([sys.executable, "-B", str(TOOL), *options, *files], capture_output=True, text=True, check=False)


class JoinChecks(unittest.TestCase):
    def test_what_one_part_skipped_and_another_made_is_made(self):
        plane = [record("a", "pass"), record("node", "skip"), record("b", "fail")]
        node = [record("a", "skip"), record("node", "pass"), record("b", "skip")]
        ran = joined(plane, node)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        found = {one["name"]: one["result"] for one in json.loads(ran.stdout)}
        self.assertEqual(found, {"a": "pass", "node": "pass", "b": "fail"})
        self.assertIn("2 passed, 1 failed, 0 skipped", ran.stderr)

    def test_what_fails_in_one_part_has_failed_and_what_nobody_made_is_named(self):
        ran = joined([record("a", "pass"), record("b", "fail"), record("c", "skip")],
                     [record("a", "fail"), record("b", "pass"), record("c", "skip")])
        found = {one["name"]: one["result"] for one in json.loads(ran.stdout)}
        self.assertEqual(found, {"a": "fail", "b": "fail", "c": "skip"})
        self.assertIn("SKIPPED c", ran.stderr)

    def test_the_end_of_a_log_says_what_failed_and_why(self):
        ran = joined([{**record("b", "fail"), "reason": "it was late"}, record("a", "pass"), record("c", "skip")])
        self.assertEqual(ran.stderr.splitlines(), ["SKIPPED c: ", "FAILED b: it was late", "1 passed, 1 failed, 1 skipped"])

    def test_a_check_that_passed_at_the_second_try_is_named(self):
        ran = joined([{**record("a", "pass"), "flake": True, "first_failure": "it was late"}, record("b", "pass")])
        self.assertEqual(ran.stderr.splitlines(), ["FLAKE a: it was late", "2 passed, 0 failed, 0 skipped"])

    def test_junit_has_the_joined_list_too(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "checks.xml")
            ran = joined([record("a", "pass"), record("node", "skip")], [record("node", "fail")],
                         options=("--junit", file))
            root = ET.parse(file).getroot()
        self.assertEqual(len(json.loads(ran.stdout)), 2)
        self.assertEqual([case.get("name") for case in root.iter("testcase")], ["a", "node"])
        self.assertEqual((root.get("failures"), root.get("skipped")), ("1", "0"))

    def test_junit_without_a_file_is_a_usage_error(self):
        for options in (("--junit",), ("--junit", "only.xml")):
            ran = joined(options=options)
            self.assertNotEqual(ran.returncode, 0)
            self.assertIn("usage", ran.stderr)

    def test_a_part_that_was_never_written_is_named(self):
        ran = joined([record("a", "pass")], None)
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("1.json", ran.stderr)

    def test_a_part_that_is_cut_off_is_named(self):
        ran = joined('[{"name": "a"')
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("0.json", ran.stderr)


unittest.main()
