"""Read installed NVIDIA headers: which functions they declare and since which version.

Used by harvest.py (which maintains the lists) and parity.py (which checks them). Nothing here
writes into the repository; the headers themselves are only ever read through the preprocessor.
"""

import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

CUDA_HEADERS = ("cuda.h", "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h", "cudaProfiler.h")
TYPEDEF_HEADERS = ("cudaTypedefs.h", "cudaGLTypedefs.h", "cudaEGLTypedefs.h",
                   "cudaVDPAUTypedefs.h", "cudaProfilerTypedefs.h")
# Functions that are declared in a header which an installation may lack.
OPTIONAL = {"cudaGL.h": r"cuGL|cuGraphicsGL", "cudaEGL.h": r"EGL|Egl", "cudaVDPAU.h": r"VDPAU",
            "cudaProfilerTypedefs.h": r"cuProfiler"}
# cuda.h renames its functions by macro; these three readings together show every exported name.
CUDA_READINGS = ((), ("__CUDA_API_VERSION_INTERNAL",), ("CUDA_API_PER_THREAD_DEFAULT_STREAM",))
NVML_READINGS = ((), ("NVML_NO_UNVERSIONED_FUNC_DEFS",))
# Headers of others that the interop headers include, and what they need from them.
FOREIGN = {
    "GL/gl.h": "typedef unsigned GLuint; typedef unsigned GLenum;",
    "EGL/egl.h": "typedef int EGLint;",
    "EGL/eglext.h": "typedef void *EGLImageKHR, *EGLStreamKHR, *EGLSyncKHR;",
    "vdpau/vdpau.h": "typedef unsigned VdpDevice, VdpVideoSurface, VdpOutputSurface;"
                     "typedef int VdpGetProcAddress(VdpDevice, unsigned, void **);",
    "cudaProfiler.h": "",
}

_FUNCTION = re.compile(
    r"^(?:extern\s+)?(?P<ret>(?:const\s+)?\w+(?:\s*\*)?)\s*\b(?P<name>(?:cu|nvml)\w+)\s*"
    r"\((?P<params>.*)\)$", re.S)
_TYPEDEF = re.compile(
    r"^typedef\s+(?P<ret>\w+)\s*\(\s*\*\s*PFN_(?P<base>\w+?)_v(?P<since>\d{4,5})"
    r"(?P<mode>_ptds|_ptsz)?\s*\)\s*\((?P<params>.*)\)$", re.S)


@dataclass
class Release:
    """What one set of headers says. `functions` maps a symbol to its `ret(params)` text."""
    version: str
    path: Path
    functions: dict = field(default_factory=dict)
    typedefs: dict = field(default_factory=dict)  # (base, mode) -> {since: "ret(params)"}
    renames: dict = field(default_factory=dict)  # name used in source -> name that is linked
    aliases: dict = field(default_factory=dict)  # typedef name -> the typedef it repeats


def shadow_includes(directory: Path, into: Path) -> Path:
    """Make stand-ins below `into` for the FOREIGN headers that `directory` does not have."""
    for name, text in FOREIGN.items():
        if not (directory / name).exists():
            stub = into / name
            stub.parent.mkdir(parents=True, exist_ok=True)
            stub.write_text(f"#pragma once\n#include <cuda.h>\n{text}\n")
    return into


