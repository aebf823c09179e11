#!/usr/bin/env python3
"""Generate every product of the entry-point lists: gen.py --abi DIR --out DIR [--list].

Reads the lists in --abi (cuda.def, nvml.def, their enumerations and layouts); writes below --out
and leaves a file alone when its text did not change, so that builds redo only what they must. The
same input gives the same bytes. --list prints the names of the products instead of writing them.
"""

import argparse
import sys
from pathlib import Path

import deflist
import emit_asm
import emit_docs
import emit_headers
import enums
import layout
from library import CUDA, NVML


def products(abi: Path) -> dict:
    """{relative path: text} of everything that is generated."""
    out = {"abi/classes.h": emit_headers.classes(deflist.CLASSES)}
    for library in (CUDA, NVML):
        listed = deflist.parse(abi / f"{library.name}.def")
        listed_enums = enums.parse(abi / f"{library.name}_enums.def")
        name = library.name
        out[f"abi/{name}_enums.h"] = emit_headers.enumerations(library, listed_enums)
        out[f"abi/{name}_layout.h"] = emit_headers.layouts(
            library, layout.parse(abi / f"{name}_layout.def"))
        out[f"abi/{name}_ids.h"] = emit_headers.ids(library, listed)
        out[f"abi/{name}_protos.h"] = emit_headers.protos(library, listed)
        out[f"abi/{name}_entries.h"] = emit_headers.entries(library, listed)
        out[f"interposer/{name}_stubs.S"] = emit_asm.interposer_stubs(library, listed)
        out[f"interposer/{name}_hooks.h"] = emit_headers.hooks(library, listed)
        out[f"interposer/{name}.map"] = emit_asm.version_script(library, listed, library.extras)
        out[f"simgpu/{name}_exports.S"] = emit_asm.simgpu_exports(library, listed)
        out[f"simgpu/{name}_impls.h"] = emit_headers.impls(library, listed)
        out[f"simgpu/{name}_table.cpp"] = emit_headers.missing_table(library, listed)
        out[f"simgpu/{name}.map"] = emit_asm.version_script(library, listed, ())
        out[f"docs/coverage-{name}.md"] = emit_docs.coverage(library, listed)
    return out


def write(root: Path, files: dict) -> int:
    """Write what changed; returns how many files that was."""
    changed = 0
    for name, text in files.items():
        path = root / name
        if path.exists() and path.read_text() == text:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        changed += 1
    return changed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--abi", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    try:
        files = products(arguments.abi)
    except (deflist.ListError, ValueError) as error:
        print(f"gen.py: {error}", file=sys.stderr)
        return 1
    if arguments.list:
        print("\n".join(sorted(files)))
        return 0
    if not arguments.out:
        parser.error("--out is needed unless --list is given")
    write(arguments.out, files)
    return 0


if __name__ == "__main__":
    sys.exit(main())
