"""Write a body for every `wrap` line: it notes that it ran and returns CUDA_ERROR_ALREADY_MAPPED.

usage: dummy_hooks.py LIST OUTPUT
"""

import sys
from pathlib import Path

import deflist
import signature

listed = deflist.parse(Path(sys.argv[1]))
out = ['#include "interposer/cuda_hooks.h"\n\n',
       "DIVVY_HIDDEN unsigned last_hook = ~0U;\n\n"]
for number, entry in enumerate(listed.entries):
    if entry.policy == "wrap":
        types = ", ".join(signature.type_of(part) for part in signature.split_params(entry.params))
        out.append(f"DIVVY_HOOK({entry.symbol})({types}) noexcept {{\n  last_hook = {number};\n"
                   "  return CUDA_ERROR_ALREADY_MAPPED;\n}\n")
Path(sys.argv[2]).write_text("".join(out))
