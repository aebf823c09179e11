#!/usr/bin/env python3
"""The fuzzers will compile: each source finds its headers in the folders of its target, and each header its source.

CI builds the fuzzers late, and only with clang. This test configures the preset `fuzz` with the machine's own compiler
and compiles nothing: it follows the quoted includes of each source through the include folders of its command.

usage: fuzz_includes_test.py [ROOT]
"""
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop()).resolve() if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.M)
CONFIGURE = ("cmake", "--preset", "fuzz", "-DDIVVY_UNITY=OFF", "-DDIVVY_TESTS=ON", "-DCMAKE_C_COMPILER=cc",
             "-DCMAKE_CXX_COMPILER=c++")


class Compilation:
    """One command of the build: a source, its target and the folders in which its includes are looked for."""

    def __init__(self, words, build):
        self.target = words[words.index("-o") + 1].partition(".dir/")[0].rpartition("/")[2]
        self.source = absolute(build, words[words.index("-c") + 1])
        self.folders = []
        for word, following in zip(words, words[1:] + [""]):
            if word.startswith("-I"):
                self.folders.append(absolute(build, word[2:]))
            elif word in ("-isystem", "-iquote"):
                self.folders.append(absolute(build, following))


def absolute(build, name):
    return str(build / name) if not name.startswith("/") else name


class Includes:
    """Follows quoted includes. A file that the build generates has none and need not exist."""

    def __init__(self, generated):
        self.generated = generated
        self.of_file = {}
        self.exists = {}

    def is_file(self, path):
        if path not in self.exists:
            self.exists[path] = path in self.generated or pathlib.Path(path).is_file()
        return self.exists[path]

    def names(self, path):
        if path not in self.of_file:
            text = "" if path in self.generated else pathlib.Path(path).read_text("utf-8", errors="replace")
            self.of_file[path] = INCLUDE.findall(text)
        return self.of_file[path]

    def find(self, one, path, name):
        """The header that an include of the file `path` means, or None."""
        places = (f"{folder}/{name}" for folder in (path.rpartition("/")[0], *one.folders))
        return next((place for place in places if self.is_file(place)), None)

    def missing(self, one):
        """(file, include) of each quoted include that the command's folders do not have."""
        absent, seen, following = [], {one.source}, [one.source]
        while following:
            path = following.pop()
            for name in self.names(path):
                found = self.find(one, path, name)
                if found is None:
                    absent.append((path, name))
                elif found not in seen:
                    seen.add(found)
                    following.append(found)
        return absent


def run(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, check=False, **more)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}")
    return done.stdout


def compilations(build, target):
    for line in run("ninja", "-C", build, "-t", "commands", target).splitlines():
        words = shlex.split(line)
        if "-c" in words and words[words.index("-c") + 1].endswith((".c", ".cc", ".cpp")):
            yield Compilation(words, build)


def generated(build):
    """The files that commands of the build make, by their full names."""
    lines = run("ninja", "-C", build, "-t", "targets", "all").splitlines()
    return {absolute(build, name) for name, _, rule in (line.rpartition(": ") for line in lines)
            if rule == "CUSTOM_COMMAND"}


def absent_sources(includes, commands, links, root):
    """(program, source, include) of each header of src/ that a program's source includes, whose .cpp it lacks."""
    defining = {}
    for path in (root / "src").rglob("*.cpp"):
        defining.setdefault((path.relative_to(root).parts[1], path.stem), []).append(str(path))
    of_target = {}
    for one in commands:
        of_target.setdefault(one.target, []).append(one)
    for program, libraries in links.items():
        compiled = {one.source: one for target in (program, *libraries) for one in of_target.get(target, ())}
        for one in compiled.values():
            for name in includes.names(one.source):
                header = includes.find(one, one.source, name)
                if header is None or not header.startswith(f"{root}/src/"):
                    continue
                header = pathlib.Path(header)
                wanted = defining.get((header.relative_to(root).parts[1], header.stem), [])
                if not set(wanted) <= set(compiled):
                    yield program, one.source, name


def linked(build, target):
    """The static libraries, without `lib` and `.a`, of each program that the target makes."""
    links = {}
    for line in run("ninja", "-C", build, "-t", "commands", target).splitlines():
        program = re.search(r" -o fuzz/(\w+) ", line)
        if program:
            links[program[1]] = re.findall(r"/lib(divvy_\w+)\.a\b", line)
    return links


class FuzzIncludes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        build = pathlib.Path(folder.name)
        run(*CONFIGURE, "-B", build, cwd=ROOT)
        cls.includes = Includes(generated(build))
        cls.commands = list(compilations(build, "divvy_fuzzers"))
        cls.links = linked(build, "divvy_fuzzers")

    def test_the_fuzzers_are_found(self):
        self.assertGreater(len([one for one in self.commands if one.target.endswith("_fuzzed")]), 100)
        self.assertGreater(len(self.links), 20)

    def test_each_source_finds_its_headers(self):
        absent = sorted({f"{path}: {one.target} has no include folder with \"{name}\""
                         for one in self.commands for path, name in self.includes.missing(one)})
        self.assertEqual(absent, [])

    def test_each_header_has_its_source_in_the_program(self):
        absent = sorted({f"{source}: {program} does not compile the source of \"{name}\"" for program, source, name
                         in absent_sources(self.includes, self.commands, self.links, ROOT)})
        self.assertEqual(absent, [])


if __name__ == "__main__":
    unittest.main()
