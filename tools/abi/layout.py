"""Sizes and member offsets of structures: the lists, and measuring them in a header.

abi/cuda_layout.def and abi/nvml_layout.def hold what NVIDIA's headers say about the structures
that our mirror headers define:

    CUmemLocation 8 11.7
      type 0

A structure, its size in bytes, and the first header release from which on the name has meant
this; then members and offsets. gen.py turns the list into static_asserts over the mirror.
"""

import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import headers

LEGACY = "__CUDA_API_VERSION_INTERNAL"  # the reading of cuda.h that has the 32-bit structures


@dataclass
class Layout:
    """One structure. `since` is "" until it is known."""
    size: int
    since: str = ""
    members: dict = field(default_factory=dict)


def parse(path: Path) -> dict:
    """{structure: Layout} of a list."""
    result, current = {}, None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = line.split("#")[0]
        words = text.split()
        if not words:
            continue
        if not text.startswith(" ") and len(words) == 3:
            current = result[words[0]] = Layout(int(words[1]), words[2])
        elif text.startswith(" ") and len(words) == 2 and current:
            current.members[words[0]] = int(words[1])
        else:
            raise ValueError(
                f"{path.name}:{number}: expected `TYPE SIZE SINCE` or `  MEMBER OFFSET`")
    return result


def render(comment: str, layouts: dict) -> str:
    """The text of a list under `comment`."""
    out = [comment.rstrip("\n")]
    for name, layout in layouts.items():
        out.append(f"{name} {layout.size} {layout.since}")
        out += [f"  {member} {offset}" for member, offset in layout.members.items()]
    return "\n".join(out) + "\n"


def mirrored(include: Path, prefix: str) -> dict:
    """{structure: [members]} that our headers `include`/`prefix`_*.h define, anonymous ones seen
    through."""
    found = {}
    for path in sorted(include.glob(f"{prefix}_*.h")):
        text = re.sub(r"//.*", "", path.read_text())
        pattern = r"^(?:struct|union)(?: alignas\(\d+\))? (\w+) \{\n(.*?)^\};"
        for match in re.finditer(pattern, text, re.M | re.S):
            found[match[1]] = _members(match[2])
    return found


def _members(body: str) -> list:
    names, depth, pending = [], 0, []
    for line in body.splitlines():
        line = line.strip()
        if line.endswith("{"):
            depth += 1
        elif line.startswith("}"):
            depth -= 1
            named = re.match(r"\} (\w+)", line)
            if depth == 0:
                names += [named[1]] if named else pending
                pending = []
            elif named:
                pending.append(named[1])
        else:
            match = re.match(r"[\w:<>* ]+?[ *](\w+)(?:\[.*\])?;", line)
            if match and depth == 0:
                names.append(match[1])
            elif match and depth == 1:
                pending.append(match[1])
    return names


def declared(directory: Path, sources: tuple) -> set:
    """Type names that the headers define."""
    names = set()
    for text in headers.statements(headers.preprocess(directory, sources, (LEGACY,))):
        if text.startswith("typedef"):
            tail = text.rsplit("}", 1)[-1]
            names.update(re.findall(r"(\w+)\s*(?=,|$)", tail))
    return names


def measure(directory: Path, sources, wanted: dict) -> dict:
    """{structure: Layout} of the `wanted` ones that the headers `sources` in `directory` have."""
    present = declared(directory, tuple(sources))
    lines = ["#include <cstddef>", "#include <cstdio>"]
    lines += [f'#include "{source}"' for source in sources] + ["int main() {"]
    for name, members in wanted.items():
        if name not in present:
            continue
        lines.append(f'std::printf("{name} %zu\\n", sizeof({name}));')
        lines += [f'[]<class T>() {{ if constexpr (requires(T t) {{ t.{member}; }}) '
                  f'std::printf("{name} {member} %zu\\n", offsetof(T, {member})); }}'
                  f'.template operator()<{name}>();' for member in members]
    lines.append("}")
    result = {}
    for line in _run("\n".join(lines) + "\n", directory).splitlines():
        words = line.split()
        if len(words) == 2:
            result[words[0]] = Layout(int(words[1]))
        else:
            result[words[0]].members[words[1]] = int(words[2])
    return result


def _run(program: str, directory: Path) -> str:
    with tempfile.TemporaryDirectory(prefix="divvy-abi-") as folder:
        source, binary = Path(folder) / "layout.cpp", Path(folder) / "layout"
        source.write_text(program)
        shadow = headers.shadow_includes(directory, Path(folder))
        subprocess.run(["c++", "-std=c++20", "-w", f"-D{LEGACY}", f"-I{directory}", f"-I{shadow}",
                        str(source), "-o", str(binary)], check=True, capture_output=True, text=True)
        return subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout


def agrees(ours: Layout, theirs: Layout) -> bool:
    """True if the size and every member that both have are the same."""
    return ours.size == theirs.size and all(
        ours.members.get(member, offset) == offset for member, offset in theirs.members.items())


def harvest(releases: list) -> dict:
    """Layouts from [(version, measured)], newest first, with the oldest release that agrees."""
    result = {}
    for _, measured in releases:
        for name, layout in measured.items():
            result.setdefault(name, layout)
    for name, layout in result.items():
        for version, measured in releases:
            if name in measured:
                if not agrees(layout, measured[name]):
                    break
                layout.since = version
    return result
