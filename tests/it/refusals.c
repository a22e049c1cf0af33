/* A system that refuses: loaded before the C library (LD_PRELOAD), it lets calls on files fail as REFUSE says.
 *
 * REFUSE is a list of CALL:ERRNO, parted by commas, with :BYTES behind `write` for what may be written before it.
 *   flock, syncdir (fsync of a directory), link, write
 *   read    opening a file to read it     change  opening a file to write it; making, renaming or removing a name
 * REFUSE_IN is what the paths contain that this is about; all, if it is absent. REFUSE_CLOCK is added to the wall clock, in
 * seconds; with REFUSE_STEP it goes back by so much with each look. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NEXT(name, ...) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))(__VA_ARGS__)
#define REFUSE(what, path) do { if (refuses(what, path, 0)) return -1; } while (0)

static long written;

/* A name below an open directory, with the name that the directory has. */
static const char *resolved(const char *path, char *full, size_t size) {
    char link[64];
    int number, taken = 0;
    if (!path || sscanf(path, "/proc/self/fd/%d%n", &number, &taken) != 1) return path;
    snprintf(link, sizeof link, "/proc/self/fd/%d", number);
    ssize_t length = readlink(link, full, size - 1);
    if (length < 0) return path;
    snprintf(full + length, size - length, "%s", path + taken);
    return full;
}

static int refuses(const char *what, const char *path, long bytes) {
    const char *list = getenv("REFUSE"), *within = getenv("REFUSE_IN");
    char full[8192];
    size_t length = strlen(what);
    if (!list) return 0;
    path = resolved(path, full, sizeof full);
    if (!list || (within && !(path && strstr(path, within)))) return 0;
    for (; list; list = (list = strchr(list, ',')) ? list + 1 : NULL) {
        if (strncmp(list, what, length) || list[length] != ':') continue;
        char *rest;
        long number = strtol(list + length + 1, &rest, 10), allowed = *rest == ':' ? atol(rest + 1) : 0;
        if (bytes && __sync_add_and_fetch(&written, bytes) <= allowed) return 0;
        errno = (int)number;
        return 1;
    }
    return 0;
}

static int refuses_file(const char *what, int file, long bytes) {
    char link[64], path[4096];
    if (!getenv("REFUSE")) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    return refuses(what, path, bytes);
}

static int is_directory(int file) {
    struct stat found;
    return fstat(file, &found) == 0 && S_ISDIR(found.st_mode);
}

static const char *opened(int flags) { return flags & (O_WRONLY | O_RDWR | O_CREAT) ? "change" : "read"; }

#define OPEN(name) int name(const char *path, int flags, ...) { \
    va_list more; va_start(more, flags); int mode = va_arg(more, int); va_end(more); \
    REFUSE(opened(flags), path); return NEXT(name, path, flags, mode); }
#define OPENAT(name) int name(int at, const char *path, int flags, ...) { \
    va_list more; va_start(more, flags); int mode = va_arg(more, int); va_end(more); \
    REFUSE(opened(flags), path); return NEXT(name, at, path, flags, mode); }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

FILE *fopen(const char *path, const char *mode) {
    return refuses(*mode == 'r' ? "read" : "change", path, 0) ? NULL : NEXT(fopen, path, mode);
}
int mkdir(const char *path, mode_t mode) {
    struct stat found;
    if (stat(path, &found) != 0) REFUSE("change", path);
    return NEXT(mkdir, path, mode);
}
int rename(const char *from, const char *to) { REFUSE("change", to); return NEXT(rename, from, to); }
int unlink(const char *path) { REFUSE("change", path); return NEXT(unlink, path); }
int link(const char *from, const char *to) { REFUSE("link", to); return NEXT(link, from, to); }
int linkat(int in, const char *from, int out, const char *to, int flags) {
    REFUSE("link", to);
    return NEXT(linkat, in, from, out, to, flags);
}
int flock(int file, int how) { return refuses_file("flock", file, 0) ? -1 : NEXT(flock, file, how); }
int fsync(int file) { return is_directory(file) && refuses_file("syncdir", file, 0) ? -1 : NEXT(fsync, file); }
int fdatasync(int file) { return is_directory(file) && refuses_file("syncdir", file, 0) ? -1 : NEXT(fdatasync, file); }
ssize_t write(int file, const void *bytes, size_t count) {
    return refuses_file("write", file, (long)count) ? -1 : NEXT(write, file, bytes, count);
}
ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) {
    return refuses_file("write", file, (long)count) ? -1 : NEXT(pwrite, file, bytes, count, at);
}
int clock_gettime(clockid_t clock, struct timespec *now) {
    static long looks;
    const char *shift = getenv("REFUSE_CLOCK"), *step = getenv("REFUSE_STEP");
    int done = NEXT(clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME && shift) now->tv_sec += atol(shift);
    if (clock == CLOCK_REALTIME && step) now->tv_sec -= atol(step) * __sync_add_and_fetch(&looks, 1);
    return done;
}
