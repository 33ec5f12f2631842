/* A library to preload that fails the n-th call of one kind on files below a directory.

   `failing_calls.py` compiles it, and says through a file in shared memory (FAILING_CALLS names it)
   which call fails how: for this process and those that it starts. Without that file, and for every
   other path, all calls are those of the C library. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* CHANGE is each of them that changes what is on the disk, and those of which no other is. */
enum call { WRITE = 1, FSYNC = 2, RENAME = 3, OPEN = 4, CHANGE = 5 };

/* As `_LAYOUT` of failing_calls.py has it. */
struct control {
  int64_t mode;  /* 0: nothing happens, 1: one call fails, 2: calls are listed */
  int64_t call;  /* which kind */
  int64_t nth;   /* the first that fails, from 1 */
  int64_t last;  /* the last that fails */
  int64_t error; /* with this errno */
  int64_t seen;  /* calls of that kind so far, in all processes */
  int64_t failed;
  int64_t ahead; /* seconds that the clock is ahead */
  char directory[512]; /* below which; ends with a slash */
  char store[64];      /* what the rest of the path contains */
  char path[512];      /* the path whose call failed last, below the directory */
};

static struct control *control;
static int list = -1;

#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name) {
  void *function = dlsym(RTLD_NEXT, name);
  if (function == NULL) abort();
  return function;
}

__attribute__((constructor)) static void begin(void) {
  const char *name = getenv("FAILING_CALLS");
  if (name == NULL) return;
  int file = REAL(open)(name, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void *mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  REAL(close)(file);
  if (mapped == MAP_FAILED) return;
  char listed[PATH_MAX];
  snprintf(listed, sizeof listed, "%s.calls", name);
  list = REAL(open)(listed, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  control = mapped;
}

/* Whether this call of a path fails; errno is set then. */
static int fails(enum call call, const char *path, int changes) {
  if (control == NULL || control->mode == 0) return 0;
  size_t length = strlen(control->directory);
  if (strncmp(path, control->directory, length) != 0) return 0;
  const char *rest = path + length;
  if (control->mode == 2) {
    char line[PATH_MAX];
    int size = snprintf(line, sizeof line, "%d %s\n", (int)call, rest);
    if (list >= 0 && size > 0) (void)!REAL(write)(list, line, (size_t)size);
    if (!changes || call == CHANGE) return 0;
    size = snprintf(line, sizeof line, "%d %s\n", (int)CHANGE, rest);
    if (list >= 0 && size > 0) (void)!REAL(write)(list, line, (size_t)size);
    return 0;
  }
  if (control->call != (int64_t)call && !(control->call == CHANGE && changes)) return 0;
  if (strstr(rest, control->store) == NULL) return 0;
  int64_t number = __atomic_add_fetch(&control->seen, 1, __ATOMIC_SEQ_CST);
  if (number < control->nth || number > control->last) return 0;
  __atomic_add_fetch(&control->failed, 1, __ATOMIC_SEQ_CST);
  snprintf(control->path, sizeof control->path, "%s", rest);
  errno = (int)control->error;
  return 1;
}

static int fails_of(enum call call, int file) {
  if (control == NULL || control->mode == 0 || file == list) return 0;
  int before = errno;
  char name[64], path[PATH_MAX];
  snprintf(name, sizeof name, "/proc/self/fd/%d", file);
  ssize_t length = readlink(name, path, sizeof path - 1);
  errno = before;
  if (length <= 0) return 0;
  path[length] = 0;
  return fails(call, path, 1);
}

static int fails_if(enum call call, int directory, const char *path, int changes) {
  if (control == NULL || control->mode == 0 || path == NULL) return 0;
  if (path[0] == '/') return fails(call, path, changes);
  char name[64], whole[PATH_MAX], at[PATH_MAX];
  snprintf(name, sizeof name, "/proc/self/fd/%d", directory);
  if (directory == AT_FDCWD) snprintf(name, sizeof name, "/proc/self/cwd");
  ssize_t length = readlink(name, at, sizeof at - 1);
  if (length <= 0) return 0;
  at[length] = 0;
  if ((size_t)snprintf(whole, sizeof whole, "%s/%s", at, path) >= sizeof whole) return 0;
  return fails(call, whole, changes);
}

static int fails_at(enum call call, int directory, const char *path) {
  return fails_if(call, directory, path, call != OPEN);
}

ssize_t write(int file, const void *bytes, size_t count) {
  return fails_of(WRITE, file) ? -1 : REAL(write)(file, bytes, count);
}
ssize_t writev(int file, const struct iovec *parts, int count) {
  return fails_of(WRITE, file) ? -1 : REAL(writev)(file, parts, count);
}
ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) {
  return fails_of(WRITE, file) ? -1 : REAL(pwrite)(file, bytes, count, at);
}
ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
  return fails_of(WRITE, file) ? -1 : REAL(pwrite64)(file, bytes, count, at);
}
int fsync(int file) { return fails_of(FSYNC, file) ? -1 : REAL(fsync)(file); }
int fdatasync(int file) { return fails_of(FSYNC, file) ? -1 : REAL(fdatasync)(file); }

