"""The pictures of the bench figures."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as tree

PLOT = pathlib.Path(os.environ["DIVVY_SOURCE_DIR"], "tools/plot")
sys.path.insert(0, str(PLOT))
import compute  # noqa: E402
import oversubscribe  # noqa: E402
import svg  # noqa: E402

SHARES = {"driver": "a <card>", "cases": {
    "k1_30_70": {"divvy": {"error_pp_1s": 1.0, "failed": 0}, "timeslice": {"error_pp_1s": 20.0}},
    "k20_30_70": {"divvy": {"error_pp_1s": 2.0, "failed": 1}, "timeslice": {"error_pp_1s": None}},
    "cap20": {"divvy": {"cap_error_pp": 0.5}}}}
PRIORITY = {"cases": {"rate100_unit0.1": {"alone": {"p99_ms": 5.0}, "timeslice": {"p99_ms": 10.0},
                                          "divvy": {"p99_ms": 5.1}}}}
OVER = {"makespan_vs_serial": {"2.0": 1.08, "1.3": None, "1.0": 0.99, "2.0_4s": 1.16},
        "activation_ms": {"p50": 300.0, "p99": 600.0, "predicted": 545.0, "count": 9},
        "bars": {"makespan_vs_serial/2.0": 1.1, "activation_ms/p99": 645.3}}


def bars(document):
    """{title: height} of the bars that have one."""
    found = {}
    for rect in tree.fromstring(document).iter("{http://www.w3.org/2000/svg}rect"):
        for title in rect:
            found[title.text] = float(rect.get("height"))
    return found


class Plot(unittest.TestCase):
    def test_bars_are_as_high_as_their_figures(self):
        found = bars(compute.draw(SHARES, PRIORITY))
        self.assertEqual(len(found), 5)
        self.assertAlmostEqual(found["k1_30_70, time slicing: 20"],
                               20 * found["k1_30_70, Divvy: 1"], delta=1)
        self.assertAlmostEqual(found["rate100_unit0.1, time slicing: 10"],
                               2 * found["rate100_unit0.1, alone: 5"], delta=0.2)

    def test_what_failed_or_is_missing_is_a_cross_and_no_small_bar(self):
        document = compute.draw(SHARES, PRIORITY)
        self.assertFalse([title for title in bars(document) if title.startswith("k20")])
        self.assertEqual(document.count("×"), 2)

    def test_caps_are_no_shares(self):
        self.assertEqual([name for name, _ in compute.share_rows(SHARES, ["divvy"])], ["k1_30_70", "k20_30_70"])

    def test_losses_are_percent_and_what_is_void_is_a_cross(self):
        document = oversubscribe.draw(OVER)
        found = bars(document)
        self.assertEqual(document.count("×"), 1)
        self.assertAlmostEqual(found["2.0, turns of 4 s: 16"], 2 * found["2.0, automatic: 8"],
                               delta=0.2)
        self.assertEqual(found["1.0, automatic: 0"], 0)
        self.assertAlmostEqual(found["activation, p99: 600"], 2 * found["activation, p50: 300"],
                               delta=0.2)
        self.assertEqual([case for case, _ in oversubscribe.loss_rows(OVER)], ["1.0", "1.3", "2.0"])
        self.assertEqual(document.count("stroke-dasharray"), 4, "two bars, and what they are")

    def test_scales_are_round_and_reach_the_top(self):
        for most in (0.03, 1, 4.9, 5, 45.2, 99, 1234):
            values = svg.steps(most)
            self.assertGreaterEqual(values[-1], most)
            self.assertLess(values[-1], 2 * most + 1)
            self.assertLessEqual(len(values), 8)

    def test_writes_a_file_and_names_what_it_cannot_read(self):
        with tempfile.TemporaryDirectory() as place:
            for name, text in (("s", "{}"), ("p", '{"cases": {}}'), ("bad", "{")):
                pathlib.Path(place, name).write_text(text, encoding="utf-8")
            command = [sys.executable, "-B", str(PLOT / "plot.py")]
            for words in (["compute", "s", "p"], ["oversubscribe", "s"]):
                good = subprocess.run([*command, *words, "out.svg"], cwd=place, check=False)
                self.assertEqual(good.returncode, 0)
                tree.parse(pathlib.Path(place, "out.svg"))
            bad = subprocess.run([*command, "compute", "s", "bad", "o"], cwd=place, check=False,
                                 capture_output=True, text=True)
            self.assertEqual(bad.returncode, 1)
            self.assertIn("bad", bad.stderr)
            self.assertEqual(subprocess.run(command, cwd=place, check=False,
                                            capture_output=True).returncode, 2)


if __name__ == "__main__":
    unittest.main()
