"""Generated assembly (x86-64 and aarch64) and linker version scripts.

The machine-dependent part is a handful of assembler macros; the lines below them are the list.
"""

NOTE = "/* Generated from abi/{source} by tools/abi/gen.py; do not edit. */\n"

_PROLOGUE = """
#ifdef __CET__
#include <cet.h>                /* the mark for the processor's checks of indirect calls and returns */
#endif
#if !defined(__x86_64__) && !defined(__aarch64__)
#error "no stubs for this architecture"
#endif
"""

_EPILOGUE = """
        .section .note.GNU-stack,"",%progbits
"""

# Exported name -> jump through a table slot, or to a function of ours.
_JUMPS = """
#if defined(__x86_64__)
.macro JUMP_SLOT table, id
        jmp     *(\\table + 8 * \\id)(%rip)
.endm
.macro JUMP_TO function
        jmp     \\function
.endm
#else
.macro JUMP_SLOT table, id
        adrp    x16, \\table + 8 * \\id
        ldr     x16, [x16, :lo12:\\table + 8 * \\id]
        br      x16
.endm
.macro JUMP_TO function
        b       \\function
.endm
#endif

/* The local label is for our own tables: they must not be redirected to another library. */
.macro BEGIN name, id
        .balign 8
        .globl  \\name
        .type   \\name, %function
\\name:
.Lexport_\\id:
#if defined(__aarch64__)
        hint    #34             /* bti c: a landing place for indirect calls */
#else
        endbr64                 /* likewise */
#endif
.endm
.macro END name
        .size   \\name, . - \\name
.endm
"""

# The first call through a slot: ask the resolver with every argument register kept, then go on
# with the same stack, so that arguments in memory and variable arguments survive as well.
_LAZY = """
#if defined(__x86_64__)
.macro LAZY id
        endbr64
        movl    $\\id, %r11d
        jmp     .Lresolve
        .balign 16
.endm

        .text
        .balign 16
        .type   .Lresolve, %function
.Lresolve:
        .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq    $192, %rsp
        andq    $-16, %rsp
        movq    %rdi, 0(%rsp)
        movq    %rsi, 8(%rsp)
        movq    %rdx, 16(%rsp)
        movq    %rcx, 24(%rsp)
        movq    %r8, 32(%rsp)
        movq    %r9, 40(%rsp)
        movq    %rax, 48(%rsp)
        movq    %r10, 56(%rsp)
        movaps  %xmm0, 64(%rsp)
        movaps  %xmm1, 80(%rsp)
        movaps  %xmm2, 96(%rsp)
        movaps  %xmm3, 112(%rsp)
        movaps  %xmm4, 128(%rsp)
        movaps  %xmm5, 144(%rsp)
        movaps  %xmm6, 160(%rsp)
        movaps  %xmm7, 176(%rsp)
        movl    %r11d, %edi
        call    RESOLVER
        movq    %rax, %r11
        movq    0(%rsp), %rdi
        movq    8(%rsp), %rsi
        movq    16(%rsp), %rdx
        movq    24(%rsp), %rcx
        movq    32(%rsp), %r8
        movq    40(%rsp), %r9
        movq    48(%rsp), %rax
        movq    56(%rsp), %r10
        movaps  64(%rsp), %xmm0
        movaps  80(%rsp), %xmm1
        movaps  96(%rsp), %xmm2
        movaps  112(%rsp), %xmm3
        movaps  128(%rsp), %xmm4
        movaps  144(%rsp), %xmm5
        movaps  160(%rsp), %xmm6
        movaps  176(%rsp), %xmm7
        leave
        .cfi_def_cfa %rsp, 8
        jmp     *%r11
        .cfi_endproc
        .size   .Lresolve, . - .Lresolve
#else
.macro LAZY id
        hint    #34
        mov     w17, #\\id
        b       .Lresolve
        .balign 16
.endm

        .text
        .balign 16
        .type   .Lresolve, %function
.Lresolve:
        .cfi_startproc
        stp     x29, x30, [sp, #-224]!
        .cfi_def_cfa_offset 224
        .cfi_offset x29, -224
        .cfi_offset x30, -216
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        stp     x2, x3, [sp, #32]
        stp     x4, x5, [sp, #48]
        stp     x6, x7, [sp, #64]
        str     x8, [sp, #80]
        stp     q0, q1, [sp, #96]
        stp     q2, q3, [sp, #128]
        stp     q4, q5, [sp, #160]
        stp     q6, q7, [sp, #192]
        mov     w0, w17
        bl      RESOLVER
        mov     x16, x0
        ldp     x0, x1, [sp, #16]
        ldp     x2, x3, [sp, #32]
        ldp     x4, x5, [sp, #48]
        ldp     x6, x7, [sp, #64]
        ldr     x8, [sp, #80]
        ldp     q0, q1, [sp, #96]
        ldp     q2, q3, [sp, #128]
        ldp     q4, q5, [sp, #160]
        ldp     q6, q7, [sp, #192]
        ldp     x29, x30, [sp], #224
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        br      x16
        .cfi_endproc
        .size   .Lresolve, . - .Lresolve
#endif
"""

