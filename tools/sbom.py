#!/usr/bin/env python3
"""Writes what an image or a package consists of as SPDX 2.3 (JSON): Debian's packages that were unpacked into an image,
and those whose static libraries and headers went into the programs, which no scanner can see. Each has its licence
(tools/supply/licences.py), and the list for readers is written beside it."""
import argparse
import base64
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "supply"))
import licences  # noqa: E402  (a folder beside this file)

WEB = pathlib.Path(__file__).resolve().parents[1] / "web"
# npm packages that make the page and are no part of it.
BUILD_ONLY = re.compile(r"esbuild$|@esbuild/")


def fields(text):
    found = {}
    for line in text.splitlines():
        if line[:1] not in (" ", "\t") and ":" in line:
            name, value = line.split(":", 1)
            found[name] = value.strip()
    return found


def unpacked(root):
    for path in sorted(pathlib.Path(root, "var/lib/dpkg/status.d").iterdir()):
        said = fields(path.read_text())
        yield said["Package"], said["Version"], said["Architecture"]


def linked(ninja):
    """Packages of the static libraries that the programs are linked with, by what the build says."""
    text = pathlib.Path(ninja).read_text()
    rules = [text.split(f"\nbuild bin/{name}:", 1)[1].split("\n\n", 1)[0]
             for name in ("divvy", "divvy-agent-helper")]
    archives = sorted(set(re.findall(r"/usr/lib/[\w/.+-]+\.a\b", "".join(rules))))
    owners = set()
    for path in archives:
        done = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True)
        if done.returncode == 0:
            owners.add(done.stdout.split(": ")[0])
    # Of headers only.
    for name in ("libboost1.81-dev", "libcli11-dev", "libspdlog-dev", "libfmt-dev",
                 "libtomlplusplus-dev"):
        owners.add(name)
    for owner in sorted(owners):
        done = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version} ${Architecture}",
                               owner], capture_output=True, text=True)
        if done.returncode == 0:
            yield tuple(done.stdout.split())


def bundled(ninja, web=WEB):
    """npm packages that are part of the console's page, if the build has it: those of the lock file that no test and no
    build step alone needs."""
    if "web_files.S" not in pathlib.Path(ninja).read_text():
        return
    for path, entry in sorted(json.loads((web / "package-lock.json").read_text())["packages"].items()):
        name = path.rpartition("node_modules/")[2]
        if name and not entry.get("dev") and not BUILD_ONLY.match(name):
            yield name, entry["version"], entry.get("license", "NOASSERTION"), entry["integrity"]


def page_licence(name, web=WEB):
    """The file with the licence of an npm package."""
    found = sorted((web / "node_modules" / name).glob("LICENSE*"))
    if not found:
        sys.exit(f"sbom.py: {name} has no file LICENSE in web/node_modules; build the page first (tools/web/build)")
    return found[0]


def npm_package(name, version, licence, integrity):
    ident = "SPDXRef-Package-npm-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{name}-{version}")
    algorithm, _, digest = integrity.partition("-")
    return {"SPDXID": ident, "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": licence,
            "copyrightText": "NOASSERTION", "comment": "in the console's page",
            "checksums": [{"algorithm": algorithm.upper(), "checksumValue": base64.b64decode(digest).hex()}],
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:npm/{name.replace('@', '%40')}@{version}"}]}


def checksums(path):
    return [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(path.read_bytes()).hexdigest()}]


def archived(name, version):
    """Checksum of a package's file by apt's index, where it still lists that version."""
    done = subprocess.run(["apt-cache", "show", f"{name}={version}"], capture_output=True, text=True)
    found = re.search(r"(?m)^SHA256: ([0-9a-f]{64})$", done.stdout)
    return [{"algorithm": "SHA256", "checksumValue": found[1]}] if found else []


def package(name, version, architecture, comment, licence):
    ident = "SPDXRef-Package-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{name}-{version}")
    return {"SPDXID": ident, "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
            "licenseDeclared": licence, "copyrightText": "NOASSERTION", "comment": comment,
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator":
                                  f"pkg:deb/debian/{name}@{version}?arch={architecture}"}]}


def own(name, version, program, revision, modified):
    return {"SPDXID": "SPDXRef-Package-" + name, "name": name, "versionInfo": version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": "Apache-2.0",
            "copyrightText": "NOASSERTION", "sourceInfo": f"built from commit {revision}{', modified' if modified else ''}",
            "checksums": checksums(program)}


