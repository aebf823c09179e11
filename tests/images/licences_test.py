#!/usr/bin/env python3
"""Every component of the image and the package has a known licence: licences_test.py [SPDX...]

SPDX are documents of a build (./dev images, ./dev package). Without any, components are those that build.ninja links, and
the libraries that the programs load."""
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / "supply"), str(ROOT / "tools")]
import licences  # noqa: E402  (tools/supply)
import sbom  # noqa: E402  (tools)

LOADED = ["ca-certificates", "libc6", "libgcc-s1", "libssl3", "libstdc++6", "libyaml-cpp0.7", "zlib1g"]
# Manifests of other ecosystems. One outside of tests would bring components that no Debian package has.
MANIFESTS = {"package.json", "package-lock.json", "go.mod", "Cargo.toml", "requirements.txt", "pyproject.toml", "vcpkg.json",
             "conanfile.txt", "conanfile.py"}
# Manifests of what only tests and releases run.
NOT_SHIPPED = ("tests/",)
# Manifests whose packages tools/sbom.py lists.
LISTED = {"web/package.json", "web/package-lock.json"}
GIVEN = []
TOY = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: toy

Files: *
Copyright: a
License: Expat

Files: one.c
Copyright: b
License: GPL-2+ or Artistic

Files: two.c
License: BSL-1.0 and Odd

License: Artistic
 The text
 .
 of it.

License: BSL-1.0 and Odd
 Odd's text.
"""


@functools.lru_cache(maxsize=None)
def components():
    names = [name for name, _, _ in sbom.linked(pathlib.Path(os.environ["DIVVY_BUILD_DIR"], "build.ninja"))]
    return names + [name for name in LOADED if licences.DOCUMENTS.joinpath(name).exists()]


class Components(unittest.TestCase):
    def test_each_has_a_known_licence(self):
        names = components()
        self.assertLess({"libgrpc++-dev", "libcli11-dev", "libseccomp-dev", "libboost1.81-dev", "libc6"}, set(names))
        for name in names:
            expression, texts = licences.licence_of(name)
            self.assertNotIn("NOASSERTION", expression)
            self.assertEqual(set(re.findall(r"LicenseRef-[\w.-]+", expression)), set(texts), name)

    def test_without_its_exception_a_component_is_refused(self):
        """The control."""
        for name in set(licences.exceptions()) & set(components()):
            with self.assertRaisesRegex(licences.Unknown, f"{re.escape(name)}: .*; give its licence and a reason in deploy/lic"):
                licences.licence_of(name, listed={})

    def test_exceptions_are_needed_and_have_a_reason(self):
        used = set(components())
        for name, (expression, reason) in licences.exceptions().items():
            self.assertIn(name, used, "no component: remove its line")
            self.assertTrue(expression and len(reason) > 10, name)

    def test_other_ecosystems_bring_no_components(self):
        done = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True)
        if done.returncode:
            self.skipTest("no checkout")
        found = [one for one in done.stdout.splitlines()
                 if pathlib.PurePath(one).name in MANIFESTS and not one.startswith(NOT_SHIPPED) and one not in LISTED]
        self.assertEqual(found, [], "list their components in tools/sbom.py, then accept the manifest here")


class Page(unittest.TestCase):
    """npm packages in the console's page."""

    def test_dependencies_of_the_page_are_listed_with_licence_and_checksum(self):
        with tempfile.TemporaryDirectory() as folder:
            ninja = pathlib.Path(folder, "build.ninja")
            ninja.write_text("build src/console/web/web_files.S: CUSTOM_COMMAND")
            listed = [sbom.npm_package(*entry) for entry in sbom.bundled(ninja)]
            ninja.write_text("build bin/divvy: LINK")
            self.assertEqual(list(sbom.bundled(ninja)), [], "a build without the page")
        wanted = json.loads((ROOT / "web/package.json").read_text())["dependencies"]
        versions = {one["name"]: one["versionInfo"] for one in listed}
        self.assertEqual({name: version for name, version in wanted.items() if name != "esbuild"},
                         {name: version for name, version in versions.items() if name in wanted})
        for one in listed:
            self.assertEqual(one["licenseDeclared"], "MIT", one["name"])
            self.assertEqual(len(one["checksums"][0]["checksumValue"]), 128)


class Documents(unittest.TestCase):
    def test_each_package_of_a_build_has_a_licence_and_its_text(self):
        for path in GIVEN:
            document = json.loads(path.read_text())
            texts = {one["licenseId"]: one["extractedText"] for one in document["hasExtractedLicensingInfos"]}
            used = set()
            for package in document["packages"]:
                self.assertNotIn(package["licenseDeclared"], ("NOASSERTION", "NONE", ""), package["name"])
                used |= set(re.findall(r"LicenseRef-[\w.-]+", package["licenseDeclared"]))
            self.assertEqual(used, set(texts))
            self.assertTrue(all(texts.values()))


class Reading(unittest.TestCase):
    def test_all_files_of_a_package_count(self):
        expression, texts = licences.dep5(TOY)
        self.assertEqual(expression, "(GPL-2.0-or-later OR LicenseRef-Artistic) AND BSL-1.0 AND LicenseRef-Odd AND MIT")
        self.assertEqual(texts, {"LicenseRef-Artistic": "The text\n\nof it.", "LicenseRef-Odd": "Odd's text."})

    def test_what_cannot_be_told_is_unknown(self):
        for text, why in (("This is the toy.\n", "not in DEP-5 form"),
                          ("Format: x\n\nFiles: *\nCopyright: a\n", "names no licence"),
                          ("Format: x\n\nFiles: *\nLicense: Private\n", '"Private" has neither')):
            with self.assertRaisesRegex(licences.Unknown, why):
                licences.dep5(text)

    def test_a_package_without_a_file_is_unknown(self):
        with self.assertRaisesRegex(licences.Unknown, "no-such-package: it has no copyright file"):
            licences.licence_of("no-such-package")

    def test_two_texts_of_one_name_get_two_names(self):
        known = sbom.Licences([])
        one, two = known.of("libboost1.81-dev"), known.of("libfmt-dev")
        self.assertIn("LicenseRef-Python", one)
        self.assertIn("LicenseRef-Python-libfmt-dev", two)
        self.assertEqual(known.missing, [])


if __name__ == "__main__":
    GIVEN = [pathlib.Path(one) for one in sys.argv[1:]]
    unittest.main(argv=sys.argv[:1])