int rename(const char *from, const char *to) {
  return fails_at(RENAME, AT_FDCWD, to) ? -1 : REAL(rename)(from, to);
}
int renameat(int at, const char *from, int into, const char *to) {
  return fails_at(RENAME, into, to) ? -1 : REAL(renameat)(at, from, into, to);
}
int renameat2(int at, const char *from, int into, const char *to, unsigned flags) {
  return fails_at(RENAME, into, to) ? -1 : REAL(renameat2)(at, from, into, to, flags);
}

int mkdir(const char *path, mode_t mode) {
  return fails_at(CHANGE, AT_FDCWD, path) ? -1 : REAL(mkdir)(path, mode);
}
int unlink(const char *path) {
  return fails_at(CHANGE, AT_FDCWD, path) ? -1 : REAL(unlink)(path);
}

/* The clock of SQLite and of Python. */
int clock_gettime(clockid_t clock, struct timespec *now) {
  int failed = REAL(clock_gettime)(clock, now);
  if (control != NULL && clock == CLOCK_REALTIME) now->tv_sec += control->ahead;
  return failed;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  int failed = REAL(gettimeofday)(now, zone);
  if (control != NULL) now->tv_sec += control->ahead;
  return failed;
}

#define CHANGES(flags) (((flags) & O_ACCMODE) != O_RDONLY || ((flags) & O_CREAT))
#define MODE_OF(flags)                                \
  mode_t mode = 0;                                    \
  if ((flags) & (O_CREAT | __O_TMPFILE)) {            \
    va_list rest;                                     \
    va_start(rest, flags);                            \
    mode = (mode_t)va_arg(rest, int);                 \
    va_end(rest);                                     \
  }

int open(const char *path, int flags, ...) {
  MODE_OF(flags)
  return fails_if(OPEN, AT_FDCWD, path, CHANGES(flags)) ? -1 : REAL(open)(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  MODE_OF(flags)
  return fails_if(OPEN, AT_FDCWD, path, CHANGES(flags)) ? -1 : REAL(open64)(path, flags, mode);
}
int openat(int at, const char *path, int flags, ...) {
  MODE_OF(flags)
  return fails_if(OPEN, at, path, CHANGES(flags)) ? -1 : REAL(openat)(at, path, flags, mode);
}
int openat64(int at, const char *path, int flags, ...) {
  MODE_OF(flags)
  return fails_if(OPEN, at, path, CHANGES(flags)) ? -1 : REAL(openat64)(at, path, flags, mode);
}
FILE *fopen(const char *path, const char *mode) {
  return fails_at(OPEN, AT_FDCWD, path) ? NULL : REAL(fopen)(path, mode);
}
FILE *fopen64(const char *path, const char *mode) {
  return fails_at(OPEN, AT_FDCWD, path) ? NULL : REAL(fopen64)(path, mode);
}
