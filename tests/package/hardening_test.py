#!/usr/bin/env python3
"""Each file that is shipped was compiled and linked as cmake/Hardening.cmake says.

What is shipped is what `cmake --install` installs: packages and images take it from there. A file in lib/ is loaded into
processes of others (a guest), each other one is a daemon's, or a simulated driver's."""
import json
import os
import pathlib
import platform
import re
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["DIVVY_BUILD_DIR"])
SOURCE = pathlib.Path(os.environ["DIVVY_SOURCE_DIR"])
COMPONENTS = ("product", "image")
X86 = platform.machine() == "x86_64"
DAEMON = {"-fstack-protector-strong", "-fstack-clash-protection", "-U_FORTIFY_SOURCE"}
GUEST = {"-fno-stack-protector", "-fstack-clash-protection", "-U_FORTIFY_SOURCE"}
ENDBR64 = b"\xf3\x0f\x1e\xfa"


def read(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


class Elf:
    def __init__(self, path):
        self.header = read("readelf", "-hW", path)
        self.segments = read("readelf", "-lW", path)
        self.dynamic = read("readelf", "-dW", path)
        self.notes = read("readelf", "-nW", path)
        rows = [line.split() for line in read("readelf", "--dyn-syms", "-W", path).splitlines()]
        # number, value, size, kind, binding, visibility, section, name
        rows = [row for row in rows if len(row) >= 8 and row[0].rstrip(":").isdigit()]
        self.imports = {row[7].split("@")[0] for row in rows if row[6] == "UND"}
        with open(path, "rb") as file:
            # The first bytes of each exported function.
            self.starts = {row[7].split("@")[0]: self.at(file, int(row[1], 16), len(ENDBR64))
                           for row in rows if row[6] != "UND" and row[3] == "FUNC"}

    def at(self, file, address, size):
        """Bytes of the file that are loaded to this address."""
        for line in self.segments.splitlines():
            words = line.split()
            if words[:1] == ["LOAD"]:
                offset, start, held = (int(words[column], 16) for column in (1, 2, 4))
                if start <= address < start + held:
                    file.seek(offset + address - start)
                    return file.read(size)
        return b""


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def flags_of(segments, kind):
    """The flags column of each segment of a kind; it may hold a space ("R E")."""
    return re.findall(rf"^ *{kind}(?: +0x[0-9a-f]+){{5}} ([RWE ]{{3}})", segments, re.M)


def weaknesses(elf, guest):
    """What is wrong with a file, as a list of words."""
    found = []
    checks = {name for name in elf.imports if re.fullmatch(r"__\w+_chk", name)}
    if not re.search(r"Type:\s+DYN ", elf.header):
        found.append("its address is fixed")
    if not flags_of(elf.segments, "GNU_RELRO"):
        found.append("no relro")
    if not re.search(r"\((FLAGS|FLAGS_1)\).*\b(BIND_NOW|NOW)\b", elf.dynamic):
        found.append("bound lazily")
    if any("E" in flags for flags in flags_of(elf.segments, "GNU_STACK") or ["E"]):
        found.append("executable stack")
    if any("W" in flags and "E" in flags for flags in flags_of(elf.segments, "LOAD")):
        found.append("a segment that is written and executed")
    if "TEXTREL" in elf.dynamic:
        found.append("text relocations")
    if re.search(r"\((RPATH|RUNPATH)\)", elf.dynamic):
        found.append("a path of libraries of its own")
    if guest:
        found += [f"imports {name}, which aborts" for name in sorted(checks | elf.imports & {"__stack_chk_fail"})]
        if X86:
            found += [f"no {mark} mark" for mark in ("IBT", "SHSTK") if mark not in elf.notes]
            found += [f"{name} does not begin with endbr64" for name, start in sorted(elf.starts.items())
                      if start != ENDBR64]
        return found
    if "__stack_chk_fail" not in elf.imports:
        found.append("no stack protector")
    if not checks:
        found.append("no FORTIFY")
    return found


class Shipped(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        for component in COMPONENTS:
            read("cmake", "--install", str(BUILD), "--prefix", str(cls.root), "--component", component)
        cls.files = sorted(path for path in cls.root.rglob("*") if path.is_file() and is_elf(path))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_each_file_is_hardened(self):
        self.assertGreaterEqual(len(self.files), 7, self.files)
        for path in self.files:
            name = path.relative_to(self.root)
            with self.subTest(str(name)):
                self.assertEqual(weaknesses(Elf(path), guest=name.parts[0] == "lib"), [])

    def test_guests_export_functions_that_were_looked_at(self):
        for path in self.root.glob("lib/*"):
            self.assertGreater(len(Elf(path).starts), 100, path)

    def test_each_object_is_compiled_by_one_of_the_profiles(self):
        """A static library of others' (libseccomp) has checks of its own, which would hide that ours has none."""
        seen = set()
        for entry in json.loads((BUILD / "compile_commands.json").read_text()):
            file, flags = pathlib.Path(entry["file"]), set(entry["command"].split())
            home = SOURCE / "src" if file.is_relative_to(SOURCE / "src") else BUILD / "src"
            if not file.is_relative_to(home):
                continue
            folder = file.relative_to(home).parts[0]
            guest = "-fno-stack-protector" in flags
            if file.suffix != ".S":
                self.assertLessEqual(GUEST if guest else DAEMON, flags, file)
                fortified = any(flag.startswith("-D_FORTIFY_SOURCE=") for flag in flags)
                self.assertEqual(fortified, not guest, file)
                self.assertEqual(guest, folder == "interposer" or "/divvy_ledger_tenant.dir/" in entry["command"], file)
            if X86:
                self.assertIn("-fcf-protection", flags, file)
            seen.add(folder)
        self.assertLessEqual({"agent", "helper", "interposer", "ledger", "main", "scheduler", "simgpu"}, seen)

    def test_packages_and_images_take_nothing_past_the_install_rules(self):
        for script in ("make-package", "make-images"):
            text = (SOURCE / "tools" / script).read_text()
            self.assertIn("cmake --install", text)
            copies = re.findall(r'^\s*(?:install|cp|ln)\b.*"\$build.*', text, re.M)
            self.assertEqual(copies, [], script)


class Controls(unittest.TestCase):
    """Programs that lack it are found out."""

    def made(self, *options, source="int main(int n, char **a) { char b[64]; __builtin_strcpy(b, a[n - 1]); return b[0]; }"):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([os.environ["DIVVY_CC"], "-O2", "-x", "c", "-", "-o", f"{folder}/a", *options], check=True,
                           input=source, text=True)
            return Elf(f"{folder}/a")

    GOOD = ("-fPIE", "-pie", "-Wl,-z,relro,-z,now,-z,noexecstack", "-fstack-protector-strong", "-U_FORTIFY_SOURCE",
            "-D_FORTIFY_SOURCE=2", "-fcf-protection=none" if X86 else "-O2")
    TEXT = "#include <string.h>\nint main(int n, char **a) { char b[64]; strcpy(b, a[n - 1]); return b[n]; }"

    def test_a_hardened_program_has_no_weakness(self):
        self.assertEqual(weaknesses(self.made(*self.GOOD, source=self.TEXT), guest=False), [])

    def test_each_option_that_is_missing_is_a_weakness(self):
        for option, told in (("-no-pie", "its address is fixed"), ("-Wl,-z,norelro", "no relro"),
                             ("-Wl,-z,lazy", "bound lazily"), ("-Wl,-z,execstack", "executable stack"),
                             ("-Wl,-rpath,/opt/other", "a path of libraries of its own"),
                             ("-fno-stack-protector", "no stack protector"), ("-U_FORTIFY_SOURCE", "no FORTIFY")):
            with self.subTest(option):
                self.assertIn(told, weaknesses(self.made(*self.GOOD, option, source=self.TEXT), guest=False))

    def test_a_guest_that_could_abort_is_found_out(self):
        found = weaknesses(self.made(*self.GOOD, source=self.TEXT), guest=True)
        self.assertIn("imports __stack_chk_fail, which aborts", found)
        self.assertTrue(any("_chk, which aborts" in one for one in found), found)
        if X86:
            self.assertIn("no SHSTK mark", found)

    def test_a_guest_without_landing_places_is_found_out(self):
        if not X86:
            self.skipTest("endbr64 is of x86-64")
        elf = self.made("-shared", "-fPIC", "-fcf-protection=none", source="int answer(void) { return 42; }")
        self.assertIn("answer does not begin with endbr64", weaknesses(elf, guest=True))


if __name__ == "__main__":
    unittest.main()
