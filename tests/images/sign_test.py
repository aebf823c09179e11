#!/usr/bin/env python3
"""tools/sign and tools/verify: sign_test.py [FILE...]

FILE are artefacts of a build (./dev images check); without any, small ones are made. They are signed with a throw-away
key. Then each byte that was flipped, each wrong key and each document of another artefact has to be refused."""
import base64
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "supply"))
import attest  # noqa: E402  (tools/supply)
import keys  # noqa: E402

SIGN, VERIFY = ROOT / "tools" / "sign", ROOT / "tools" / "verify"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
OF_ALL = {".sig", ".sigstore.json", ".provenance.intoto.jsonl", ".provenance.sigstore.json"}
OF_LISTED = OF_ALL | {".sbom.intoto.jsonl", ".sbom.sigstore.json"}
DOCUMENTS = {".oci.tar": OF_LISTED | {".payload.json", ".payload.json.sig"}, ".tgz": OF_ALL, ".deb": OF_LISTED}
GIVEN = []


def run(*words):
    return subprocess.run([sys.executable, "-B", *map(str, words)], capture_output=True, text=True)


def made_sbom(sum_of_file="ab" * 32, source=f"built from commit {COMMIT}"):
    return {"spdxVersion": "SPDX-2.3", "packages": [
        {"name": "divvy", "versionInfo": "0.1.0", "sourceInfo": source},
        {"name": "toy", "versionInfo": "1.0", "checksums": [{"algorithm": "SHA256", "checksumValue": sum_of_file}],
         "externalRefs": [{"referenceLocator": "pkg:deb/debian/toy@1.0?arch=amd64"}]}]}


def made_image(path, spoil=None):
    """An image in OCI's layout. `spoil` is a blob (manifest, config, layer) whose content differs from its digest."""
    blobs = {"config": b"{}", "layer": b"files"}
    named = {name: {"digest": "sha256:" + hashlib.sha256(data).hexdigest()} for name, data in blobs.items()}
    blobs["manifest"] = json.dumps({"config": named["config"], "layers": [named["layer"]]}).encode()
    digest = hashlib.sha256(blobs["manifest"]).hexdigest()
    named["manifest"] = {"digest": f"sha256:{digest}"}
    with tarfile.open(path, "w") as archive:
        files = {f"blobs/sha256/{named[name]['digest'][7:]}": data + b" " * (name == spoil) for name, data in blobs.items()}
        files["index.json"] = json.dumps({"manifests": [named["manifest"]]}).encode()
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return digest


def make_artefacts(folder):
    made_image(folder / "divvy.oci.tar")
    (folder / "divvy.spdx.json").write_text(json.dumps(made_sbom()))
    (folder / "divvy-0.1.0.tgz").write_bytes(b"chart")
    (folder / "divvy_0.1.0_amd64.deb").write_bytes(b"package")
    (folder / "divvy_0.1.0_amd64.spdx.json").write_text(json.dumps(made_sbom()))
    return [folder / name for name in ("divvy.oci.tar", "divvy-0.1.0.tgz", "divvy_0.1.0_amd64.deb")]


def link_artefacts(folder, paths):
    """Documents are written beside links: a throw-away key leaves none beside what was built."""
    linked = []
    for path in paths:
        for one in (path, *path.parent.glob("*.spdx.json")):
            if not (folder / one.name).exists():
                (folder / one.name).symlink_to(one)
        linked.append(folder / path.name)
    return linked


def manifest_of(path):
    with tarfile.open(path) as archive:
        return json.load(archive.extractfile("index.json"))["manifests"][0]["digest"]


def flip(path, at):
    """Replaces the file, which can be a link, by one with another byte."""
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.unlink()
    path.write_bytes(data)


