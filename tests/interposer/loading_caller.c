/* Linked with RUNPATH=$ORIGIN/private: what it opens by name is looked for there, if and only if
   the loader takes it for the one who asks. */
#include <dlfcn.h>

__attribute__((visibility("default"))) void* open_private(const char* name) {
  void* volatile found = dlopen(name, RTLD_NOW); /* volatile: so that this is no tail call */
  return found;
}
