#!/usr/bin/env python3
"""The console's pictures are those that tools/record/screens.json lists: each exists in the listed size, is small, and
is shown by a page. Every picture that a page shows exists and has a text beside it."""
import json
import re
import struct
import unittest
from pathlib import Path

from links_test import pages

ROOT = Path(__file__).resolve().parents[2]
GUIDES = ROOT / "docs/guides"
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
LEAST, MOST = 10_000, 120_000
PALETTE = 3


def listed():
    return json.loads((ROOT / "tools/record/screens.json").read_text("utf-8"))


def shown():
    """(page, text, file) of each picture of each page."""
    for page in pages(ROOT):
        for text, target in PICTURE.findall(page.read_text("utf-8").replace("\n", " ")):
            if not re.match(r"[a-z]+:", target):
                yield page.relative_to(ROOT), text, (page.parent / target).resolve()


def head(file):
    """(width, height, kind of colours) of a PNG."""
    data = file.read_bytes()
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError(f"{file} is not a PNG")
    width, height, _, kind = struct.unpack(">IIBB", data[16:26])
    return width, height, kind


class Pictures(unittest.TestCase):
    def test_the_list_was_read(self):
        self.assertGreaterEqual(len(listed()), 10)
        self.assertGreaterEqual(len(list(shown())), 10)

    def test_each_listed_picture_has_its_size(self):
        for picture in listed():
            file = GUIDES / f"{picture['name']}.png"
            with self.subTest(file.name):
                self.assertEqual(head(file), (picture["width"], picture["height"], PALETTE))
                self.assertTrue(LEAST <= file.stat().st_size <= MOST, file.stat().st_size)

    def test_each_listed_picture_is_shown(self):
        files = {file for _, _, file in shown()}
        for picture in listed():
            self.assertIn(GUIDES / f"{picture['name']}.png", files)

    def test_each_picture_of_the_console_is_listed(self):
        names = {picture["name"] for picture in listed()}
        self.assertEqual({file.stem for file in GUIDES.glob("console-*.png")}, names)

    def test_each_shown_picture_exists_and_has_a_text(self):
        for page, text, file in shown():
            with self.subTest(f"{page}: {file.name}"):
                self.assertTrue(file.is_file())
                self.assertTrue(text.strip())


if __name__ == "__main__":
    unittest.main()
