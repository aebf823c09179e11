/* One thunk of 32 bytes per entry point: counts, then goes on to the real one with all arguments
   untouched. x86-64 only; bench/CMakeLists.txt leaves the counting driver out elsewhere. */

        .hidden counting_word
        .hidden counting_real
        .text
        .balign 32
        .globl  counting_thunks
        .hidden counting_thunks
        .type   counting_thunks, %function
counting_thunks:
        .set    index, 0
        .rept   COUNTING_THUNKS
        movq    counting_word(%rip), %r11
        lock incq (%r11)
        jmp     *(counting_real + 8 * index)(%rip)
        .balign 32
        .set    index, index + 1
        .endr
        .size   counting_thunks, . - counting_thunks

        .section .note.GNU-stack,"",%progbits
