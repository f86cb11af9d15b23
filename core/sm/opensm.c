// SPDX-License-Identifier: Apache-2.0
/* A subnet manager that reads partitions.conf, and reads it again at SIGHUP: opensm, and
 * NVIDIA's. */
#include "base/cleanup.h"
#include "base/file.h"
#include "base/memory.h"
#include "fabric/opensm_process.h"
#include "sm/sm_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 100,000 members take about 3 MB; a file of opensm's that is larger than this is not one. */
#define PARTITIONS_MAX_SIZE ((size_t)256 << 20)
#define MODE 0644

static const char *place(const struct oneib_sm *sm)
{
    return sm->config->opensm.partitions;
}

/* ---- looking --------------------------------------------------------------------------------- */

/* opensm makes everybody a full member then, as if it could not read the file. */
static void defines_nothing(const char *path, struct oneib_seen *seen)
{
    seen->state = ONEIB_SEEN_UNREADABLE;
    oneib_fail(&seen->error, ONEIB_ERROR_INPUT, "%s defines no partition", path);
}

static int look(struct oneib_sm *sm, struct oneib_seen *seen, struct oneib_error *err)
{
    const char *path = place(sm);
    sm->stamp = oneib_stamp_of(path);
    oneib_policy_stamp(sm);
    if (oneib_file_read(path, PARTITIONS_MAX_SIZE, &seen->data, &seen->length, err) < 0) {
        if (err->code == ONEIB_ERROR_NOT_FOUND)
            return 0;
        return oneib_wrap(err, "reading opensm's partitions");
    }
    if (oneib_partitions_parse(seen->data, seen->length, path, &seen->table, &seen->error) < 0)
        seen->state = ONEIB_SEEN_UNREADABLE;
    else if (oneib_partitions_is_ours(seen->data, seen->length))
        seen->state = ONEIB_SEEN_OURS;
    else if (seen->table.count == 0)
        defines_nothing(path, seen);
    else
        seen->state = ONEIB_SEEN_FOREIGN;
    return 0;
}

static bool has_news(struct oneib_sm *sm)
{
    const struct oneib_stamp now = oneib_stamp_of(place(sm));
    return !oneib_stamp_equal(&now, &sm->stamp) || oneib_policy_has_news(sm);
}

static int refuse(const struct oneib_sm *sm, const struct oneib_seen *seen, struct oneib_error *err)
{
    if (seen->state == ONEIB_SEEN_FOREIGN)
        return oneib_fail(
            err, ONEIB_ERROR_REFUSED,
            "%s was not written by oneib: look at 'oneib plan', move what must stay to "
            "%s, then take it over with 'oneib sync --force'",
            place(sm), sm->config->opensm.static_partitions);
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "%s: look at it, then replace it with 'oneib sync --force'",
                      seen->error.text);
}

static void settle(struct oneib_sm *sm, struct oneib_seen *seen,
                   struct oneib_partition_table *wanted, struct oneib_findings *findings)
{
    (void)seen;
    (void)wanted;
    oneib_policy_settle(sm, findings);
}

/* ---- telling --------------------------------------------------------------------------------- */

/* A file that is there while the partitions are not known to be opensm's: whoever put them in place
 * could not tell it, or was killed before. Ports that all are right prove nothing: a change may
 * concern one that is off the fabric, or a partition's flags. */
static char *untold(const struct oneib_sm *sm)
{
    return oneib_path_beside(place(sm), "untold");
}

static bool is_told(const struct oneib_sm *sm)
{
    oneib_autofree char *path = untold(sm);
    return access(path, F_OK) < 0;
}

static int begin_to_tell(const struct oneib_sm *sm, struct oneib_error *err)
{
    oneib_autofree char *path = untold(sm);
    oneib_autoclose int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, MODE);
    return fd < 0 && errno != EEXIST ? oneib_fail_errno(err, errno, "making %s", path) : 0;
}

