"""Records of checks (`./dev e2e --json`) as JUnit XML: a testsuite for each package, a testcase for each check."""
import re
import xml.etree.ElementTree as ET

# XML 1.0 has no place for these, not even as a reference.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MAX_MESSAGE = 200


def _text(value):
    return _NOT_XML.sub("\ufffd", str(value))


def _message(reason):
    """The first line of a reason: viewers show it in a list."""
    lines = _text(reason).strip().splitlines()
    return lines[0][:_MAX_MESSAGE] if lines else "no reason was recorded"


def _seconds(records):
    return f"{sum(float(one.get('seconds', 0)) for one in records):.3f}"


def _counts(records):
    results = [one["result"] for one in records]
    return {"tests": str(len(results)), "failures": str(results.count("fail")), "errors": "0",
            "skipped": str(results.count("skip")), "time": _seconds(records)}


def _case(suite, package, record):
    case = ET.SubElement(suite, "testcase", name=_text(record["name"]), classname=package, time=_seconds([record]))
    reason, first = record.get("reason", ""), record.get("first_failure", "")
    if record["result"] == "fail":
        output = [reason] + ([f"first try: {first}"] if first else [])
        failure = ET.SubElement(case, "failure", message=_message(reason), type="check")
        failure.text = _text("\n".join(output))
    elif record["result"] == "skip":
        ET.SubElement(case, "skipped", message=_message(reason))
    output = [f"requirement: {record['requirement']}"] if record.get("requirement") else []
    if record.get("note"):
        output.append(record["note"])
    if record.get("flake"):
        output.append(f"flake: passed at the second try; first try: {first}")
    if output:
        ET.SubElement(case, "system-out").text = _text("\n".join(output))


def junit(records):
    """The XML document, UTF-8, of records in their order. One without a package belongs to the suite `checks`."""
    packages = {}
    for record in records:
        packages.setdefault(_text(record.get("package") or "checks"), []).append(record)
    root = ET.Element("testsuites", _counts(records))
    for package, members in packages.items():
        suite = ET.SubElement(root, "testsuite", {"name": package, **_counts(members)})
        for record in members:
            _case(suite, package, record)
    ET.indent(root, " ")
    return ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"