class Licences:
    """Licences of the packages so far; two texts under one name get two names."""

    def __init__(self, roots):
        self.roots, self.texts, self.missing = roots, {}, []

    def of(self, name):
        try:
            expression, texts = licences.licence_of(name, *self.roots)
        except licences.Unknown as reason:
            self.missing.append(str(reason))
            return "NOASSERTION"
        for reference, text in texts.items():
            if self.texts.setdefault(reference, text) != text:
                renamed = f"{reference}-{re.sub('[^A-Za-z0-9.-]', '-', name)}"
                expression = re.sub(re.escape(reference) + r"(?![\w.-])", renamed, expression)
                self.texts[renamed] = text
        return expression

    def extracted(self):
        return [{"licenseId": name, "name": name.removeprefix("LicenseRef-"), "extractedText": text}
                for name, text in sorted(self.texts.items())]


def listing(packages, roots):
    """For readers: each package with its licence, then copyright files, each text once. A package in the image has its
    own copyright file there, unless that is a link to a folder of a package that is not."""
    lines = ["Software of third parties in Divvy's programs, and in the image around them.", ""]
    lines += [f"{one['name']} {one['versionInfo']} ({one['comment']}): {one['licenseDeclared']}" for one in packages]
    texts = {}
    for one in packages:
        if one["SPDXID"].startswith("SPDXRef-Package-npm-"):
            texts.setdefault(page_licence(one["name"]).read_text(errors="replace"), []).append(one["name"])
            continue
        inside = [pathlib.Path(root, "usr/share/doc", one["name"], "copyright") for root in roots]
        if not any(path.is_file() for path in inside):
            text = licences.copyright_file(one["name"]).read_text(errors="replace")
            texts.setdefault(text, []).append(one["name"])
    for text, names in texts.items():
        lines += ["", "=" * 78, "Copyright and licences of " + ", ".join(names), "=" * 78, "", text.rstrip()]
    return "\n".join(lines) + "\n"


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("name", "version", "revision", "ninja"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--program", required=True, type=pathlib.Path, help="the program whose checksum is listed")
    parser.add_argument("--modified", action="store_true", help="the tree differs from that commit")
    parser.add_argument("--root", help="the image's root; a package has none")
    parser.add_argument("--debs", type=pathlib.Path, help="the files that were unpacked into the image")
    parser.add_argument("--kind", default="image")
    parser.add_argument("--licences", type=pathlib.Path, help="where the list for readers goes")
    return parser.parse_args()


def components(given, known):
    """Packages without double ones, and how Divvy's own is related to each."""
    packages, relations, seen = [], [], set()
    debs = {}
    for path in sorted(given.debs.glob("*.deb")) if given.debs else ():
        debs[path.name.split("_")[0]] = checksums(path)
    for found, how, kind in ((unpacked(given.root) if given.root else (), "in the image", "CONTAINS"),
                             (linked(given.ninja), "linked or compiled into the programs", "STATIC_LINK")):
        for name, version, architecture in found:
            one = package(name, version, architecture, how, known.of(name))
            sums = debs.get(name) if kind == "CONTAINS" else archived(name, version)
            if sums:
                one["checksums"] = sums
            relations.append({"spdxElementId": "SPDXRef-Package-" + given.name, "relationshipType": kind,
                              "relatedSpdxElement": one["SPDXID"]})
            if one["SPDXID"] not in seen:
                packages.append(one)
            seen.add(one["SPDXID"])
    for entry in bundled(given.ninja):
        one = npm_package(*entry)
        relations.append({"spdxElementId": "SPDXRef-Package-" + given.name, "relationshipType": "CONTAINS",
                          "relatedSpdxElement": one["SPDXID"]})
        packages.append(one)
    return packages, relations


def main():
    given = parse()
    roots = [given.root] if given.root else []
    known = Licences(roots)
    packages, relations = components(given, known)
    if known.missing:
        sys.exit("sbom.py: unknown licences:\n" + "\n".join(known.missing))
    if given.licences:
        given.licences.parent.mkdir(parents=True, exist_ok=True)
        given.licences.write_text(listing(packages, roots))
    mine = own(given.name, given.version, given.program, given.revision, given.modified)
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ",
                            time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "0"))))
    what = f"{given.name}-{given.version}" + ("" if given.kind == "image" else f"-{given.kind}")
    print(json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": what,
        "documentNamespace": f"https://divvy.dev/spdx/{what}-{given.revision}",
        "creationInfo": {"created": created, "creators": ["Tool: tools/sbom.py"]},
        "documentDescribes": [mine["SPDXID"]], "packages": [mine, *packages],
        "hasExtractedLicensingInfos": known.extracted(),
        "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                           "relatedSpdxElement": mine["SPDXID"]}] + relations}, indent=1))


if __name__ == "__main__":
    main()
