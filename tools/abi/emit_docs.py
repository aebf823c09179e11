"""The coverage page: which entry points there are, what Divvy does with each, who confirms them."""

from collections import Counter

from deflist import condense


def coverage(library, listed) -> str:
    entries = listed.entries
    wrapped = sum(entry.policy == "wrap" for entry in entries)
    unverified = [entry.symbol for entry in entries if not entry.headers]
    out = [f"# {library.title} entry points\n\n",
           f"Generated from `abi/{library.name}.def`. {len(entries)} exported functions: "
           f"{wrapped} have a body of ours in the interposer (`wrap`), {len(entries) - wrapped} "
           "jump straight to the driver (`pass`). `since` is the CUDA version of the name's "
           "version; `headers` are the NVIDIA header releases that declare exactly this "
           "function.\n\n"]
    if unverified:
        out.append("**Unverified** (in no header that was read): "
                   + ", ".join(f"`{symbol}`" for symbol in unverified) + ".\n\n")
    else:
        out.append("Every function is confirmed by at least one header.\n\n")
    out.append("| release | functions it confirms |\n| --- | ---: |\n")
    for release in listed.releases:
        count = sum(release in entry.headers for entry in entries)
        out.append(f"| {release} | {count} |\n")
    classes = Counter(entry.cls for entry in entries)
    ours = Counter(entry.cls for entry in entries if entry.policy == "wrap")
    out.append("\n| class | functions | wrapped |\n| --- | ---: | ---: |\n")
    out += [f"| {cls} | {classes[cls]} | {ours[cls]} |\n" for cls in sorted(classes)]
    for cls in sorted(classes):
        out.append(f"\n## {cls}\n\n| function | since | mode | policy | headers |\n"
                   "| --- | --- | --- | --- | --- |\n")
        for entry in entries:
            if entry.cls == cls:
                headers = condense(entry.headers, listed.releases)
                out.append(f"| `{entry.symbol}` | {entry.since} | {entry.mode} | {entry.policy} | "
                           f"{headers} |\n")
    return "".join(out)