@lru_cache(maxsize=None)
def preprocess(directory: Path, sources: tuple, defines=(), macros=False) -> str:
    """Run the C preprocessor over the headers `sources` of `directory`, all in one; raises
    CalledProcessError if they cannot be read."""
    with tempfile.TemporaryDirectory(prefix="divvy-abi-") as folder:
        shadow_includes(directory, Path(folder))
        source = Path(folder) / "all.c"
        source.write_text("".join(f'#include "{name}"\n' for name in sources))
        command = ["cc", "-E", "-P", "-x", "c", "-DCUDAAPI=", f"-I{directory}", f"-I{folder}"]
        command += ["-dM"] if macros else []
        command += [f"-D{name}" for name in defines] + [str(source)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def present(directory: Path, names) -> tuple:
    """Those of `names` that `directory` has."""
    return tuple(name for name in names if (directory / name).exists())


def statements(text: str):
    """Yield the top-level declarations of preprocessed C, blanks collapsed, bodies included."""
    depth, start = 0, 0
    for match in re.finditer(r"[{};]", text):
        position, char = match.start(), match[0]
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0 and text[start:position].lstrip().startswith("static"):
                start = position + 1
        elif depth == 0:
            yield " ".join(re.sub(r"__attribute__\s*\(\(.*?\)\)", "", text[start:position]).split())
            start = position + 1


def tidy(ret: str, params: str) -> str:
    """One spelling of a signature: single blanks, the star at the type."""
    text = f"{ret.strip()}({params.strip()})"
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"\s*\*\s*", "* ", text)
    text = re.sub(r"\*\s+(?=[*,)])", "*", text)
    text = re.sub(r"\s*,\s*", ", ", text)
    text = re.sub(r"\(\s+", "(", text)
    text = re.sub(r"\s+\)", ")", text)
    text = re.sub(r"\* \(", "*(", text)
    return text.replace("(void)", "()")


def _read(release: Release, sources: tuple, readings) -> None:
    for defines in readings:
        for text in statements(preprocess(release.path, sources, defines)):
            if text.startswith("typedef"):
                _read_typedef(release, text)
            elif not text.startswith("static"):
                match = _FUNCTION.match(text)
                if match:
                    release.functions.setdefault(match["name"], tidy(match["ret"], match["params"]))
    for line in preprocess(release.path, sources, (), macros=True).splitlines():
        match = re.match(r"#define ((?:cu|nvml)\w+) (?:__CUDA_API_PT[DS]Z?\((\w+)\)|(\w+))$", line)
        if match:
            release.renames[match[1]] = match[2] or match[3]


def _read_typedef(release: Release, text: str) -> None:
    match = _TYPEDEF.match(text)
    if match:
        family = release.typedefs.setdefault((match["base"], (match["mode"] or "_-")[1:]), {})
        family[int(match["since"])] = tidy(match["ret"], match["params"])
    alias = re.match(r"typedef (\w+) (\w+)$", text)
    if alias and alias[1] != alias[2]:
        release.aliases[alias[2]] = alias[1]


def version_of(directory: Path) -> str:
    """CUDA release of a header directory, e.g. "12.4"; nvml.h alone is known by its API macros."""
    text = (directory / "cuda.h").read_text(errors="replace") if (
        directory / "cuda.h").exists() else ""
    match = re.search(r"#define\s+CUDA_VERSION\s+(\d+)", text)
    if match:
        return f"{int(match[1]) // 1000}.{int(match[1]) % 1000 // 10}"
    return directory.name


def read_cuda(directory: Path) -> Release:
    """Functions, versioned typedefs and renames of the CUDA driver headers in `directory`."""
    release = Release(version_of(directory), directory)
    _read(release, present(directory, CUDA_HEADERS + TYPEDEF_HEADERS), CUDA_READINGS)
    for (base, mode), family in release.typedefs.items():
        if mode == "-" and len(family) == 1:  # known by its typedef alone (cudaProfiler.h missing)
            release.functions.setdefault(base, next(iter(family.values())))
    return release


def read_nvml(directory: Path) -> Release:
    """Functions of nvml.h in `directory`."""
    release = Release(version_of(directory), directory)
    _read(release, ("nvml.h",), NVML_READINGS)
    return release


def readable(release: Release, symbol: str) -> bool:
    """False if `symbol` is declared in a header that this installation lacks."""
    return not any(re.search(pattern, symbol) and not (release.path / name).exists()
                   for name, pattern in OPTIONAL.items())


def order(version: str):
    """Sort key of a release such as "12.10"."""
    return tuple(int(part) for part in re.findall(r"\d+", version))
