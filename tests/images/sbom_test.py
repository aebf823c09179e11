#!/usr/bin/env python3
"""That the image's document (SPDX) lists what the image holds: sbom_test.py IMAGES BUILD

IMAGES is what `tools/make-images` left, BUILD what CMake built. What is held is asked of others than the document's
maker: the layer, the loader inside the image, dpkg, and the compiler's own list of headers. As root."""
import copy
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import unittest

IMAGES, BUILD = (pathlib.Path(one) for one in sys.argv[1:3])
ROOT = IMAGES / "rootfs"
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
LOADER = "/lib64/ld-linux-x86-64.so.2"
PROGRAMS = {"opt/divvy/bin/divvy": "bin/divvy", "opt/divvy/bin/divvy-agent-helper": "bin/divvy-agent-helper",
            "opt/divvy/bin/share-probe": "tests/share_probe",
            "opt/divvy/lib/libdivvy-cuda.so": "lib/libdivvy-cuda.so",
            "opt/divvy/lib/libdivvy-nvml.so": "lib/libdivvy-nvml.so",
            "opt/divvy/simgpu/libcuda.so.1": "simgpu/libcuda.so.1",
            "opt/divvy/simgpu/libnvidia-ml.so.1": "simgpu/libnvidia-ml.so.1"}
# What make-images makes of packages' files, or of the machine's release.
MADE = re.compile(r"usr/share/doc/divvy/third-party-licences|etc/(ssl/certs/ca-certificates\.crt|debian_version|os-release)|usr/lib/os-release|"
                  r"var/lib/dpkg/status\.d/.*|opt/divvy/bin/kubectl(?:_complete)?-divvy")
# Declarations of the kernel's interface: nothing of the kernel is in a program.
NOTHING_OF = {"linux-libc-dev"}


def run(*words, cwd=None):
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=True).stdout


def owners(paths):
    """Debian's packages that these files of this machine are of, by dpkg; under /lib or /usr/lib. What is nobody's
    is among them as it is."""
    asked = {name: path for path in paths for name in {path, path.removeprefix("/usr"), "/usr" + path}}
    found = subprocess.run(["dpkg-query", "-S", *asked], capture_output=True, text=True).stdout
    owned = {}
    for line in found.splitlines():
        packages, name = line.split(": ", 1)
        if name in asked:
            owned[asked[name]] = packages.split(", ")[0].split(":")[0]
    return {owned.get(path, path) for path in paths}


def source(package):
    return run("dpkg-query", "-W", "-f", "${source:Package}", package)


def bundled():
    """npm packages in the console's page: what web/package.json names, and what these need, but for the bundler."""
    modules = REPOSITORY / "web" / "node_modules"
    found, left = set(), ["."]
    while left:
        name = left.pop()
        manifest = (REPOSITORY / "web" if name == "." else modules / name) / "package.json"
        for needed in json.loads(manifest.read_text()).get("dependencies", {}):
            if needed not in found and needed != "esbuild":
                found.add(needed)
                left.append(needed)
    return found


def is_npm(package):
    return package["SPDXID"].startswith("SPDXRef-Package-npm-")


class Held:
    """What the image holds."""

    def __init__(self):
        files = {str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if p.is_symlink() or not p.is_dir()}
        self.files = files
        self.unpacked = owners({"/" + one for one in files if one not in PROGRAMS and not MADE.fullmatch(one)})
        self.loaded = owners({path for one in PROGRAMS for path in libraries(one)})
        self.headers, self.archives = set(), set()
        for target in PROGRAMS.values():
            inputs = run("ninja", "-t", "inputs", target, cwd=BUILD).split()
            self.archives |= {one for one in inputs if one.startswith("/usr/") and one.endswith(".a")}
            deps = run("ninja", "-t", "deps", *[one for one in inputs if one.endswith(".o")], cwd=BUILD)
            self.headers |= {line.strip() for line in deps.splitlines() if line.startswith("    /usr/")}
        self.archives, self.headers = owners(self.archives), owners(self.headers) - NOTHING_OF
        self.bundled = bundled()


def libraries(program):
    said = run("chroot", str(ROOT), LOADER, "--list", "/" + program)
    return re.findall(r"(?:=> |^\t)(/\S+) \(", said, re.M)


def missing(document, held):
    """Of what is held, what the document does not list as it is."""
    packages = {one["SPDXID"]: one for one in document["packages"]}
    related = {kind: {packages[one["relatedSpdxElement"]]["name"] for one in document["relationships"]
                      if one["relationshipType"] == kind and one["relatedSpdxElement"] in packages}
               for kind in ("CONTAINS", "STATIC_LINK")}
    over = [f"{one}: in the image" for one in held.unpacked | held.loaded if one not in related["CONTAINS"]]
    npm = {one["name"] for one in document["packages"] if is_npm(one)}
    over += [f"{one}: in the page" for one in held.bundled if one not in npm & related["CONTAINS"]]
    over += [f"{one}: linked" for one in held.archives if one not in related["STATIC_LINK"]]
    # Of what is loaded the headers are of the same source.
    sources = {source(name) for name in related["CONTAINS"] - npm}
    over += [f"{one}: compiled" for one in held.headers
             if one not in related["STATIC_LINK"] and source(one) not in sources]
    return over


