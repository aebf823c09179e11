// Goes where a program of a container would be, as it is told on stdin, a line of words between
// tabs at a time, and answers each with lines of which the last is "end".
//
//   enroll PROCS SOCKET TENANT
//       out of that control group it says at the agent's socket that it is a process of that
//       tenant, in a slot that it has not taken: status N
//   see PROCS [m HOST INSIDE ro|rw] [e NAME=VALUE] ...
//       another one, out of that control group, with these mounts, in a /run of its own, and these
//       variables: by CUDA UUID BYTES, by NVML UUID BYTES, of each device; more N, of asking for
//       a context on the first one, and all of its memory
//
// PROCS is the group's cgroup.procs. What goes wrong is a line, too: "cannot ...". /etc is the
// machine's: what a container's ld.so.preload names is put into LD_PRELOAD.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "register_packet.h"

enum { kMaxWords = 128, kLine = 1 << 16, kPath = 4096 };

typedef int (*Call)();

static void cannot(const char* what) {
  printf("cannot %s: %s\n", what, errno == 0 ? "no" : strerror(errno));
  fflush(stdout);
}

static int join(const char* procs) {
  const int file = open(procs, O_WRONLY | O_CLOEXEC);
  const int done = file >= 0 && write(file, "0", 1) == 1;
  if (file >= 0) close(file);
  return done;
}

static void enroll(char** words) {
  const struct RegisterPacket packet = registerPacket(words[3]);
  uint32_t reply[4];
  struct sockaddr_un address = {AF_UNIX, ""};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", words[2]);
  if (!join(words[1])) return cannot("join");
  const int agent = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (connect(agent, (struct sockaddr*)&address, sizeof address) != 0) {
    cannot("connect");
  } else if (send(agent, &packet, sizeof packet, MSG_NOSIGNAL) != (ssize_t)sizeof packet ||
             recv(agent, reply, sizeof reply, 0) != (ssize_t)sizeof reply) {
    cannot("be heard");
  } else {
    printf("status %u\n", reply[1]);
  }
  close(agent);
}

// Where something is to be mounted; 0: it is not.
static int place(const char* host, const char* inside) {
  char path[kPath];
  struct stat what;
  if (stat(host, &what) != 0 || strlen(inside) >= sizeof path) return 0;
  strcpy(path, inside);
  for (char* at = strchr(path + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
    *at = 0;
    mkdir(path, 0755);
    *at = '/';
  }
  if (S_ISDIR(what.st_mode)) return mkdir(path, 0755) == 0 || errno == EEXIST;
  const int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
  if (file < 0) return 0;
  close(file);
  return 1;
}

static int mountOne(const char* host, const char* inside, const char* how) {
  if (!place(host, inside) || mount(host, inside, NULL, MS_BIND, NULL) != 0) return 0;
  const unsigned long again = MS_BIND | MS_REMOUNT | MS_RDONLY;
  return strcmp(how, "ro") != 0 || mount(NULL, inside, NULL, again, NULL) == 0;
}

// As the loader has it, which takes lines as well as colons.
static void preload(const char* list) {
  char names[kPath];
  FILE* file = fopen(list, "r");
  const size_t got = file == NULL ? 0 : fread(names, 1, sizeof names - 1, file);
  if (file != NULL) fclose(file);
  names[got] = 0;
  for (char* at = names; *at != 0; ++at)
    if (*at == '\n') *at = ':';
  setenv("LD_PRELOAD", names, 1);
}

// Does not come back when all is well.
static void enter(char** words) {
  if (!join(words[1])) return cannot("join");
  if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
      mount("run", "/run", "tmpfs", 0, "mode=755") != 0)
    return cannot("be apart");
  clearenv();
  for (char** word = words + 2; *word != NULL; word += strcmp(*word, "m") == 0 ? 4 : 2) {
    if (strcmp(*word, "e") == 0) {
      putenv(word[1]);
    } else if (strcmp(word[2], "/etc/ld.so.preload") == 0) {
      preload(word[1]);
    } else if (!mountOne(word[1], word[2], word[3])) {
      return cannot(word[2]);
    }
  }
  execl("/proc/self/exe", "inside", "look", NULL);
  cannot("look");
}

