/* A library whose destructor calls what the program gave it. */
__attribute__((visibility("default"))) void (*late_call)(void);

__attribute__((destructor)) static void end(void) {
  if (late_call) late_call();
}
