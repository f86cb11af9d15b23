// SPDX-License-Identifier: Apache-2.0
#include "base/memory_file.h"
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

static int write_all(int fd, const char *content, size_t length)
{
    for (size_t done = 0; done < length;) {
        const ssize_t written = write(fd, content + done, length - done);
        if (written < 0 && errno != EINTR)
            return -1;
        done += written < 0 ? 0 : (size_t)written;
    }
    return lseek(fd, 0, SEEK_SET) < 0 ? -1 : 0;
}

int oneib_memory_file(const char *content, size_t length)
{
    const int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0 || write_all(fd, content, length) == 0)
        return fd;
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
}
