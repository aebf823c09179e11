"""Enumerations of the CUDA driver and NVML: reading them from headers, and the .def lists.

abi/cuda_enums.def and abi/nvml_enums.def hold names and numbers only:

    enum CUresult
      CUDA_SUCCESS 0

A number that meant something else once is followed by the first release in which it holds.
"""

import re
import subprocess
import tempfile
from pathlib import Path

import headers

# Sizes of enumerations and unions of flags: they move with every release and tell nothing.
_SKIP = re.compile(
    r"_MAX$|_FORCE_INT$|NUM_OPTIONS$|CTX_FLAGS_MASK$|LIGHTWEIGHT_FLAGS$|NVML_(TEMPERATURE|BRAND|"
    r"INFOROM|VALUE_TYPE|SAMPLINGTYPE|TEMPERATURE_THRESHOLD|VGPU_CAP|DEVICE_VGPU_CAP|"
    r"VGPU_DRIVER_CAP)_COUNT$")
# Enumerations of CUDA 11 that are other names of CUlaunchAttributeID since.
_SUPERSEDED = ("CUkernelNodeAttrID", "CUstreamAttrID")


def bodies(text: str):
    """Yield (enum type name, [enumerator names]) of preprocessed C."""
    pattern = r"typedef\s+enum\s+(?:__attribute__\s*\(\(.*?\)\)\s*)?(\w*)\s*\{([^}]*)\}\s*(\w+)\s*;"
    for match in re.finditer(pattern, text):
        names = re.findall(r"(?:^|,)\s*([A-Za-z_]\w*)", match[2])
        yield match[3], names


def read(header: Path) -> dict:
    """{enum: {name: value}} of one header, the values computed by the C compiler."""
    found = dict(bodies(headers.preprocess(header.parent, (header.name,))))
    if not found:
        return {}
    lines = [f'#include "{header.name}"', "#include <stdio.h>", "int main(void) {"]
    for enum, names in found.items():
        lines += [f'printf("{enum} {name} %lld\\n", (long long)({name}));' for name in names]
    lines += ["return 0; }"]
    with tempfile.TemporaryDirectory(prefix="divvy-abi-") as folder:
        source, program = Path(folder) / "enums.c", Path(folder) / "enums"
        source.write_text("\n".join(lines))
        shadow = headers.shadow_includes(header.parent, Path(folder))
        subprocess.run(["cc", "-w", f"-I{header.parent}", f"-I{shadow}", str(source), "-o",
                        str(program)], check=True, capture_output=True)
        output = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    result = {enum: {} for enum in found}
    for line in output.splitlines():
        enum, name, value = line.split()
        if not _SKIP.search(name):
            result[enum][name] = int(value)
    return {enum: names for enum, names in result.items() if names}


def parse(path: Path) -> dict:
    """{enum: {name: value}} of an enum list."""
    result, current = {}, None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if words[0] == "enum" and len(words) == 2:
            current = result.setdefault(words[1], {})
        elif len(words) in (2, 3) and current is not None:
            current[words[0]] = int(words[1], 0)
        else:
            raise ValueError(f"{path.name}:{number}: expected `enum NAME` or `NAME VALUE [SINCE]`")
    return result


def moved(path: Path) -> dict:
    """{name: release} of the enumerators that had another number before that release."""
    lines = [line.split("#")[0].split() for line in path.read_text().splitlines()]
    return {words[0]: words[2] for words in lines if len(words) == 3}


def render(comment: str, enums: dict, since: dict) -> str:
    """The text of an enum list under `comment`; `since` is what moved() tells."""
    out = [comment.rstrip("\n")]
    for enum, names in enums.items():
        out.append(f"enum {enum}")
        for name, value in names.items():
            out.append(f"  {name} {value}" + (f" {since[name]}" if name in since else ""))
    return "\n".join(out) + "\n"


def merge(known: dict, fresh: dict, version: str, since: dict) -> list:
    """Add what `fresh` has and `known` lacks; returns a remark per value that differs.

    An enumerator keeps the enumeration and value in which it was seen first: read the newest
    release first.
    """
    remarks = []
    homes = {name: enum for enum, names in known.items() for name in names}
    for enum, names in fresh.items():
        if enum in _SUPERSEDED:
            continue
        for name, value in names.items():
            mine = known.setdefault(homes.setdefault(name, enum), {})
            before = name in since and headers.order(version) < headers.order(since[name])
            if mine.setdefault(name, value) != value and not before:
                remarks.append(f"{name}: {mine[name]} in the list, {value} in {version}")
    return remarks
