"""The rules of tools/prose find what they are for, and nothing in plain text. Usage: prose_test.py VALE"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/prose"))
import prose  # noqa: E402

VALE = sys.argv.pop(1)
LONG = "The agent reads the file " + "and then it reads another file " * 5 + "until the disk is full."
BAD = {
    "Actors": "The pod whose share ends is evicted.",
    "Nobody": "The device belongs to nobody.",
    "NounClauses": "The page lists what is bound.",
    "Speech": "The kubelet told the agent.",
    "Words": "The agent lists the pods anew.",
    "FrontedOf": "Of a pod the UID is kept.",
    "Likewise": "Likewise for nodes.",
    "LongSentences": LONG,
}
PLAIN = "The agent evicts the victim. A queue below its guarantee reclaims capacity from its siblings.\n"


class Prose(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        subprocess.run(["git", "-C", str(self.root), "add", path], check=True)

    def rules(self):
        """The rules that find something, by area."""
        _, found = prose.findings(VALE, self.root)
        return {area: sorted({rule for rule, *_ in one}) for area, one in found.items() if one}

    def test_each_rule_finds_its_sentence(self):
        for rule, text in BAD.items():
            self.write(f"docs/{rule}/page.md", "# Title\n\n" + "\n".join(text[i:i + 90] for i in range(0, len(text), 90)) + "\n")
        found = self.rules()
        for rule in BAD:
            self.assertEqual(found.get(f"pages docs/{rule}"), [rule], rule)

    def test_plain_text_and_code_pass(self):
        self.write("docs/page.md", f"# Title\n\n{PLAIN}\n```\nwho is nobody anew\n```\n\n`whose` is code.\n")
        self.assertEqual(self.rules(), {})

    def test_a_long_line_counts_only_as_prose(self):
        self.write("docs/page.md", "# Title\n\n| " + "identifier-of-a-cell " * 8 + "|\n|---|\n")
        self.assertEqual(self.rules(), {})
        self.write("docs/page.md", "# Title\n\n" + "considerable " * 10 + ".\n")
        self.assertEqual(self.rules(), {"pages docs": ["LongLines"]})

    def test_text_is_taken_out_of_sources(self):
        self.write("src/cli/parser/define_x.cpp", 'option("--x", "the pod whose share it is");  // who\n')
        self.write("src/agent/x.cpp", 'return Error{Code::kA, "nobody has it"};\nfield("who");\n')
        self.write("src/kube/include/kube/x.h", "// Tells nothing.\nint whose();\n")
        self.write("deploy/prometheus/alerts.yaml", "- alert: A\n  annotations:\n    summary: nobody is left\n  expr: who\n")
        self.write("deploy/helm/divvy/values.yaml", "a: who   # the port that nobody uses\n")
        self.assertEqual(self.rules(), {"help": ["Actors"], "messages agent": ["Nobody"], "contracts kube": ["Speech"],
                                        "alerts": ["Nobody"], "chart": ["Nobody"]})

    def test_comments_behind_members_are_texts_of_their_own(self):
        members = "".join(f"  int a{at};  // the bytes of a member\n" for at in range(8))
        self.write("src/kube/include/kube/x.h", "struct A {\n" + members + "};\n")
        self.assertEqual(self.rules(), {})
        # The next lines in the same column belong to the comment.
        words = "the bytes of a member and so on"
        self.write("src/kube/include/kube/x.h", f"int a;  // {words}\n" + f"        // {words}\n" * 4)
        self.assertEqual(self.rules(), {"contracts kube": ["LongSentences"]})

    def test_a_rate_above_bar_and_list_is_refused(self):
        words = {"pages docs": 10000}
        now = {"pages docs": {rule: 0.0 for rule in prose.BARS} | {"Actors": 0.8}}
        self.assertEqual(list(prose.excess(now, {"pages docs": {"Actors": 0.8}}, words)), [])
        self.assertEqual(len(list(prose.excess(now, {"pages docs": {"Actors": 0.76}}, words))), 0)
        self.assertEqual(len(list(prose.excess(now, {"pages docs": {"Actors": 0.7}}, words))), 1)
        self.assertEqual(len(list(prose.excess(now, {}, words))), 1)
        # The list falls and never rises.
        self.assertEqual(prose.listed(now, {"pages docs": {"Actors": 0.7}}, words), {"pages docs": {"Actors": 0.7}})
        self.assertEqual(prose.listed(now, {"pages docs": {"Actors": 2.0}}, words), {"pages docs": {"Actors": 0.8}})


if __name__ == "__main__":
    unittest.main()
