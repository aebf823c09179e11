#!/usr/bin/env python3
"""The page of reasons and the sources' lists are one: each reason has a row under its code, with the
words that people are shown, and no row is of a reason that is gone."""
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r'^\| <a name="([^"]+)"></a>`([^`]+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$', re.MULTILINE)


def members(text, enum):
    """Of `enum class NAME`, in order."""
    body = re.search(rf"enum class {enum}\b[^{{]*\{{(.*?)\}};", text, re.DOTALL).group(1)
    return re.findall(r"^\s*k([A-Z]\w*)", re.sub(r"//[^\n]*", "", body).replace(",", "\n"), re.MULTILINE)


def code(member):
    return re.sub(r"(?<!^)(?=[A-Z])", "-", member).lower()


def words(text, enum):
    """What `case ENUM::kX:` returns; several cases may share one."""
    found, waiting = {}, []
    for line in text.split("\n"):
        if case := re.search(rf"case (?:\w+::)*{enum}::k(\w+):", line):
            waiting.append(case.group(1))
        elif waiting and (said := re.search(r'return "([^"]*)"', line)):
            found.update({one: said.group(1) for one in waiting})
            waiting = []
        elif "return" in line:
            waiting = []
    return found


# Enumeration, where it is declared, where its words are, what its codes begin with, and what of it is
# no reason.
LISTS = [
    ("DeviceWhy", "engine/include/engine/refusal.h", "engine/refusal/compact_refusal.cpp", "", ()),
    ("NodeWhy", "engine/include/engine/refusal.h", "engine/refusal/compact_refusal.cpp", "node-", ()),
    ("ResidencyTargetReason", "arbiter/include/arbiter/residency.h", "agent/server/state_view.cpp", "stay-", ("Fits",)),
    ("SwapRefusal", "ledger/include/ledger/swap.h", "agent/reports/residency_reader.cpp", "swap-", ("None",)),
]


def of_quota():
    """Its words are made of amounts: what tells the reasons apart is the piece behind them."""
    listed = members((ROOT / "src/engine/include/engine/quota.h").read_text(), "QuotaWhy")
    text = (ROOT / "src/engine/quota/quota.cpp").read_text()
    said = {"Limit": "left of the limit of", "Borrowing": "left of the guarantee of",
            "Full": "can be had of what"}
    return {"quota-" + code(one): said[one] if said.get(one, "?") in text else None for one in listed}


def of_changes():
    text = (ROOT / "src/kube/objects/resize_request.cpp").read_text()
    body = re.search(r"std::string changeReason\(.*?\n}", text, re.DOTALL).group(0)
    return {"change-" + code(word): word for word in re.findall(r'return "(\w+)"', body)}


# Where containers are kept from being made, and pods from being let in: what is made there of literals.
STARTS = ["agent/pods/pod_allocation.cpp", "agent/deviceplugin/container_starter.cpp",
          "agent/deviceplugin/capacity_check.cpp",
          "agent/deviceplugin/mount_conflicts.cpp", "agent/pods/pod_annotations.cpp",
          "kube/objects/assignment_text.cpp", "agent/container/driver_cdi_spec.cpp",
          "agent/node_object/scheduler_dialect.cpp", "agent/deviceplugin/container_injector.cpp",
          "agent/tenant/tenant_manager.cpp", "helper/client.cpp"]
POLICIES = sorted(str(path.relative_to(ROOT / "src"))
                  for path in (ROOT / "src/scheduler/manifests/templates/policies").glob("*.yaml"))
ADMITS = ["scheduler/webhook/pod_webhook.cpp", *POLICIES, "scheduler/codec/pod_group.cpp",
          "scheduler/quota/resource_quota.cpp", "scheduler/codec/share_variety.cpp"]
# Not of containers: a wrong option's, and what the whole agent cannot do.
ELSEWHERE = ["accepted: hami, volcano", "not YAML: ", "creating ", "which is not a file of Divvy, and cannot be", "the body is not an",
             "the body is not JSON", "; the name of a group is", "is accepted for pods of a Job", "resource quota : ",
             "is not 1 to ", "is too long for a socket"]


