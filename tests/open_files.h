// SPDX-License-Identifier: Apache-2.0
/* What a program has open: whatever is opened by what is tested is to be closed by it. */
#ifndef ONEIB_TEST_OPEN_FILES_H
#define ONEIB_TEST_OPEN_FILES_H

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* Descriptors of this process, and always the same number more. */
static inline size_t count_open_files(void)
{
    size_t count = 0;
    DIR *files = opendir("/proc/self/fd");
    if (!files) {
        perror("/proc/self/fd");
        abort();
    }
    while (readdir(files))
        count++;
    closedir(files);
    return count;
}

#endif
