// Stands before the C library's fdatasync() and leaves the length that a file had when it was last
// synced beside it, in FILE.synced: what of it a loss of power leaves at least.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int fdatasync(int descriptor) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  struct stat before;
  char link[64], path[4096 + 8];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, 4096);
  const int known = fstat(descriptor, &before) == 0 && length > 0;
  const int result = real(descriptor);
  if (known && result == 0) {
    snprintf(path + length, 8, ".synced");
    const int out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dprintf(out, "%lld", (long long)before.st_size);
    close(out);
  }
  return result;
}
