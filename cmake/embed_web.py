"""Writes web_files.cpp and web_files.S into FOLDER, from FOLDER/manifest.json of web/build.mjs: the page's files as part
of the program. Usage: embed_web.py FOLDER"""
import json
import pathlib
import sys

HEAD = """// Made by cmake/embed_web.py.
#include "web_files.h"

extern "C" {
%s
}

namespace divvy::console {
namespace {

std::string_view bytesOf(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

const std::vector<WebFile>& webFiles() {
  static const std::vector<WebFile> files{
%s
  };
  return files;
}

}  // namespace divvy::console
"""


def names(symbol):
    return f"{symbol}_begin", f"{symbol}_end"


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    manifest = json.loads((folder / "manifest.json").read_text())
    declared, rows, assembly = [], [], ['.section .rodata.divvy_web,"a",@progbits']
    for index, entry in enumerate(sorted(manifest["files"], key=lambda one: one["path"])):
        spans = []
        for encoding in ("identity", "gzip"):
            begin, end = names(f"divvy_web_{index}_{encoding}")
            path = folder / entry["encodings"][encoding]["file"]
            declared.append(f"extern const char {begin}[], {end}[];")
            assembly += [f".hidden {begin}", f".hidden {end}", f".global {begin}", f".global {end}", f"{begin}:",
                         f".incbin {json.dumps(str(path))}", f"{end}:"]
            spans.append(f"bytesOf({begin}, {end})")
        immutable = "true" if entry["immutable"] else "false"
        rows.append(f"      {{{json.dumps(entry['path'])}, {{{json.dumps(entry['content_type'])}, "
                    f"{json.dumps(entry['sha256'][:32])}, {spans[0]}, {spans[1]}, {{}}, {immutable}}}}},")
    assembly.append('.section .note.GNU-stack,"",@progbits')
    (folder / "web_files.cpp").write_text(HEAD % ("\n".join(declared), "\n".join(rows)))
    (folder / "web_files.S").write_text("\n".join(assembly) + "\n")


main()