class P256:
    """Verification in this file's own arithmetic, so that the form of signatures is not only openssl's word."""
    P = 2**256 - 2**224 + 2**192 + 2**96 - 1
    N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
    G = (0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
         0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5)

    @classmethod
    def add(cls, a, b):
        if a is None or b is None:
            return a or b
        if a[0] == b[0]:
            if a != b:
                return None
            slope = (3 * a[0] * a[0] - 3) * pow(2 * a[1], -1, cls.P)
        else:
            slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, cls.P)
        x = (slope * slope - a[0] - b[0]) % cls.P
        return x, (slope * (a[0] - x) - a[1]) % cls.P

    @classmethod
    def times(cls, number, point):
        total = None
        for bit in bin(number)[2:]:
            total = cls.add(total, total)
            total = cls.add(total, point) if bit == "1" else total
        return total

    @classmethod
    def holds(cls, public_key, signature, data):
        der = base64.b64decode(re.sub(r"-----.*-----|\s", "", public_key))
        point = int.from_bytes(der[-64:-32], "big"), int.from_bytes(der[-32:], "big")
        raw = base64.b64decode(signature)
        assert raw[0] == 0x30 and raw[1] == len(raw) - 2 and raw[2] == 2
        r = int.from_bytes(raw[4:4 + raw[3]], "big")
        s = int.from_bytes(raw[6 + raw[3]:], "big")
        digest, inverse = int.from_bytes(hashlib.sha256(data).digest(), "big"), pow(s, -1, cls.N)
        found = cls.add(cls.times(digest * inverse % cls.N, cls.G), cls.times(r * inverse % cls.N, point))
        return found is not None and found[0] % cls.N == r


