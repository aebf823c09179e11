// void* dlopen(const char* name, int flags): the one function of the C library that this library
// exports.
//
// It replaces driver names and then *jumps* to the C library's dlopen, with arguments in place and
// the caller's return address on top of the stack. So the loader sees the caller, and RUNPATH,
// $ORIGIN and the namespace keep their meaning. It is written in assembly because a compiler need
// not make a tail call in a debug build.
//
// divvy_dlopen_name (dlopen_name.cpp) sets divvy_dlopen_next before it returns.

#ifdef __CET__
#include <cet.h>
#endif
    .text
    .globl dlopen
    .type dlopen, %function
    .balign 16
#if defined(__x86_64__)
dlopen:
    .cfi_startproc
    endbr64
    push %rdi
    .cfi_adjust_cfa_offset 8
    push %rsi
    .cfi_adjust_cfa_offset 8
    sub $8, %rsp                // keeps the stack aligned for the call
    .cfi_adjust_cfa_offset 8
    mov 24(%rsp), %rsi          // the caller: the return address
    call divvy_dlopen_name
    add $8, %rsp
    .cfi_adjust_cfa_offset -8
    pop %rsi
    .cfi_adjust_cfa_offset -8
    pop %rdi
    .cfi_adjust_cfa_offset -8
    mov %rax, %rdi
    mov divvy_dlopen_next(%rip), %rax
    test %rax, %rax
    jz 1f
    jmp *%rax
1:  ret                         // rax is 0: there is no dlopen, so the call fails
    .cfi_endproc
#elif defined(__aarch64__)
dlopen:
    .cfi_startproc
    hint #34                    // bti c
    stp x29, x30, [sp, #-32]!
    .cfi_def_cfa_offset 32
    .cfi_offset x29, -32
    .cfi_offset x30, -24
    mov x29, sp
    str x1, [sp, #16]
    mov x1, x30                 // the caller: the return address
    bl divvy_dlopen_name
    ldr x1, [sp, #16]
    ldp x29, x30, [sp], #32
    .cfi_restore x29
    .cfi_restore x30
    .cfi_def_cfa_offset 0
    adrp x16, divvy_dlopen_next
    ldr x16, [x16, :lo12:divvy_dlopen_next]
    cbz x16, 1f
    br x16
1:  mov x0, xzr
    ret
    .cfi_endproc
#else
#error "no dlopen stub for this architecture"
#endif
    .size dlopen, . - dlopen
    .section .note.GNU-stack, "", %progbits