static void see(char** words) {
  fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    enter(words);
    _exit(1);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) printf("cannot end well: %d\n", status);
}

static Call entry(void* library, const char* name) {
  union {
    void* object;
    Call call;
  } found = {library == NULL ? NULL : dlsym(library, name)};
  if (found.object != NULL) return found.call;
  printf("cannot find %s: %s\n", name, library == NULL ? dlerror() : "no such entry point");
  exit(1);
}

static int lookByNvml(void) {
  void* nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  unsigned count = 0;
  int code = entry(nvml, "nvmlInit_v2")();
  if (code == 0) code = entry(nvml, "nvmlDeviceGetCount_v2")(&count);
  for (unsigned at = 0; code == 0 && at < count; ++at) {
    struct {
      unsigned long long total, free, used;
    } memory = {0, 0, 0};
    char uuid[96] = "";
    void* device = NULL;
    code = entry(nvml, "nvmlDeviceGetHandleByIndex_v2")(at, &device);
    if (code == 0) code = entry(nvml, "nvmlDeviceGetMemoryInfo")(device, &memory);
    if (code == 0) code = entry(nvml, "nvmlDeviceGetUUID")(device, uuid, (unsigned)sizeof uuid);
    printf("by NVML %s %llu\n", uuid, memory.total);
  }
  return code;
}

static int lookByCuda(void) {
  void* cuda = dlopen("libcuda.so.1", RTLD_NOW);
  void* context = NULL;
  unsigned long long address = 0;
  size_t first = 0;
  int count = 0;
  int code = entry(cuda, "cuInit")(0u);
  if (code == 0) code = entry(cuda, "cuDeviceGetCount")(&count);
  for (int at = 0; code == 0 && at < count; ++at) {
    unsigned char id[16];
    size_t total = 0;
    code = entry(cuda, "cuDeviceGetUuid_v2")(id, at);
    if (code == 0) code = entry(cuda, "cuDeviceTotalMem_v2")(&total, at);
    printf("by CUDA GPU-");
    for (int byte = 0; byte < 16; ++byte)
      printf("%s%02x", byte == 4 || byte == 6 || byte == 8 || byte == 10 ? "-" : "", id[byte]);
    printf(" %zu\n", total);
    if (at == 0) first = total;
  }
  if (code != 0) return code;
  int more = entry(cuda, "cuCtxCreate_v2")(&context, 0u, 0);
  if (more == 0) more = entry(cuda, "cuMemAlloc_v2")(&address, first);
  printf("more %d\n", more);
  return 0;
}

static int look(void) {
  const int code = lookByCuda();
  const int nvml = code == 0 ? lookByNvml() : 0;
  if (code != 0 || nvml != 0) printf("cannot ask: CUDA %d, NVML %d\n", code, nvml);
  return code != 0 || nvml != 0;
}

int main(int argc, char** argv) {
  static char line[kLine];
  if (argc > 1 && strcmp(argv[1], "look") == 0) return look();
  while (fgets(line, sizeof line, stdin) != NULL) {
    char* words[kMaxWords] = {NULL};
    int count = 0;
    line[strcspn(line, "\n")] = 0;
    for (char *rest = line, *word; count < kMaxWords - 4 && (word = strsep(&rest, "\t")) != NULL;)
      words[count++] = word;
    errno = 0;
    if (count == 4 && strcmp(words[0], "enroll") == 0)
      enroll(words);
    else if (count > 1 && strcmp(words[0], "see") == 0)
      see(words);
    else
      printf("cannot understand\n");
    printf("end\n");
    fflush(stdout);
  }
  return 0;
}
