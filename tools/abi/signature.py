"""Compare C function signatures by their types, whatever the parameters are called."""

import re

_BUILTIN = {"int", "char", "short", "long", "unsigned", "signed", "float", "double", "void",
            "size_t", "const", "struct", "enum"}


def split_params(params: str) -> list:
    """Top-level commas only; "()" and "(void)" give an empty list."""
    parts, depth, current = [], 0, ""
    for char in params:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += char
    parts.append(current)
    parts = [part.strip() for part in parts]
    return [] if parts in ([""], ["void"]) else parts


def type_of(param: str) -> str:
    """The type of one parameter: its last identifier is dropped if it names the parameter."""
    array = re.search(r"\[[^\]]*\]$", param)
    if array:
        param = param[:array.start()].rstrip()
    words = re.findall(r"\w+|\*", param)
    names_something = len(words) > 1 and re.match(r"[A-Za-z_]", words[-1]) and (
        words[-1] not in _BUILTIN)
    if names_something and any(word not in ("const", "struct", "enum") for word in words[:-1]):
        words = words[:-1]
    if array:
        words.append("*")
    if words[:1] != ["const"] and "const" in words and words.index("const") == 1:
        words[0], words[1] = words[1], words[0]
    text = " ".join(words)
    text = re.sub(r"\bunsigned (?!int|char|short|long)", "unsigned int ", text + " ").strip()
    return text.replace("long long int", "long long")


def types(signature: str, aliases=None) -> list:
    """[return type, parameter types...] with `aliases` (name -> name) resolved."""
    ret, params = signature[:-1].split("(", 1)
    found = [type_of(ret + " r")] + [type_of(part) for part in split_params(params)]
    if not aliases:
        return found

    def resolve(match):
        name = match[0]
        while name in aliases:
            name = aliases[name]
        return name

    return [re.sub(r"\b[A-Za-z_]\w*", resolve, text) for text in found]


def same(ours: str, theirs: str, aliases) -> bool:
    """True if both mean the same call. `aliases` are the typedef renames of their header."""
    return types(ours) == types(theirs) or types(ours, aliases) == types(theirs, aliases)
