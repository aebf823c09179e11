/* Found by RUNPATH only. */
__attribute__((visibility("default"))) int probe_private = 1;