_MISSING = """
#if defined(__x86_64__)
.macro MISSING id, handler
        endbr64
        movl    $\\id, %edi
        jmp     \\handler
.endm
#else
.macro MISSING id, handler
        hint    #34
        mov     w0, #\\id
        b       \\handler
.endm
#endif
"""


def _table(name: str, section: str, cells) -> str:
    lines = [f"\n        .section {section}", "        .balign 8",
             f"        .globl  {name}", f"        .hidden {name}",
             f"        .type   {name}, %object", f"{name}:"]
    lines += [f"        .quad   {cell}" for cell in cells]
    lines.append(f"        .size   {name}, . - {name}\n")
    return "\n".join(lines)


def _places(name: str, functions) -> str:
    """A table of distances from itself to functions of this library; None is 0."""
    cells = [f"{function} - {name}" if function else "0" for function in functions]
    lines = ["\n        .section .rodata", "        .balign 4",
             f"        .globl  {name}", f"        .hidden {name}",
             f"        .type   {name}, %object", f"{name}:"]
    lines += [f"        .long   {cell}" for cell in cells]
    lines.append(f"        .size   {name}, . - {name}\n")
    return "\n".join(lines)


_WRITABLE = '.data,"aw",%progbits'


def interposer_stubs(library, listed) -> str:
    """The interposer's exports, its table of driver functions and its table of hooks."""
    name, real = library.name, f"divvy_{library.name}_real"
    out = [NOTE.format(source=f"{name}.def"), _PROLOGUE,
           f"\n#define RESOLVER divvy_{name}_resolve\n        .hidden RESOLVER\n",
           _JUMPS, _LAZY, "\n        .balign 16\n.Llazy:\n"]
    out += [f"        LAZY    {number}\n" for number in range(len(listed.entries))]
    out.append(f"\n        .hidden {real}\n")
    for number, entry in enumerate(listed.entries):
        symbol = entry.symbol
        if entry.policy == "wrap":
            out.append(f"        .hidden hook_{symbol}\n        BEGIN   {symbol}, {number}\n"
                       f"        JUMP_TO hook_{symbol}\n        END     {symbol}\n")
        else:
            out.append(f"        BEGIN   {symbol}, {number}\n"
                       f"        JUMP_SLOT {real}, {number}\n        END     {symbol}\n")
    count = len(listed.entries)
    out.append(_table(real, _WRITABLE, [f".Llazy + {16 * number}" for number in range(count)]))
    out.append(_places(f"divvy_{name}_hooks",
                       [f"hook_{entry.symbol}" if entry.policy == "wrap" else None
                        for entry in listed.entries]))
    out.append(_places(f"divvy_{name}_exports",
                       [f".Lexport_{number}" for number in range(count)]))
    out.append(_EPILOGUE)
    return "".join(out)


def simgpu_exports(library, listed) -> str:
    """The simulated driver's exports and the table they jump through.

    Every entry has a weak body that answers "not supported"; a strong sim_NAME replaces it when
    the library is linked, so that nothing has to be filled in at load.
    """
    name, table = library.name, f"simgpu_{library.name}_table"
    text_handler = f"simgpu_{name}_missing_text"
    out = [NOTE.format(source=f"{name}.def"), _PROLOGUE, _JUMPS, _MISSING,
           f"\n        .hidden simgpu_{name}_missing\n        .hidden {text_handler}\n",
           f"        .hidden {table}\n        .text\n",
           f"        .globl  simgpu_{name}_weak_begin\n        .hidden simgpu_{name}_weak_begin\n",
           f"simgpu_{name}_weak_begin:\n"]
    for number, entry in enumerate(listed.entries):
        handler = text_handler if "*" in entry.ret else f"simgpu_{name}_missing"
        out.append(f"        .weak   sim_{entry.symbol}\n        .hidden sim_{entry.symbol}\n"
                   f"        .type   sim_{entry.symbol}, %function\nsim_{entry.symbol}:\n"
                   f"        MISSING {number}, {handler}\n")
    out.append(f"        .globl  simgpu_{name}_weak_end\n        .hidden simgpu_{name}_weak_end\n"
               f"simgpu_{name}_weak_end:\n")
    for number, entry in enumerate(listed.entries):
        out.append(f"        BEGIN   {entry.symbol}, {number}\n"
                   f"        JUMP_SLOT {table}, {number}\n"
                   f"        END     {entry.symbol}\n")
    bodies = [f"sim_{entry.symbol}" for entry in listed.entries]
    out.append(_table(table, _WRITABLE, bodies))
    out.append(_places(f"simgpu_{name}_bodies", bodies))
    out.append(_places(f"simgpu_{name}_exports",
                       [f".Lexport_{number}" for number in range(len(bodies))]))
    out.append(_EPILOGUE)
    return "".join(out)


def version_script(library, listed, extras) -> str:
    """Anonymous on purpose: a version node would make glibc skip our dlopen for some callers."""
    names = [entry.symbol for entry in listed.entries] + list(extras)
    return (NOTE.format(source=f"{library.name}.def") + "{\n  global:\n"
            + "".join(f"    {name};\n" for name in names) + "  local:\n    *;\n};\n")
