"""What a release consists of: an image in OCI's layout (.oci.tar), a chart (.tgz), a Debian package (.deb).

An artefact's documents lie beside it, under its own name with a suffix:
  .sig                 signature over the file, as `cosign sign-blob` makes it
  .payload.json        of images: what `cosign sign` signs, and .payload.json.sig
  .provenance.intoto.jsonl, .sbom.intoto.jsonl   attestations, as `cosign attest` makes them
  .sigstore.json, .provenance.sigstore.json, .sbom.sigstore.json   the same as bundles of Sigstore, for newer cosigns"""
import hashlib
import json
import pathlib
import re
import tarfile

KINDS = {".oci.tar": "image", ".tgz": "chart", ".deb": "package"}
BLOB = re.compile(r"sha256:([0-9a-f]{64})")


class BadArtefact(Exception):
    """The artefact is not what its name says; the text is the reason."""


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class Artefact:
    """One file. `digest` is what attestations name: an image's is that of its manifest."""

    def __init__(self, path, reference=""):
        self.path = pathlib.Path(path)
        self.suffix = next((one for one in KINDS if self.path.name.endswith(one)), None)
        if self.suffix is None:
            raise BadArtefact(f"{self.path.name}: accepted are {', '.join(KINDS)}")
        self.kind = KINDS[self.suffix]
        self.data = self.path.read_bytes()
        self.reference = reference
        self.digest = manifest_digest(self.path) if self.kind == "image" else sha256(self.data)
        self.name = reference if self.kind == "image" else self.path.name

    def beside(self, suffix):
        return self.path.with_name(self.path.name + suffix)

    def sbom(self):
        """Its SPDX document, or None: a chart has none, since it has no software of third parties."""
        path = self.path.with_name(self.path.name.removesuffix(self.suffix) + ".spdx.json")
        if self.kind == "chart":
            return None
        if not path.exists():
            raise BadArtefact(f"{path.name} is not beside {self.path.name}")
        return json.loads(path.read_text())


def blob(archive, digest, path):
    matched = BLOB.fullmatch(digest)
    try:
        data = archive.extractfile(f"blobs/sha256/{matched[1]}").read() if matched else None
    except KeyError:
        data = None
    if data is None or sha256(data) != matched[1]:
        raise BadArtefact(f"{path.name}: blob {digest} is missing or differs from its digest")
    return data


def manifest_digest(path):
    """SHA-256 of the one manifest of an image, whose blobs all have to be there and whole."""
    try:
        with tarfile.open(path) as archive:
            manifests = json.load(archive.extractfile("index.json"))["manifests"]
            if len(manifests) != 1:
                raise BadArtefact(f"{path.name} has {len(manifests)} manifests; accepted: one")
            digest = manifests[0]["digest"]
            manifest = json.loads(blob(archive, digest, path))
            for one in (manifest["config"], *manifest["layers"]):
                blob(archive, one["digest"], path)
    except (tarfile.TarError, KeyError, TypeError, ValueError) as reason:
        raise BadArtefact(f"{path.name} is no image in OCI's layout: {reason}") from None
    return digest.removeprefix("sha256:")
