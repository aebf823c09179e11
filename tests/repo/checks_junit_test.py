#!/usr/bin/env python3
"""Records of checks as JUnit XML, read again by a parser as viewers of test results read it."""
import pathlib
import sys
import unittest
import xml.etree.ElementTree as ET

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools"))
from checks_junit import junit  # noqa: E402  (the folder is no package)


def record(name, result, **more):
    return {"name": name, "package": "queues", "requirement": "a queue is bounded", "seconds": 1.25, "result": result,
            **more}


def read(*records):
    text = junit(list(records))
    assert text.startswith(b"<?xml version='1.0' encoding='utf-8'?>"), text
    return ET.fromstring(text)


class ChecksJunit(unittest.TestCase):
    def test_each_package_has_a_suite_with_counts_that_add_up(self):
        root = read(record("a", "pass"), record("b", "fail", reason="late"), record("c", "skip", reason="no node"),
                    record("d", "pass", package="gangs"), {"name": "e", "result": "pass"})
        self.assertEqual(root.tag, "testsuites")
        suites = {suite.get("name"): suite for suite in root}
        self.assertEqual(list(suites), ["queues", "gangs", "checks"])
        for suite in suites.values():
            cases = suite.findall("testcase")
            self.assertEqual(suite.get("tests"), str(len(cases)))
            self.assertEqual(suite.get("failures"), str(len(suite.findall("testcase/failure"))))
            self.assertEqual(suite.get("skipped"), str(len(suite.findall("testcase/skipped"))))
            self.assertEqual(suite.get("errors"), "0")
            self.assertAlmostEqual(float(suite.get("time")), sum(float(case.get("time")) for case in cases))
        for count in ("tests", "failures", "skipped"):
            self.assertEqual(int(root.get(count)), sum(int(suite.get(count)) for suite in suites.values()))

    def test_a_case_has_name_class_and_time(self):
        case = read(record("gpu-quota", "pass")).find("testsuite/testcase")
        self.assertEqual(case.attrib, {"name": "gpu-quota", "classname": "queues", "time": "1.250"})
        self.assertEqual([child.tag for child in case], ["system-out"])
        self.assertEqual(case[0].text, "requirement: a queue is bounded")

    def test_a_failure_has_message_and_output(self):
        failed = record("a", "fail", reason="pod p waits\nevents: none", first_failure="it was late")
        failure = read(failed).find(".//failure")
        self.assertEqual(failure.get("message"), "pod p waits")
        self.assertEqual(failure.text, "pod p waits\nevents: none\nfirst try: it was late")

    def test_a_failure_without_a_reason_has_a_message(self):
        for reason in ({}, {"reason": ""}, {"reason": " \n "}):
            failure = read(record("a", "fail", **reason)).find(".//failure")
            self.assertEqual(failure.get("message"), "no reason was recorded")

    def test_a_long_first_line_is_cut_in_the_message_alone(self):
        failure = read(record("a", "fail", reason="x" * 5000)).find(".//failure")
        self.assertEqual((len(failure.get("message")), len(failure.text)), (200, 5000))

    def test_a_skip_has_its_reason(self):
        case = read(record("a", "skip", reason="needs a node with a kubelet")).find(".//testcase")
        self.assertEqual(case.find("skipped").get("message"), "needs a node with a kubelet")
        self.assertIsNone(case.find("failure"))

    def test_a_flake_has_passed_and_names_its_first_failure(self):
        case = read(record("a", "pass", flake=True, first_failure="it was late", note="40 pods/s")).find(".//testcase")
        self.assertEqual([child.tag for child in case], ["system-out"])
        self.assertEqual(case[0].text.splitlines()[1:],
                         ["40 pods/s", "flake: passed at the second try; first try: it was late"])

    def test_markup_and_other_scripts_are_read_again_as_they_were(self):
        odd = "<pod a=\"1\" b='2'> & ]]> <![CDATA[x]]> äöü 节点 \U0001f600 --> \ttab"
        case = read(record(odd, "fail", package=odd, reason=odd, note=odd)).find(".//testcase")
        self.assertEqual((case.get("name"), case.get("classname")), (odd, odd))
        self.assertEqual(case.find("failure").text, odd)
        self.assertEqual(case.find("failure").get("message"), odd)

    def test_characters_that_xml_has_no_place_for_are_replaced(self):
        odd = "nul \0 bell \a escape \x1b[31m red del \x7f \ud800 lone \ufffe \uffff end"
        failure = read(record(odd, "fail", reason=odd)).find(".//failure")
        self.assertEqual(failure.text,
                         "nul \ufffd bell \ufffd escape \ufffd[31m red del \x7f \ufffd lone \ufffd \ufffd end")

    def test_no_records_are_an_empty_document(self):
        root = read()
        self.assertEqual((root.get("tests"), root.get("time"), len(root)), ("0", "0.000", 0))


if __name__ == "__main__":
    unittest.main()