class Signed(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.key, self.public = self.new_key("one")
        self.artefacts = link_artefacts(self.folder, GIVEN) if GIVEN else make_artefacts(self.folder)

    def new_key(self, name):
        key, public = self.folder / f"{name}.key", self.folder / f"{name}.pub"
        keys.generate(key)
        public.write_text(keys.public_of(key))
        return key, public

    def sign(self, *words, files=None):
        options = [] if "--commit" in words else ["--commit", COMMIT]
        return run(SIGN, "--key", self.key, "--reference", "registry.example.com/divvy", "--allow-modified", *options, *words,
                   *(files or self.artefacts))

    def signed(self, *words):
        done = self.sign(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def verify(self, *files, key=None):
        return run(VERIFY, "--key", key or self.public, *files)

    def refused(self, path, why):
        done = self.verify(path)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stderr, why)

    def document(self, path, suffix):
        return path.with_name(path.name + suffix)

    def statement(self, path, suffix):
        return json.loads(base64.b64decode(json.loads(self.document(path, suffix).read_text())["payload"]))


class Release(Signed):
    """Holds for made artefacts and for those of a build."""

    def test_each_artefact_has_its_documents_and_is_verified(self):
        written = {pathlib.Path(one).name for one in self.signed()}
        wanted = {path.name + suffix for path in self.artefacts for end, suffixes in DOCUMENTS.items()
                  if path.name.endswith(end) for suffix in suffixes}
        self.assertEqual(written, wanted)
        done = self.verify(*self.artefacts)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count(": verified, built from commit "), len(self.artefacts))

    def test_signatures_hold_in_other_arithmetic(self):
        self.signed()
        public = self.public.read_text()
        for path in self.artefacts:
            signature = self.document(path, ".sig").read_text()
            self.assertTrue(P256.holds(public, signature, path.read_bytes()), path)
            self.assertFalse(P256.holds(public, signature, path.read_bytes() + b" "), path)
            read = json.loads(self.document(path, ".provenance.intoto.jsonl").read_text())
            payload = base64.b64decode(read["payload"])
            covered = b"DSSEv1 28 application/vnd.in-toto+json %d " % len(payload) + payload
            self.assertTrue(P256.holds(public, read["signatures"][0]["sig"], covered), path)

    def test_cosign_agrees(self):
        """Where it is installed; docs/concepts/security-model.md names the versions that were tried."""
        if not shutil.which("cosign"):
            self.skipTest("no cosign")
        self.signed()
        path = next(one for one in self.artefacts if one.name.endswith(".deb"))
        common = ["--key", self.public, "--insecure-ignore-tlog"]
        for words in (["verify-blob", *common, "--signature", self.document(path, ".sig")],
                      ["verify-blob-attestation", *common, "--type", "slsaprovenance1", "--signature",
                       self.document(path, ".provenance.intoto.jsonl")],
                      ["verify-blob-attestation", *common, "--type", "spdxjson", "--signature",
                       self.document(path, ".sbom.intoto.jsonl")]):
            for file, status in ((path, 0), (self.artefacts[0], 1)):
                done = subprocess.run(["cosign", *map(str, words), str(file)], capture_output=True, text=True)
                self.assertEqual(min(done.returncode, 1), status, done.stderr)

    def test_an_images_payload_names_its_manifest(self):
        self.signed()
        image = next(path for path in self.artefacts if path.name.endswith(".oci.tar"))
        read = json.loads(self.document(image, ".payload.json").read_text())
        self.assertEqual(read["critical"], {"identity": {"docker-reference": "registry.example.com/divvy"},
                                            "image": {"docker-manifest-digest": manifest_of(image)},
                                            "type": "cosign container image signature"})

    def test_statements_are_about_the_artefact(self):
        self.signed("--builder", "https://example.com/builder")
        for path in self.artefacts:
            image = path.name.endswith(".oci.tar")
            digest = manifest_of(path)[7:] if image else hashlib.sha256(path.read_bytes()).hexdigest()
            for suffix, kind in ((".provenance.intoto.jsonl", "https://slsa.dev/provenance/v1"),
                                 (".sbom.intoto.jsonl", "https://spdx.dev/Document")):
                if suffix == ".sbom.intoto.jsonl" and path.name.endswith(".tgz"):
                    continue
                stated = self.statement(path, suffix)
                self.assertEqual((stated["_type"], stated["predicateType"]), ("https://in-toto.io/Statement/v1", kind))
                self.assertEqual(stated["subject"][0]["digest"], {"sha256": digest})
            predicate = self.statement(path, ".provenance.intoto.jsonl")["predicate"]
            self.assertEqual(predicate["runDetails"]["builder"]["id"], "https://example.com/builder")
            source, *packages = predicate["buildDefinition"]["resolvedDependencies"]
            self.assertRegex(source["digest"]["gitCommit"], "^[0-9a-f]{40}$")
            self.assertTrue(packages)
            for package in packages:
                self.assertRegex(package["uri"], r"^pkg:(deb/debian|golang|npm)/\S+@")
                self.assertTrue(package["annotations"]["version"])

    def test_packages_in_the_image_have_checksums(self):
        self.signed()
        image = next(path for path in self.artefacts if path.name.endswith(".oci.tar"))
        stated = self.statement(image, ".provenance.intoto.jsonl")["predicate"]["buildDefinition"]["resolvedDependencies"]
        found = {one["name"]: one["digest"]["sha256"] for one in stated if "sha256" in one.get("digest", {})}
        self.assertIn("libc6" if GIVEN else "toy", found)

    def test_the_attested_list_is_the_one_beside_the_artefact(self):
        self.signed()
        for path in self.artefacts:
            end = next(one for one in DOCUMENTS if path.name.endswith(one))
            if end != ".tgz":
                beside = path.with_name(path.name.removesuffix(end) + ".spdx.json")
                self.assertEqual(self.statement(path, ".sbom.intoto.jsonl")["predicate"], json.loads(beside.read_text()))

    def test_a_flipped_byte_is_refused(self):
        self.signed()
        for path in self.artefacts:
            with self.subTest(path.name):
                # Padding of a tar is not part of a blob; the signature over the file covers it.
                flip(path, path.stat().st_size // 2)
                self.refused(path, "refused: ")

    def test_a_flipped_byte_of_each_document_is_refused(self):
        for written in map(pathlib.Path, self.signed()):
            with self.subTest(written.name):
                before = written.read_bytes()
                artefact = next(path for path in self.artefacts if written.name.startswith(path.name))
                for at in (10, len(before) // 2):
                    flip(written, at)
                    self.refused(artefact, "refused: ")
                    written.write_bytes(before)
        self.assertEqual(self.verify(*self.artefacts).returncode, 0)

    def test_a_wrong_key_is_refused(self):
        self.signed()
        other = self.new_key("two")[1]
        done = self.verify(*self.artefacts, key=other)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr.count("no signature of this key"), len(self.artefacts))

    def test_a_missing_document_is_refused(self):
        for written in map(pathlib.Path, self.signed()):
            before = written.read_bytes()
            written.unlink()
            artefact = next(path for path in self.artefacts if written.name.startswith(path.name))
            self.refused(artefact, "is missing")
            written.write_bytes(before)


class Made(Signed):
    """Cases that need artefacts made for them."""

    def setUp(self):
        super().setUp()
        self.folder = self.folder / "made"
        self.folder.mkdir()
        self.artefacts = make_artefacts(self.folder)
        self.image, self.chart, self.package = self.artefacts

    def test_documents_of_another_artefact_are_refused(self):
        self.signed()
        for suffix in (".sbom.intoto.jsonl", ".provenance.intoto.jsonl"):
            own = self.document(self.package, suffix)
            before = own.read_bytes()
            own.write_bytes(self.document(self.image, suffix).read_bytes())
            self.refused(self.package, "the statement is about sha256")
            own.write_bytes(before)
        bundle, other = (self.document(one, ".provenance.sigstore.json") for one in (self.package, self.image))
        before = bundle.read_bytes()
        bundle.write_bytes(other.read_bytes())
        self.refused(self.package, "the bundle of the provenance holds another statement")
        bundle.write_bytes(before)
        provenance, sbom = (self.document(self.package, one) for one in (".provenance.intoto.jsonl", ".sbom.intoto.jsonl"))
        sbom.write_bytes(provenance.read_bytes())
        self.refused(self.package, "the statement is about https://slsa.dev/provenance/v1; accepted: https://spdx.dev/Document")

    def test_a_payload_of_another_image_is_refused(self):
        self.signed()
        other = attest.image_payload("registry.example.com/divvy", "0" * 64)
        self.document(self.image, ".payload.json").write_bytes(other)
        self.document(self.image, ".payload.json.sig").write_text(keys.sign(self.key, other))
        self.refused(self.image, "the payload names sha256:0{64}, the image's manifest is sha256:")

    def test_an_image_with_a_spoilt_blob_is_refused(self):
        for spoil in ("manifest", "config", "layer"):
            made_image(self.image, spoil)
            self.assertIn("is missing or differs from its digest", self.sign(files=[self.image]).stderr)

    def test_another_payload_type_is_refused(self):
        """The signature covers the type: an envelope of another one is refused before its payload is read."""
        self.signed()
        path = self.document(self.package, ".provenance.intoto.jsonl")
        read = json.loads(path.read_text())
        path.write_text(json.dumps({**read, "payloadType": "text/plain"}))
        self.refused(self.package, "the attestation holds text/plain")

    def test_what_covers_a_type_and_a_payload_is_dsses(self):
        """The example of DSSE's protocol.md."""
        self.assertEqual(attest.pae("http://example.com/HelloWorld", b"hello world"),
                         b"DSSEv1 29 http://example.com/HelloWorld 11 hello world")

    def test_other_keys_are_refused(self):
        for name, words in (("rsa", ["-algorithm", "RSA"]), ("p384", ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"])):
            self.key = self.folder / f"{name}.key"
            subprocess.run(["openssl", "genpkey", *words, "-out", str(self.key)], check=True, capture_output=True)
            done = self.sign()
            self.assertIn("is not an EC key over P-256", done.stderr)
        self.key.write_text("no key")
        self.assertIn("cannot be read as a private key", self.sign().stderr)
        self.assertEqual(list(self.folder.glob("*.sig")), [])

    def test_a_modified_tree_is_refused_unless_it_is_accepted(self):
        (self.folder / "divvy_0.1.0_amd64.spdx.json").write_text(
            json.dumps(made_sbom(source=f"built from commit {COMMIT}, modified")))
        done = run(SIGN, "--key", self.key, self.package)
        self.assertIn(f"differs from commit {COMMIT}", done.stderr)
        self.assertEqual(self.sign(files=[self.package]).returncode, 0)
        self.assertIn(f"commit {COMMIT}, modified", self.verify(self.package).stdout)

    def test_other_files_are_refused(self):
        (self.folder / "a.zip").write_bytes(b"")
        self.assertIn("accepted are .oci.tar, .tgz, .deb", self.sign(files=[self.folder / "a.zip"]).stderr)
        (self.folder / "divvy.spdx.json").unlink()
        self.assertIn("divvy.spdx.json is not beside divvy.oci.tar", self.sign(files=[self.image]).stderr)

    def test_a_key_is_never_written(self):
        before = self.key.read_bytes(), self.key.stat().st_mtime_ns
        self.signed()
        self.assertEqual((self.key.read_bytes(), self.key.stat().st_mtime_ns), before)


if __name__ == "__main__":
    GIVEN = [pathlib.Path(os.path.abspath(one)) for one in sys.argv[1:] if not one.startswith("-")]
    unittest.main(argv=sys.argv[:1])
