"""Our lists and mirror types against every NVIDIA header that can be found.

Looked for in $DIVVY_CUDA_HEADERS (a `:`-separated list), build/headers of the source tree (see
tools/abi/fetch-headers) and the usual places of a toolkit. Without any the test is skipped and
says so.
"""

import os
import sys
import unittest
from pathlib import Path

import deflist
import enums
import harvest
import headers
import layout
import signature

SOURCE = Path(os.environ["DIVVY_SOURCE_DIR"])
ABI = SOURCE / "abi"
SKIP = 77


def found_directories():
    """Directories that hold cuda.h or nvml.h, each once."""
    places = [Path(text) for text in os.environ.get("DIVVY_CUDA_HEADERS", "").split(":") if text]
    places += [SOURCE / "build/headers", Path("/usr/include")]
    places += sorted(Path("/usr/local").glob("cuda*/include"))
    result = []
    for place in places:
        for folder in (place, place / "include", *sorted(place.glob("*/include")),
                       *sorted(place.glob("[0-9]*"))):
            if (folder / "cuda.h").exists() or (folder / "nvml.h").exists():
                if folder.resolve() not in result:
                    result.append(folder.resolve())
    return sorted(result, key=lambda folder: headers.order(headers.version_of(folder)))


DIRECTORIES = found_directories()


class Parity:
    """The checks, for one library; `header` must exist for a directory to take part."""
    header = prefix = ""
    layout_sources = ()

    @classmethod
    def setUpClass(cls):
        cls.listed = deflist.parse(ABI / f"{cls.prefix}.def")
        folders = [folder for folder in DIRECTORIES if (folder / cls.header).exists()]
        cls.releases = [cls.read(folder) for folder in folders]
        known = [r for r in cls.releases if r.version in cls.listed.releases]
        for release in cls.releases:
            if release not in known:
                fresh = set(release.functions) - {e.symbol for e in cls.listed.entries}
                print(f"{cls.prefix}: release {release.version} is not on the list; it has "
                      f"{len(fresh)} functions that we do not know")
        cls.releases = known
        if not known:
            raise unittest.SkipTest(f"SKIPPED: no release of the list has {cls.header}")

    def test_every_function_is_listed_as_the_header_has_it(self):
        by_name = {entry.symbol: entry for entry in self.listed.entries}
        for release in self.releases:
            for symbol, text in release.functions.items():
                with self.subTest(release=release.version, symbol=symbol):
                    self.assertIn(symbol, by_name)
                    self.assertTrue(
                        signature.same(by_name[symbol].signature, text, release.aliases),
                        f"{by_name[symbol].signature} here, {text} there")
            print(f"{self.prefix}: {release.version}: {len(release.functions)} functions agree")

    def test_a_line_says_which_headers_confirm_it(self):
        for release in self.releases:
            claimed = {e.symbol for e in self.listed.entries
                       if release.version in e.headers and headers.readable(release, e.symbol)}
            self.assertEqual(claimed ^ set(release.functions), set(), release.version)

    def test_numbers_are_the_headers(self):
        path = ABI / f"{self.prefix}_enums.def"
        for release in self.releases:
            fresh = enums.read(release.path / self.header)
            known = enums.parse(path)
            size = sum(map(len, known.values()))
            remarks = enums.merge(known, fresh, release.version, enums.moved(path))
            self.assertEqual(remarks, [], release.version)
            self.assertEqual(sum(map(len, known.values())), size, f"{release.version}: new names")

    def test_sizes_and_offsets_are_the_headers(self):
        listed = layout.parse(ABI / f"{self.prefix}_layout.def")
        wanted = {name: list(structure.members) for name, structure in listed.items()}
        for release in self.releases:
            measured = layout.measure(release.path, self.sources(release.path), wanted)
            checked = 0
            for name, theirs in measured.items():
                if headers.order(release.version) >= headers.order(listed[name].since):
                    checked += 1
                    self.assertTrue(layout.agrees(listed[name], theirs),
                                    f"{release.version} {name}")
            print(f"{self.prefix}: {release.version}: {checked} structures agree, "
                  f"{len(measured) - checked} older versions skipped")

    def sources(self, folder):
        return [name for name in self.layout_sources if (folder / name).exists()]

    def test_every_mirrored_structure_is_in_the_layout_list(self):
        ours_alone = {"CUstreamMemOpValueParams", "CUstreamMemOpFlagParams",
                      "CUstreamMemOpReductionParams"}
        mirrored = set(layout.mirrored(ABI / "include/abi", self.prefix))
        self.assertEqual(mirrored - set(layout.parse(ABI / f"{self.prefix}_layout.def")),
                         mirrored & ours_alone)


class Cuda(Parity, unittest.TestCase):
    header, prefix, layout_sources = "cuda.h", "cuda", ("cuda.h", "cudaEGL.h")
    read = staticmethod(headers.read_cuda)

    def test_since_is_what_the_typedefs_say(self):
        releases = [release for release in self.releases if release.typedefs]
        known = {entry.symbol: entry.since for entry in self.listed.entries}
        seen = set()
        for release in releases:
            for (base, mode), versions in release.typedefs.items():
                seen |= {(base, mode, version) for version in versions}
        listed = {(e.base, e.mode, int(e.since)) for e in self.listed.entries if e.since != "-"}
        self.assertEqual(seen - listed, set())
        if {release.version for release in releases} == set(self.listed.releases):
            for symbol, version in harvest.cuda_since(releases).items():
                self.assertEqual(known[symbol], version, symbol)


class Nvml(Parity, unittest.TestCase):
    header, prefix, layout_sources = "nvml.h", "nvml", ("nvml.h",)
    read = staticmethod(headers.read_nvml)


if __name__ == "__main__":
    if not DIRECTORIES:
        print("SKIPPED: no NVIDIA header found (set DIVVY_CUDA_HEADERS, or run "
              "tools/abi/fetch-headers build/headers)")
        sys.exit(SKIP)
    unittest.main()
