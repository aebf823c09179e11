"""Licences of Debian's packages as SPDX expressions, read from their copyright files in DEP-5 form.

DEP-5: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/. A name that SPDX does not have becomes
LicenseRef-NAME with the text of the copyright file. A package without such a file has to be in deploy/licences.tsv."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = pathlib.Path("/usr/share/doc")
EXCEPTIONS = ROOT / "deploy" / "licences.tsv"
# Debian's short name in lower case, to SPDX's.
SPDX = {
    "apache-2.0": "Apache-2.0", "apache-2.0 with llvm exception": "Apache-2.0 WITH LLVM-exception",
    "bsd-2-clause": "BSD-2-Clause", "bsd2": "BSD-2-Clause", "bsd-3-clause": "BSD-3-Clause",
    "bsl-1.0": "BSL-1.0", "cc0-1.0": "CC0-1.0", "expat": "MIT", "mit": "MIT", "x11": "X11",
    "gpl-1+": "GPL-1.0-or-later", "gpl-2": "GPL-2.0-only", "gpl-2+": "GPL-2.0-or-later",
    "gpl-2.0+": "GPL-2.0-or-later", "gpl-3": "GPL-3.0-only", "gpl-3+": "GPL-3.0-or-later",
    "lgpl-2.1": "LGPL-2.1-only", "lgpl-2.1+": "LGPL-2.1-or-later", "mpl-2.0": "MPL-2.0", "zlib": "Zlib",
}


class Unknown(Exception):
    """The licence cannot be told; the text is the reason."""


def paragraphs(text):
    """Fields of each paragraph, names in lower case, with continuation lines."""
    for block in re.split(r"\n[ \t]*\n", text):
        fields, name = {}, None
        for line in block.splitlines():
            if line[:1] in (" ", "\t") and name:
                fields[name] += "\n" + line
            elif ":" in line:
                name, value = line.split(":", 1)
                name = name.strip().lower()
                fields[name] = value.strip()
        if fields:
            yield fields


def texts_of(found):
    """Licence name in lower case to its text, of stand-alone paragraphs and of those that carry their own text."""
    texts = {}
    for fields in found:
        name, _, text = fields.get("license", "").partition("\n")
        if text.strip():
            texts.setdefault(name.strip().lower(), re.sub(r"(?m)^ (\.$)?", "", text).strip())
    return texts


def text_for(name, texts):
    """One stand-alone paragraph can hold the text of several licences: "BSL-1.0 and NIST"."""
    if name in texts:
        return texts[name]
    for key, text in texts.items():
        if name in re.split(r" and | or ", key):
            return text
    return None


def translate(name, texts, extracted):
    """One licence's SPDX identifier."""
    name = name.strip()
    if name.lower() in SPDX:
        return SPDX[name.lower()]
    text = text_for(name.lower(), texts)
    if text is None:
        raise Unknown(f"licence \"{name}\" has neither an SPDX identifier nor a text")
    reference = "LicenseRef-" + re.sub(r"[^A-Za-z0-9.-]+", "-", name).strip("-")
    extracted[reference] = text
    return reference


def expression_of(licence, texts, extracted):
    """"A and B or C" as SPDX has it: in both, "and" binds more strongly."""
    choices = []
    for choice in re.split(r",? or ", licence):
        choices.append(" AND ".join(translate(one, texts, extracted) for one in re.split(r",? and ", choice)))
    return " OR ".join(choices)


def dep5(text):
    """The expression for all files of a package, and the texts of its LicenseRef's."""
    if not re.match(r"(?i)format(-specification)?:", text.lstrip()):
        raise Unknown("its copyright file is not in DEP-5 form")
    found = list(paragraphs(text))
    texts, extracted, all_files = texts_of(found), {}, set()
    for fields in found:
        if "files" in fields and "license" in fields:
            licence = re.sub(r"\s+", " ", fields["license"].partition("\n")[0]).strip()
            all_files.add(expression_of(licence, texts, extracted))
    if not all_files:
        raise Unknown("its copyright file names no licence")
    if len(all_files) == 1:
        return all_files.pop(), extracted
    single = {one for one in all_files if " OR " in one}
    parts = {f"({one})" for one in single}
    for one in all_files - single:
        parts |= set(one.split(" AND "))
    return " AND ".join(sorted(parts)), extracted


def exceptions(path=EXCEPTIONS):
    """Package to its expression and the reason why it is listed there."""
    listed = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            package, expression, reason = line.split("\t")
            listed[package] = (expression, reason)
    return listed


def copyright_file(package, *roots):
    """The package's copyright file; links to the folder of another package are followed on this machine."""
    for folder in (*(pathlib.Path(root, "usr/share/doc") for root in roots), DOCUMENTS):
        path = folder / package / "copyright"
        if path.is_file():
            return path
    raise Unknown("it has no copyright file")


def licence_of(package, *roots, listed=None):
    """(SPDX expression, {LicenseRef: text}) of a package; raises Unknown."""
    listed = exceptions() if listed is None else listed
    if package in listed:
        return listed[package][0], {}
    try:
        text = copyright_file(package, *roots).read_text(errors="replace")
        return dep5(text)
    except Unknown as reason:
        raise Unknown(f"{package}: {reason}; give its licence and a reason in {EXCEPTIONS.relative_to(ROOT)}") from None
