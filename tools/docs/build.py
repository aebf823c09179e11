"""Builds the documentation site from the repository's pages, and fails on a dead link.

usage: build.py TOOLS [--serve PORT]     TOOLS: what tools/fetch-docs made

The site is build/docs/site/VERSION with a list of versions beside it. Pages keep their paths; the order of the navigation
is the order in which docs/README.md links to them.
"""
import argparse
import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "build/docs"
SECTIONS = [("Getting started", "docs/getting-started"), ("Concepts", "docs/concepts"), ("Guides", "docs/guides"),
            ("Reference", "docs/reference"), ("Operations", "docs/operations"), ("Development", "docs/development")]
PROJECT = ["ARCHITECTURE.md", "CONTRIBUTING.md", "STYLE.md", "GLOSSARY.md", "SECURITY.md", "CHANGELOG.md"]


def tracked(*patterns):
    done = subprocess.run(["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", *patterns],
                          capture_output=True, text=True, check=True)
    return sorted(line for line in done.stdout.splitlines() if (ROOT / line).is_file())


def copy_pages():
    pages = OUT / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    for path in tracked("*.md", "*.svg", "*.png"):
        if path.startswith((".github/", "docs/progress.md")):
            continue
        (pages / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, pages / path)
    return pages


def title_of(path):
    found = re.search(r"^# (.+)$", (ROOT / path).read_text("utf-8"), re.M)
    return re.sub(r"[`*]", "", found.group(1)) if found else pathlib.PurePath(path).stem


def order():
    """The place of each page in the index; pages that it does not name come last, by name."""
    index = ROOT / "docs/README.md"
    named = re.findall(r"\]\(([^)#\s]+\.md)", index.read_text("utf-8")) if index.exists() else []
    return {os.path.normpath(os.path.join("docs", name)): at for at, name in reversed(list(enumerate(named)))}


def navigation():
    place = order()
    nav = [{"Home": "README.md"}]
    if (ROOT / "docs/README.md").exists():
        nav.append({"All pages": "docs/README.md"})
    for title, folder in SECTIONS:
        pages = [path for path in tracked(f"{folder}/*.md") if path.count("/") == folder.count("/") + 1]
        pages.sort(key=lambda path: (place.get(path, len(place)), path))
        entries = [{title_of(path): path} for path in pages]
        if title == "Development":
            entries += [{title_of(path): path} for path in PROJECT if (ROOT / path).exists()]
            entries.append({"Decisions": [{title_of(path): path} for path in tracked("docs/development/decisions/*.md")]})
            entries.append({"Code": [{os.path.dirname(path): path} for path in tracked("src/*/README.md", "tests/*/README.md",
                                                                                        "tools/*/README.md")]})
            entries.append({"Measurements": [{title_of(path): path} for path in tracked("bench/results/*.md")]})
        if entries:
            nav.append({title: entries})
    return nav


def version():
    text = (ROOT / "CMakeLists.txt").read_text("utf-8")
    return re.search(r"project\([^)]*VERSION\s+([0-9.]+)", text, re.S).group(1)


def build(tools):
    pages = copy_pages()
    (pages / "assets").mkdir(exist_ok=True)
    shutil.copy(tools / "mermaid.min.js", pages / "assets/mermaid.min.js")
    shutil.copy(ROOT / "tools/docs/divvy.css", pages / "assets/divvy.css")
    config = OUT / "mkdocs.yml"
    text = (ROOT / "tools/docs/mkdocs.yml").read_text("utf-8")
    site = OUT / "site" / version()
    shutil.rmtree(site, ignore_errors=True)
    text = text.replace("../../build/docs/pages", str(pages)).replace("../../build/docs/site", str(site))
    text = text.replace("hooks: [hooks.py]", f"hooks: [{ROOT / 'tools/docs/hooks.py'}]")
    config.write_text(text + "nav: " + json.dumps(navigation()) + "\n", "utf-8")
    done = subprocess.run([sys.executable, "-B", "-m", "mkdocs", "build", "--strict", "-q", "-f", str(config)],
                          env=dict(os.environ, PYTHONPATH=str(tools), NO_MKDOCS_2_WARNING="1"), check=False)
    if done.returncode != 0:
        sys.exit("docs: the site has the faults named above")
    versions = sorted(path.name for path in (OUT / "site").iterdir() if (path / "index.html").exists())
    (OUT / "site/versions.json").write_text(json.dumps([{"version": one, "title": one, "aliases": []} for one in versions]))
    (OUT / "site/index.html").write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={versions[-1]}/">\n')
    count = sum(1 for _ in site.rglob("index.html"))
    print(f"docs: {count} pages in build/docs/site/{version()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tools", type=pathlib.Path)
    parser.add_argument("--serve", type=int, metavar="PORT")
    options = parser.parse_args()
    build(options.tools)
    if options.serve is not None:
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(OUT / "site"))
        with http.server.ThreadingHTTPServer(("127.0.0.1", options.serve), handler) as server:
            print(f"docs: http://127.0.0.1:{server.server_address[1]}/ until you press Ctrl-C", flush=True)
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                pass


if __name__ == "__main__":
    main()