class Document(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.document = json.loads((IMAGES / "divvy.spdx.json").read_text())
        cls.packages = {one["SPDXID"]: one for one in cls.document["packages"]}
        cls.held = Held()

    def test_it_lists_what_the_image_holds(self):
        self.assertLess({"libc6", "libstdc++6", "libssl3"}, self.held.loaded)
        self.assertLess({"libgrpc++-dev", "libboost1.81-dev", "libc6-dev"}, self.held.headers)
        self.assertIn("libseccomp-dev", self.held.archives)
        self.assertEqual(missing(self.document, self.held), [])

    def test_it_lists_nothing_else(self):
        held = self.held.unpacked | self.held.loaded | self.held.archives | self.held.headers | self.held.bundled
        names = {one["name"] for one in self.packages.values()} - {"divvy"}
        self.assertEqual(names - held, set())

    def test_each_package_that_is_left_out_is_missed(self):
        for left_out in self.packages.values():
            if left_out["name"] == "divvy":
                continue
            document = copy.deepcopy(self.document)
            document["packages"].remove(left_out)
            found = missing(document, self.held)
            self.assertTrue([one for one in found if one.startswith(left_out["name"] + ":")], (left_out["name"], found))

    def test_versions_are_those_that_were_unpacked(self):
        said = {one["name"]: one["versionInfo"] for one in self.packages.values()}
        for path in (ROOT / "var/lib/dpkg/status.d").iterdir():
            fields = dict(line.split(": ", 1) for line in path.read_text().splitlines() if re.match(r"[A-Z]\S*: ", line))
            self.assertEqual(said[fields["Package"]], fields["Version"])
            # And not only by that file's word.
            documents = ROOT / "usr/share/doc" / fields["Package"]
            self.assertTrue(documents.is_symlink() or (documents / "copyright").exists(), fields["Package"])
        for name in self.held.archives | self.held.headers & set(said):
            self.assertEqual(said[name], run("dpkg-query", "-W", "-f", "${Version}", name))

    def test_our_program_is_the_one_that_is_in_it(self):
        program = (ROOT / "opt/divvy/bin/divvy").read_bytes()
        mine = next(one for one in self.packages.values() if one["name"] == "divvy")
        self.assertEqual(mine["checksums"], [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(program).hexdigest()}])
        self.assertEqual(run("chroot", str(ROOT), "/opt/divvy/bin/divvy", "version").split()[1], mine["versionInfo"])

    def test_the_image_and_its_program_name_the_same_commit(self):
        said = json.loads(run("chroot", str(ROOT), "/opt/divvy/bin/divvy", "version", "-o", "json"))
        with tarfile.open(IMAGES / "divvy.tar") as image:
            manifest = json.load(image.extractfile("manifest.json"))
            labels = json.load(image.extractfile(manifest[0]["Config"]))["config"]["Labels"]
        self.assertEqual(labels["org.opencontainers.image.revision"], said["commit"])
        mine = next(one for one in self.packages.values() if one["name"] == "divvy")
        self.assertEqual(mine["sourceInfo"], f"built from commit {said['commit']}" + ", modified" * said["modified"])

    def test_readers_find_each_package_with_its_licence(self):
        text = (ROOT / "usr/share/doc/divvy/third-party-licences").read_text()
        for one in self.packages.values():
            if one["name"] != "divvy":
                line = f"\n{one['name']} {one['versionInfo']} ({one['comment']}): {one['licenseDeclared']}\n"
                self.assertIn(line, text)
                inside = (ROOT / "usr/share/doc" / one["name"] / "copyright").is_file()
                self.assertTrue(inside or re.search(f"Copyright and licences of (.*, )?{re.escape(one['name'])}(,|\n)", text), one)

    def test_both_archives_hold_the_same_layers(self):
        """The manifest that signatures name is of this image: its layers, unpacked, are those of `docker save`."""
        with tarfile.open(IMAGES / "divvy.tar") as image, tarfile.open(IMAGES / "divvy.oci.tar") as oci:
            manifest = json.load(image.extractfile("manifest.json"))
            config = json.load(image.extractfile(manifest[0]["Config"]))
            index = json.load(oci.extractfile("index.json"))["manifests"][0]["digest"]
            named = json.load(oci.extractfile(f"blobs/sha256/{index[7:]}"))["config"]["digest"]
            self.assertEqual(json.load(oci.extractfile(f"blobs/sha256/{named[7:]}"))["rootfs"], config["rootfs"])

    def test_the_program_of_an_agents_helper_finds_what_it_loads(self):
        """It refuses what it was not begun with, by itself."""
        done = subprocess.run(["chroot", str(ROOT), "/opt/divvy/bin/divvy-agent-helper"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (2, "divvy: this program is started by divvy agent-helper\n"))

    def test_the_image_is_that_folder(self):
        with tarfile.open(IMAGES / "divvy.tar") as image:
            manifest = json.load(image.extractfile("manifest.json"))
            names = set()
            for layer in manifest[0]["Layers"]:
                with tarfile.open(fileobj=image.extractfile(layer)) as files:
                    names |= {one.name.removeprefix("./") for one in files if not one.isdir()}
        self.assertEqual(names, self.held.files)

    def test_what_it_says_hangs_together(self):
        identities = [one["SPDXID"] for one in self.document["packages"]]
        self.assertEqual(len(identities), len(set(identities)))
        known = {*identities, self.document["SPDXID"]}
        for one in self.document["relationships"]:
            self.assertLessEqual({one["spdxElementId"], one["relatedSpdxElement"]}, known)
        for one in self.packages.values():
            for reference in one.get("externalRefs", []):
                deb = f"pkg:deb/debian/{one['name']}@{one['versionInfo']}?"
                npm = f"pkg:npm/{one['name'].replace('@', '%40')}@{one['versionInfo']}"
                if is_npm(one):
                    self.assertEqual(reference["referenceLocator"], npm)
                else:
                    self.assertTrue(reference["referenceLocator"].startswith(deb), reference)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
