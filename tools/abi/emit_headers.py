"""Generated C++: enumerations, ids, function types, entry tables, hook and simgpu prototypes."""

from deflist import MODES

NOTE = "// Generated from abi/{source} by tools/abi/gen.py; do not edit.\n"


def _head(source: str, *includes) -> str:
    lines = [NOTE.format(source=source) + "#pragma once\n"]
    lines += [f"#include {name}" for name in includes]
    return "\n".join(lines) + ("\n\n" if includes else "\n")


def camel(cls: str) -> str:
    """Enumerator of a class: "graphmem" -> "kGraphmem"."""
    return "k" + cls[0].upper() + cls[1:]


def classes(names) -> str:
    body = "".join(f"  {camel(name)},\n" for name in names)
    texts = "".join(f'    "{name}",\n' for name in names)
    return (_head("cuda.def and nvml.def", "<cstdint>") + "namespace divvy::abi {\n\n"
            "// What an entry point is about; one word in the lists.\n"
            "enum class Class : std::uint8_t {\n" + body + "  kCount\n};\n\n"
            "inline constexpr const char* kClassNames[] = {\n" + texts + "};\n\n"
            "}  // namespace divvy::abi\n")


def enumerations(library, listed) -> str:
    out = [_head(f"{library.name}_enums.def", "<cstdint>")]
    for enum, names in listed.items():
        base = "std::int32_t" if any(value < 0 for value in names.values()) else "std::uint32_t"
        out.append(f"enum {enum} : {base} {{\n")
        out += [f"  {name} = {_number(value)},\n" for name, value in names.items()]
        out.append("};\n\n")
    return "".join(out).rstrip("\n") + "\n"


def layouts(library, listed) -> str:
    """static_asserts over our mirror types; one translation unit of the tests includes them."""
    out = [_head(f"{library.name}_layout.def", "<cstddef>", f'"abi/{library.name}_types.h"')]
    for name, layout in listed.items():
        out.append(f"static_assert(sizeof({name}) == {layout.size});\n")
        out += [f"static_assert(offsetof({name}, {member}) == {offset});\n"
                for member, offset in layout.members.items()]
    return "".join(out)


def _number(value: int) -> str:
    return f"{value}U" if value > 0x7FFFFFFF else str(value)


def ids(library, listed) -> str:
    names = "".join(f"  {entry.symbol},\n" for entry in listed.entries)
    return (_head(f"{library.name}.def", "<cstdint>") + "namespace divvy::abi {\n\n"
            f"// Index of each {library.title} entry point in every table of this build. Not stable\n"
            "// from one version of Divvy to the next: never written to a file.\n"
            f"enum class {library.ids} : std::uint16_t {{\n{names}  kCount\n}};\n\n"
            "}  // namespace divvy::abi\n")


def protos(library, listed) -> str:
    out = [_head(f"{library.name}.def", f'"abi/{library.name}_ids.h"',
                 f'"abi/{library.name}_types.h"'),
           "namespace divvy::abi {\n\n",
           f"// {library.fn}<id>::type is the function type of an entry point.\n",
           f"template <{library.ids}>\nstruct {library.fn};\n\n"]
    for entry in listed.entries:
        out.append(f"template <>\nstruct {library.fn}<{library.ids}::{entry.symbol}> {{\n"
                   f"  using type = {entry.signature};\n}};\n")
    out.append("\n}  // namespace divvy::abi\n")
    return "".join(out)


def families(listed) -> dict:
    """{base: [(mode index, since, id)]}, sorted; `also` lines join the family they name."""
    index = {entry.symbol: number for number, entry in enumerate(listed.entries)}
    found = {}
    for number, entry in enumerate(listed.entries):
        found.setdefault(entry.base, []).append(
            (MODES.index(entry.mode), entry.since_number, number))
    for also in listed.also:
        found.setdefault(also.base, []).append(
            (MODES.index(also.mode), also.since, index[also.symbol]))
    return {base: sorted(found[base]) for base in sorted(found)}


