// Linked into every Divvy library; see note.h.
#ifdef __CET__
#include <cet.h>
#endif
    .section .note.divvy, "a", %note
    .balign 4
    .long 6             // size of the name, its NUL included
    .long 4             // size of the body
    .long 1             // type: interposer
    .asciz "Divvy"
    .balign 4
    .long 1             // version of this note
    .section .note.GNU-stack, "", %progbits
