#!/usr/bin/env python3
"""Pages lead to what is there: every relative link of every page of ours names a file, and where it
names a part of a page, a heading or an anchor of it. Links are read outside of code."""
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")


def pages(root):
    """All that are kept; where there is no git, all that lie there but what was built."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "*.md"],
                            capture_output=True, text=True)
    if listed.returncode == 0:
        return [root / name for name in listed.stdout.split("\n") if name and (root / name).exists()]
    return [page for page in root.rglob("*.md") if "build" not in page.relative_to(root).parts]


def prose(text):
    text = FENCE.sub("", text)
    lines = [line for line in text.split("\n") if not line.startswith("    ")]
    return "\n".join(lines)


def slug(heading):
    """As forges make anchors of headings: code and links are their text; letters, digits, '-', '_'."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(text):
    found, seen = set(re.findall(r'<a (?:name|id)="([^"]+)"', text)), {}
    for heading in re.findall(r"^#{1,6} +(.+?)\s*$", FENCE.sub("", text), re.MULTILINE):
        name = slug(heading)
        count = seen.get(name, 0)
        seen[name] = count + 1
        found.add(f"{name}-{count}" if count else name)
    return found


def broken(root):
    known = {}
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        # A link may be broken over two lines.
        flat = CODE.sub(lambda code: "x" * len(code.group()), prose(text).replace("\n", " "))
        for target in LINK.findall(flat):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, part = target.partition("#")
            other = (page.parent / path).resolve() if path else page.resolve()
            where = f"{page.relative_to(root)}: {target}"
            if not other.exists():
                yield f"{where}: there is no {path}"
            elif part and other.suffix == ".md":
                if other not in known:
                    known[other] = anchors(other.read_text(encoding="utf-8"))
                if part not in known[other]:
                    yield f"{where}: no heading or anchor of it is #{part}"


class Links(unittest.TestCase):
    def test_pages_lead_to_what_is_there(self):
        self.assertGreater(len(pages(ROOT)), 40)
        self.assertEqual(list(broken(ROOT)), [])

    def test_the_index_leads_to_every_page(self):
        docs = ROOT / "docs"
        linked = {(docs / path).resolve() for path in
                  re.findall(r"\]\(([^)#]+)", (docs / "README.md").read_text(encoding="utf-8"))}
        missing = [str(page.relative_to(docs)) for page in pages(ROOT) if page.is_relative_to(docs)
                   and page.name != "README.md" and "decisions" not in page.parts
                   and page.resolve() not in linked]
        self.assertEqual(missing, [], "docs/README.md has no link to these pages")

    def test_what_is_wrong_is_found(self):
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "a.md").write_text(
                "# One `--two` more\n[b](b.md) [c](gone.md) [d](b.md#part) [e](b.md#no)\n"
                "[f](#one---two-more) `[g](gone.md)` [h](https://example.com/x)\n\n    [i](gone.md)\n")
            (root / "b.md").write_text('<a name="part"></a>text\n')
            said = list(broken(root))
            self.assertEqual(len(said), 2, said)
            self.assertIn("gone.md: there is no gone.md", said[0])
            self.assertIn("b.md#no", said[1])


if __name__ == "__main__":
    sys.exit(unittest.main())