def entries(library, listed) -> str:
    prefix = f"k{library.ids}"
    modes = {"-": "kPlain", "ptds": "kPtds", "ptsz": "kPtsz"}
    family_of = {base: place for place, base in enumerate(families(listed))}
    rows = "".join(
        f'    {{"{e.symbol}", {family_of[e.base]}, {e.since_number}, StreamMode::{modes[e.mode]}, '
        f'Class::{camel(e.cls)}, {"true" if e.policy == "wrap" else "false"}}},\n'
        for e in listed.entries)
    members, table = [], []
    for base, family in families(listed).items():
        table.append(f'    {{"{base}", {len(members)}, {len(family)}}},\n')
        members += [f"    {{{library.ids}::{listed.entries[number].symbol}, {since}, "
                    f"StreamMode::{modes[MODES[mode]]}}},\n" for mode, since, number in family]
    order = sorted(listed.entries, key=lambda entry: entry.symbol)
    sorted_ids = "".join(f"    {library.ids}::{entry.symbol},\n" for entry in order)
    return (_head(f"{library.name}.def", '"abi/entry.h"', f'"abi/{library.name}_ids.h"')
            + "namespace divvy::abi {\n\n"
            f"// Indexed by {library.ids}.\n"
            f"inline constexpr Entry {prefix}Entries[] = {{\n{rows}}};\n\n"
            "// The versions of every name, each family sorted by mode, then since.\n"
            f"inline constexpr FamilyMember<{library.ids}> {prefix}FamilyMembers[] = {{\n"
            + "".join(members) + "};\n\n"
            f"// Sorted by base.\ninline constexpr Family {prefix}Families[] = {{\n"
            + "".join(table) + "};\n\n"
            f"// Sorted by symbol.\ninline constexpr {library.ids} {prefix}BySymbol[] = {{\n"
            f"{sorted_ids}}};\n\n"
            f"inline constexpr unsigned {prefix}Count = static_cast<unsigned>({library.ids}::kCount);"
            "\n\n"
            "// The family of an unversioned name, or nullptr. Binary search; calls no library.\n"
            f"constexpr const Family* find{library.ids}Family(const char* base) {{\n"
            f"  return findFamily({prefix}Families, base);\n}}\n\n"
            "// The id of an exported name, or kCount. Binary search; calls no library.\n"
            f"constexpr {library.ids} find{library.ids}Symbol(const char* symbol) {{\n"
            f"  return findSymbol({prefix}Entries, {prefix}BySymbol, symbol);\n}}\n\n"
            f"constexpr const Entry& entryOf({library.ids} id) {{\n"
            f"  return {prefix}Entries[static_cast<unsigned>(id)];\n}}\n\n"
            "}  // namespace divvy::abi\n")


def hooks(library, listed) -> str:
    name, ids_ = library.name, library.ids
    wrapped = [entry for entry in listed.entries if entry.policy == "wrap"]
    protos_ = "".join(
        f"DIVVY_HIDDEN {_returning(e, f'hook_{e.symbol}')} noexcept;\n" for e in wrapped)
    return (_head(f"{name}.def", '"abi/hook.h"', f'"abi/{name}_protos.h"')
            + "// One body for each line whose policy is `wrap`; define it with DIVVY_HOOK.\n"
            f'extern "C" {{\n{protos_}\n'
            f"// {name}_stubs.S: the functions of the driver, by {ids_}. Each starts as a stub that\n"
            f"// calls divvy_{name}_resolve and continues there; the resolver stores what it found.\n"
            f"DIVVY_HIDDEN extern void* divvy_{name}_real[];\n"
            f"// {name}_stubs.S: our wrapper, by {ids_}; nullptr where the policy is `pass`.\n"
            f"DIVVY_HIDDEN extern const std::int32_t divvy_{name}_hooks[];\n"
            f"// {name}_stubs.S: what this library exports, by {ids_}.\n"
            f"DIVVY_HIDDEN extern const std::int32_t divvy_{name}_exports[];\n"
            "// Ours to define: where the call `id` goes on. Runs on the caller's thread before its\n"
            "// arguments are used; any thread, several at once; never returns nullptr.\n"
            f"DIVVY_HIDDEN void* divvy_{name}_resolve(unsigned id);\n"
            "}\n\n"
            "namespace divvy::abi {\n\n"
            f"inline constexpr Places k{ids_}Hooks{{divvy_{name}_hooks}};\n"
            f"inline constexpr Places k{ids_}Exports{{divvy_{name}_exports}};\n\n"
            "// The driver's own function, typed; callable from the first moment (see above).\n"
            f"template <{ids_} id>\ninline typename {library.fn}<id>::type* real() {{\n"
            f"  return reinterpret_cast<typename {library.fn}<id>::type*>(\n"
            f"      __atomic_load_n(&divvy_{name}_real[static_cast<unsigned>(id)], "
            "__ATOMIC_RELAXED));\n}\n\n"
            "}  // namespace divvy::abi\n")


