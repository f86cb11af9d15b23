// SPDX-License-Identifier: Apache-2.0
#include "ufm_follow.h"
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_key(const struct ufm_key *key, FILE *file)
{
    const bool index0 = key->count > 0 && key->members[0].index0;
    if (key->count == 0)
        return;
    fprintf(file, "key%04x=0x%04x%s%s :\n", key->pkey, key->pkey, index0 ? ",indx0" : "",
            key->ipoib ? ",ipoib" : "");
    for (size_t i = 0; i < key->count; i++)
        fprintf(file, "\t0x%016" PRIx64 "=%s%s\n", key->members[i].guid,
                key->members[i].is_full ? "full" : "limited", i + 1 < key->count ? "," : " ;");
}

static void write_all(const struct ufm_model *model, FILE *file)
{
    fputs("# Written by ufm-standin.\nDefault=0x7fff :\n\tALL=limited,\n\tSELF=full", file);
    for (size_t i = 0; i < model->default_count; i++)
        fprintf(file, ",\n\t0x%016" PRIx64 "=full", model->default_full[i]);
    fputs(" ;\n", file);
    for (size_t i = 0; i < model->count; i++)
        write_key(&model->keys[i], file);
}

void ufm_follow_write(const struct ufm_model *model, const char *partitions)
{
    char path[PATH_MAX];
    if (!partitions)
        return;
    snprintf(path, sizeof path, "%s.new", partitions);
    FILE *file = fopen(path, "we");
    if (file)
        write_all(model, file);
    if (!file || fclose(file) != 0 || rename(path, partitions) < 0) {
        fprintf(stderr, "ufm-standin: writing %s: %m\n", partitions);
        exit(1);
    }
}

/* One that has just been started would die of it. */
static bool catches_sighup(int pid)
{
    char path[64], line[256];
    unsigned long long caught = 0;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "SigCgt: %llx", &caught) == 1)
            break;
    if (file)
        fclose(file);
    return caught & 1ULL << (SIGHUP - 1);
}

static void tell(const char *pid_file)
{
    int pid = 0;
    FILE *file = fopen(pid_file, "re");
    if (!file)
        return;
    if (fscanf(file, "%d", &pid) == 1 && pid > 1 && catches_sighup(pid))
        kill(pid, SIGHUP);
    fclose(file);
}

void ufm_follow_tell(const char *pid_files)
{
    char names[PATH_MAX], *place = NULL;
    snprintf(names, sizeof names, "%s", pid_files ? pid_files : "");
    for (char *name = strtok_r(names, ",", &place); name; name = strtok_r(NULL, ",", &place))
        tell(name);
}