def joined(text):
    """Its string literals, those that follow each other as one."""
    return re.sub(r'"\s*(?:\+\s*)?"', "", text)


def source(name):
    """Text of a source with its literals joined; of a template without comments, with continued lines joined."""
    text = (ROOT / "src" / name).read_text()
    if name.endswith(".yaml"):
        return re.sub(r"\\\n *", "", re.sub(r"^ *#!.*\n", "", text, flags=re.MULTILINE))
    return joined(text)


def literals(text):
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', joined(text))).replace('\\"', '"')


def refusals(files):
    """What each of their errors says, without what is put in."""
    for name in files:
        if name.endswith(".yaml"):
            for message in re.findall(r"^ +messageExpression: >-\n +(.*)$", source(name), re.MULTILINE):
                yield name, message
        else:
            for body in re.findall(r"Error\{\s*ErrorCode::\w+,(.*?)\};", (ROOT / "src" / name).read_text(), re.DOTALL):
                yield name, literals(body)


class Reasons(unittest.TestCase):
    def setUp(self):
        self.said = of_quota() | of_changes()
        for enum, header, source, prefix, none in LISTS:
            told = words((ROOT / "src" / source).read_text(), enum)
            for member in members((ROOT / "src" / header).read_text(), enum):
                if member not in none:
                    self.said[prefix + code(member)] = told.get(member)
        page = (ROOT / "docs/operations/troubleshooting.md").read_text()
        self.rows = {anchor: (name, text.strip(), means.strip(), do.strip())
                     for anchor, name, text, means, do in ROW.findall(page)}

    def test_the_lists_were_read(self):
        self.assertGreater(len(self.said), 60)
        self.assertEqual([name for name, text in self.said.items() if not text], ["node-devices"],
                         "of a node without devices that will do, what most of them say is told")

    def test_codes_of_refusals_are_in_the_order_of_their_enumerations(self):
        codes = (ROOT / "src/engine/refusal/reason_codes.cpp").read_text()
        header = (ROOT / "src/engine/include/engine/refusal.h").read_text()
        for enum, name, prefix in (("DeviceWhy", "kDeviceCodes", ""), ("NodeWhy", "kNodeCodes", "node-")):
            listed = re.search(rf"{name}\{{(.*?)\}};", codes, re.DOTALL).group(1)
            self.assertEqual(re.findall(r'"([^"]+)"', listed), [prefix + code(one) for one in members(header, enum)])

    def test_each_reason_has_a_row_and_each_row_is_of_one(self):
        by_hand = [name for name in self.rows if name.startswith(("start-", "admit-"))]
        self.assertEqual(sorted(self.rows), sorted([*self.said, *by_hand]))

    def test_what_is_not_started_or_let_in_has_a_row(self):
        for prefix, files, least in (("start-", STARTS, 18), ("admit-", ADMITS, 9)):
            phrases = {text: name for name, (_, text, _, _) in self.rows.items() if name.startswith(prefix)}
            found = list(refusals(files))
            self.assertGreater(len(found), least)
            # What is said in words that were kept is among those of the file as a whole.
            for file, said in found:
                self.assertTrue(not said or any(one in said for one in [*phrases, *ELSEWHERE]), f"{file}: {said}")
            everything = "".join(source(name) for name in files)
            for text, name in phrases.items():
                self.assertIn(text, everything, f"{name}: nothing says so any more")

    def test_rows_have_the_words_that_a_pod_shows_and_say_what_to_do(self):
        for anchor, (name, text, means, do) in self.rows.items():
            self.assertEqual(name, anchor)
            if self.said.get(anchor):
                self.assertEqual(text, self.said[anchor], anchor)
            self.assertTrue(means and do, anchor)


if __name__ == "__main__":
    sys.exit(unittest.main())