def _returning(entry, symbol: str) -> str:
    return f"{entry.ret} {symbol}({entry.params})"


def impls(library, listed) -> str:
    name, ids_ = library.name, library.ids
    protos_ = "".join(
        f"DIVVY_HIDDEN {_returning(e, f'sim_{e.symbol}')};\n" for e in listed.entries)
    return (_head(f"{name}.def", '"abi/hook.h"', f'"abi/{name}_protos.h"')
            + "// Define any of these with SIMGPU_IMPL; the rest answer \"not supported\" and count.\n"
            f'extern "C" {{\n{protos_}\n'
            f"// {name}_exports.S: what each exported name jumps to, by {library.ids}. Writable: a\n"
            "// profile may exchange entries before the first call.\n"
            f"DIVVY_HIDDEN extern void* simgpu_{name}_table[];\n"
            f"// {name}_exports.S: what this library exports, by {library.ids}.\n"
            f"DIVVY_HIDDEN extern const std::int32_t simgpu_{name}_exports[];\n"
            f"// {name}_table.cpp: calls of entries that have no body here, by {library.ids}.\n"
            f"DIVVY_HIDDEN extern unsigned simgpu_{name}_missing_calls[];\n"
            f"// {name}_exports.S: the linked body of each entry, whatever the table holds now.\n"
            f"DIVVY_HIDDEN extern const std::int32_t simgpu_{name}_bodies[];\n"
            f"// {name}_table.cpp: true where this build has a body for the entry.\n"
            f"DIVVY_HIDDEN bool simgpu_{name}_implements(unsigned id);\n"
            "}\n\n"
            "namespace divvy::abi {\n\n"
            f"inline constexpr Places kSim{ids_}Exports{{simgpu_{name}_exports}};\n"
            f"inline constexpr Places kSim{ids_}Bodies{{simgpu_{name}_bodies}};\n\n"
            "}  // namespace divvy::abi\n")


def missing_table(library, listed) -> str:
    name, count = library.name, f"static_cast<unsigned>(divvy::abi::{library.ids}::kCount)"
    return (NOTE.format(source=f"{name}.def") + "\n"
            f'#include "simgpu/{name}_impls.h"\n\n'
            'extern "C" {\n\n'
            f"unsigned simgpu_{name}_missing_calls[{count}] = {{}};\n\n"
            "// Where an entry without a body ends up. Atomic, because any thread may call one.\n"
            f"DIVVY_HIDDEN unsigned long simgpu_{name}_missing(unsigned id) {{\n"
            f"  __atomic_fetch_add(&simgpu_{name}_missing_calls[id], 1U, __ATOMIC_RELAXED);\n"
            f"  return {library.not_supported};\n}}\n\n"
            "// An entry that returns text has no error code to give.\n"
            f"DIVVY_HIDDEN const char* simgpu_{name}_missing_text(unsigned id) {{\n"
            f"  __atomic_fetch_add(&simgpu_{name}_missing_calls[id], 1U, __ATOMIC_RELAXED);\n"
            '  return "not supported";\n}\n\n'
            f"DIVVY_HIDDEN extern char simgpu_{name}_weak_begin[];\n"
            f"DIVVY_HIDDEN extern char simgpu_{name}_weak_end[];\n\n"
            f"bool simgpu_{name}_implements(unsigned id) {{\n"
            f"  const char* body = static_cast<const char*>(divvy::abi::kSim{library.ids}Bodies[id]);\n"
            f"  return body < simgpu_{name}_weak_begin || body >= simgpu_{name}_weak_end;\n}}\n\n"
            "}  // extern \"C\"\n")
