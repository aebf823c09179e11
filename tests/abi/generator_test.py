"""The lists' format and what is generated from them: same input, same bytes; bad input is named."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import classify
import deflist
import emit_asm
import emit_headers
import enums
import gen
import layout
from library import CUDA

SOURCE = Path(os.environ["DIVVY_SOURCE_DIR"])
ABI = SOURCE / "abi"
HEAD = "release 11.7 12.0 12.4 13.0\n"
LINE = "cuInit cuInit 2000 - init wrap 11.7-13.0 CUresult(unsigned int Flags)\n"


def parse(text):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.def"
        path.write_text(text)
        return deflist.parse(path)


class Format(unittest.TestCase):
    def test_a_line_is_read_into_its_columns(self):
        entry = parse(HEAD + LINE).entries[0]
        self.assertEqual((entry.symbol, entry.cls, entry.policy), ("cuInit", "init", "wrap"))
        self.assertEqual((entry.ret, entry.params), ("CUresult", "unsigned int Flags"))
        self.assertEqual(entry.headers, ("11.7", "12.0", "12.4", "13.0"))

    def test_ranges_of_releases_expand_and_condense(self):
        releases = ("11.7", "12.0", "12.4", "13.0")
        for text in ("11.7-13.0", "12.4", "11.7,12.4-13.0", "unverified"):
            self.assertEqual(deflist.condense(deflist.expand(text, releases), releases), text)

    def test_the_committed_lists_are_in_their_own_format(self):
        for name in ("cuda.def", "nvml.def"):
            text = (ABI / name).read_text()
            self.assertEqual(deflist.render(deflist.parse(ABI / name)), text, name)
        for name in ("cuda_layout.def", "nvml_layout.def"):
            comment = "\n".join(line for line in (ABI / name).read_text().splitlines()
                                if line.startswith("#"))
            self.assertEqual(layout.render(comment, layout.parse(ABI / name)),
                             (ABI / name).read_text(), name)

    def test_an_nvml_release_becomes_a_number(self):
        text = LINE.replace("2000", "12.4").replace("cuInit", "nvmlInit")
        self.assertEqual(parse(HEAD + text).entries[0].since_number, 12040)

    def test_what_is_wrong_is_told_with_file_and_line(self):
        cases = {
            LINE.replace(" - ", " ptxx "): "mode",
            LINE.replace(" init ", " unheard "): "class",
            LINE.replace("wrap", "warp"): "policy",
            LINE.replace("2000", "soon"): "since",
            LINE.replace("11.7-13.0", "10.1"): "release line",
            LINE.replace("(unsigned int Flags)", ""): "RET(PARAMS)",
            LINE.replace("cuInit cuInit", "cuInit cuFree"): "does not match base",
            "cuInit cuInit 2000\n": "8 columns",
            LINE + LINE: "listed twice",
            LINE + "also cuX 12000 - cuMissing\n": "not in the list",
        }
        for text, expected in cases.items():
            with self.assertRaises(deflist.ListError, msg=text) as caught:
                parse(HEAD + text)
            self.assertIn(expected, str(caught.exception))
            self.assertRegex(str(caught.exception), r"^x\.def")

    def test_every_rule_proposes_a_class_that_exists(self):
        for name in ("cuda.def", "nvml.def"):
            for entry in deflist.parse(ABI / name).entries:
                self.assertIn(classify.propose(entry.symbol), deflist.CLASSES)


class Products(unittest.TestCase):
    def test_generating_twice_gives_the_same_bytes_and_leaves_files_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            first = gen.products(ABI)
            self.assertEqual(gen.write(root, first), len(first))
            self.assertEqual(gen.products(ABI), first)
            self.assertEqual(gen.write(root, gen.products(ABI)), 0)

    def test_the_build_ran_the_same_generator(self):
        built = Path(os.environ["DIVVY_BUILD_DIR"]) / "gen"
        for name, text in gen.products(ABI).items():
            self.assertEqual((built / name).read_text(), text, name)

    def test_no_product_names_a_folder_of_this_machine(self):
        for name, text in gen.products(ABI).items():
            self.assertNotIn(str(SOURCE), text, name)

    def test_the_version_script_is_anonymous_and_lets_out_the_list_alone(self):
        listed = deflist.parse(ABI / "cuda.def")
        text = emit_asm.version_script(CUDA, listed, CUDA.extras)
        self.assertRegex(text, r"(?m)^\{$")
        names = re.findall(r"^    ([\w*]+);$", text, re.M)
        self.assertEqual(sorted(names), sorted([entry.symbol for entry in listed.entries] +
                                               ["dlopen", "divvy_control", "*"]))

    def test_a_policy_is_one_word(self):
        wrapped = parse(HEAD + LINE)
        passed = parse(HEAD + LINE.replace("wrap", "pass"))
        self.assertIn("JUMP_TO hook_cuInit", emit_asm.interposer_stubs(CUDA, wrapped))
        self.assertIn("hook_cuInit", emit_headers.hooks(CUDA, wrapped))
        self.assertNotIn("hook_cuInit", emit_asm.interposer_stubs(CUDA, passed))
        self.assertNotIn("hook_cuInit", emit_headers.hooks(CUDA, passed))

    def test_unverified_entries_are_told_on_the_coverage_page(self):
        page = gen.products(ABI)["docs/coverage-cuda.md"]
        unverified = [entry.symbol for entry in deflist.parse(ABI / "cuda.def").entries
                      if not entry.headers]
        told = re.search(r"\*\*Unverified\*\*[^\n]*", page)
        self.assertEqual(bool(unverified), bool(told))
        for symbol in unverified:
            self.assertIn(f"`{symbol}`", told[0])

    def test_a_broken_list_stops_the_build_with_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in ABI.glob("*.def"):
                (Path(folder) / path.name).write_text(path.read_text())
            with (Path(folder) / "cuda.def").open("a") as stream:
                stream.write("cuNew cuNew 14000 - oddity pass unverified CUresult()\n")
            run = subprocess.run([sys.executable, "-B", str(SOURCE / "tools/abi/gen.py"), "--abi",
                                  folder, "--out", folder + "/out"], capture_output=True, text=True)
            self.assertEqual(run.returncode, 1)
            self.assertRegex(run.stderr, r"^gen\.py: cuda\.def:\d+: class 'oddity' is none of .*\n$")
            self.assertFalse((Path(folder) / "out").exists())


class Numbers(unittest.TestCase):
    def test_numbers_that_moved_are_remembered(self):
        self.assertIn("CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS",
                      enums.moved(ABI / "cuda_enums.def"))

    def test_a_number_that_differs_is_told_and_not_taken(self):
        known = {"CUx": {"CU_A": 1}}
        remarks = enums.merge(known, {"CUx": {"CU_A": 2, "CU_B": 3}}, "13.0", {})
        self.assertEqual(known, {"CUx": {"CU_A": 1, "CU_B": 3}})
        self.assertEqual(len(remarks), 1)
        self.assertEqual(enums.merge(known, {"CUx": {"CU_A": 2}}, "11.8", {"CU_A": "12.0"}), [])


if __name__ == "__main__":
    unittest.main()
