#!/usr/bin/env python3
"""Writes what an image consists of as SPDX 2.3 (JSON): Debian's packages that were unpacked into it,
and those whose static libraries and headers went into the programs, which no scanner can see."""
import argparse
import hashlib
import json
import os
import pathlib
import re
import subprocess
import time


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


def package(name, version, architecture, comment):
    ident = "SPDXRef-Package-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{name}-{version}")
    return {"SPDXID": ident, "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
            "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION", "comment": comment,
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator":
                                  f"pkg:deb/debian/{name}@{version}?arch={architecture}"}]}


def own(name, version, root):
    program = pathlib.Path(root, "opt/divvy/bin/divvy").read_bytes()
    return {"SPDXID": "SPDXRef-Package-" + name, "name": name, "versionInfo": version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
            "copyrightText": "NOASSERTION",
            "checksums": [{"algorithm": "SHA256",
                           "checksumValue": hashlib.sha256(program).hexdigest()}]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("name", "version", "revision", "root", "ninja"):
        parser.add_argument("--" + name, required=True)
    told = parser.parse_args()
    packages, relations = [own(told.name, told.version, told.root)], []
    top = packages[0]["SPDXID"]
    seen = set()
    for found, how, kind in ((unpacked(told.root), "in the image", "CONTAINS"),
                             (linked(told.ninja), "linked or compiled into the programs",
                              "STATIC_LINK")):
        for name, version, architecture in found:
            one = package(name, version, architecture, how)
            relations.append({"spdxElementId": top, "relationshipType": kind,
                              "relatedSpdxElement": one["SPDXID"]})
            if one["SPDXID"] not in seen:
                packages.append(one)
            seen.add(one["SPDXID"])
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ",
                            time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "0"))))
    print(json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{told.name}-{told.version}",
        "documentNamespace": f"https://divvy.dev/spdx/{told.name}-{told.version}-{told.revision}",
        "creationInfo": {"created": created, "creators": ["Tool: tools/sbom.py"]},
        "documentDescribes": [top], "packages": packages,
        "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                           "relatedSpdxElement": top}] + relations}, indent=1))


if __name__ == "__main__":
    main()
