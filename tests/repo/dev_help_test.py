#!/usr/bin/env python3
"""`./dev COMMAND --help` prints the lines of that command, and runs nothing."""
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def output(*words):
    return subprocess.run([ROOT / "dev", *words], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout


class DevHelp(unittest.TestCase):
    def setUp(self):
        cases = (ROOT / "dev").read_text().split('case "$command" in\n')[1].split("esac")[0]
        self.commands = [name for name in re.findall(r"^  (\w+)\)", cases, re.MULTILINE)]

    def test_the_commands_were_read(self):
        self.assertGreater(len(self.commands), 15)
        self.assertIn("chart", self.commands)

    def test_each_command_prints_its_lines_only(self):
        for command in self.commands:
            for words in ((command, "--help"), (command, "-h"), ("help", command)):
                lines = output(*words).splitlines()
                named = {line.split()[0] for line in lines if re.match(r"  [a-z]", line)}
                self.assertEqual(named, {command}, words)

    def test_an_unknown_command_prints_all(self):
        self.assertEqual(output("help", "no-such-command"), output("help"))


if __name__ == "__main__":
    unittest.main()
