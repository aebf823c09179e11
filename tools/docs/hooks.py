"""MkDocs hook: links to files that are no page lose the link and keep their text, as the site has pages only."""
import os
import pathlib
import re

_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown, page, config, files):
    here = os.path.dirname(page.file.src_uri)
    root = pathlib.Path(config["docs_dir"])

    def kept(link):
        text, target = link.group(1), link.group(2)
        if re.match(r"[a-z]+:", target):
            return link.group(0)
        path = os.path.normpath(os.path.join(here, target))
        if (root / path).is_file():
            return link.group(0)
        if (root / path / "README.md").is_file():
            return f"[{text}]({target.rstrip('/')}/README.md{link.group(3) or ''})"
        return text if text.startswith("`") or path.startswith("..") else f"{text} (`{path}`)"

    return _LINK.sub(kept, markdown)