static int nudge(struct oneib_sm *sm, unsigned *nudges, struct oneib_error *err)
{
    oneib_autofree char *path = untold(sm);
    if (oneib_opensm_reload(sm->config, err) < 0)
        return -1;
    ++*nudges;
    (void)unlink(path);
    return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void render(const struct oneib_sm *sm, const struct oneib_partition_table *wanted,
                   struct oneib_text *text)
{
    (void)sm;
    oneib_partitions_render(wanted, text);
}

static bool is_put(const struct oneib_sm *sm, const struct oneib_seen *seen,
                   const struct oneib_sm_put *what)
{
    return seen->data && seen->length == what->text->length &&
           memcmp(seen->data, what->text->data, seen->length) == 0 &&
           oneib_policy_is_put(sm, what->wanted);
}

struct writing {
    struct oneib_sm *sm;
    const struct oneib_sm_put *put;
    const struct oneib_seen *seen;
    unsigned *nudges;
    int told;
    struct oneib_error why_not_told;
};

static int check_what_was_written(const char *data, size_t length,
                                  const struct oneib_partition_table *meant,
                                  struct oneib_error *err)
{
    oneib_autopartitions struct oneib_partition_table reread = {0};

    if (oneib_partitions_parse(data, length, "the new partitions file", &reread, err) < 0)
        return -1;
    if (oneib_partition_table_equal(&reread, meant))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_INPUT,
                      "the new partitions file is not what was to be written: it is not put into "
                      "force; please report this with the output of 'oneib plan --json'");
}

/* An operator's edit, or the newer file of another oneib, must not be lost to this older snapshot.
 */
static int check_that_nobody_else_wrote(const struct oneib_sm *sm, const struct oneib_seen *seen,
                                        struct oneib_error *err)
{
    oneib_autofree char *data = NULL;
    size_t length = 0;
    struct oneib_error failure = {0};

    const bool read = oneib_file_read(place(sm), seen->length, &data, &length, &failure) == 0;
    if (read && seen->data && length == seen->length && memcmp(data, seen->data, length) == 0)
        return 0;
    if (!read && failure.code == ONEIB_ERROR_NOT_FOUND && !seen->data)
        return 0;
    return oneib_fail(
        err, ONEIB_ERROR_REFUSED,
        "%s was changed since it was read, by another program: see 'oneib plan' and try again",
        place(sm));
}

static int check_before_rename(const char *data, size_t length, void *context,
                               struct oneib_error *err)
{
    const struct writing *writing = context;
    if (check_what_was_written(data, length, writing->put->wanted, err) < 0 ||
        check_that_nobody_else_wrote(writing->sm, writing->seen, err) < 0)
        return -1;
    return begin_to_tell(writing->sm, err);
}

/* The stamp is taken now, and not when all ports have it: what somebody writes meanwhile is to be
 * noticed. opensm reads the policy when it is told, too; where the partitions could not be put in
 * place, those before keep theirs. */
static void tell_when_in_place(void *context)
{
    struct writing *writing = context;
    writing->sm->stamp = oneib_stamp_of(place(writing->sm));
    oneib_policy_put(writing->sm, writing->put->wanted);
    writing->told = nudge(writing->sm, writing->nudges, &writing->why_not_told);
}

/* opensm is told as soon as the file is there; that the rename reaches the disk it need not await.
 */
static int put(struct oneib_sm *sm, const struct oneib_sm_put *what, struct oneib_seen *seen,
               unsigned *nudges, struct oneib_error *err)
{
    const struct oneib_text *text = what->text;
    oneib_autofree char *kept = oneib_alloc(text->length + 1, 1);
    memcpy(kept, text->data, text->length);
    kept[text->length] = '\0';

    struct writing writing = {.sm = sm, .put = what, .seen = seen, .nudges = nudges};
    const struct oneib_file_steps steps = {check_before_rename, tell_when_in_place, &writing};
    if (oneib_file_replace_in_steps(place(sm), text->data, text->length, MODE, &steps, err) < 0)
        return -1;
    free(seen->data);
    seen->data = oneib_steal(&kept);
    seen->length = text->length;
    if (writing.told < 0)
        *err = writing.why_not_told;
    return writing.told;
}

/* The fabric follows the master's file alone. */
static int leads(struct oneib_sm *sm, struct oneib_fabric *fabric, bool *master,
                 struct oneib_error *err)
{
    enum oneib_sm_state state;
    (void)sm;
    if (oneib_fabric_local_sm(fabric, &state, err) < 0)
        return -1;
    *master = state != ONEIB_SM_STANDBY;
    return 0;
}

const struct oneib_sm_way oneib_sm_opensm = {.close = oneib_policy_close,
                                             .settle = settle,
                                             .look = look,
                                             .has_news = has_news,
                                             .render = render,
                                             .is_put = is_put,
                                             .is_told = is_told,
                                             .put = put,
                                             .nudge = nudge,
                                             .leads = leads,
                                             .refuse = refuse,
                                             .place = place};
