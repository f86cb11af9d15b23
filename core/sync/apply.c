// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "fabric/opensm.h"
#include "sync/handover.h"
#include "sync/sync.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* opensm can sleep through a SIGHUP for up to ten seconds (between its check of the flag and a
 * sleep in its main loop), so a reload without effect is repeated, ever more slowly: a large subnet
 * takes its time. */
#define FIRST_PATIENCE_MS 250.0
#define LONGEST_PATIENCE_MS 10000.0

#define FIRST_PAUSE_MS 1.0
#define LONGEST_PAUSE_MS 5.0

/* Of the ports that are still wrong only so many are asked at a time: waiting must not slow down
 * opensm, which is busy programming the very same ports. */
#define PORTS_WATCHED 16

static void pause_ms(double milliseconds)
{
    const long nanoseconds = (long)(milliseconds * 1e6);
    nanosleep(&(struct timespec){nanoseconds / 1000000000, nanoseconds % 1000000000}, NULL);
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* What a reload of opensm can put right. A silent port or a key in the last slot it cannot. */
static bool is_opensms_to_mend(enum oneib_deviation_kind kind)
{
    switch (kind) {
    case ONEIB_KEY_EXCESS:
    case ONEIB_KEY_WIDENED:
    case ONEIB_KEY_ABSENT:
    case ONEIB_KEY_NARROWED:
    case ONEIB_KEY_NOT_FIRST:
        return true;
    case ONEIB_KEY_LAST_SLOT:
    case ONEIB_PORT_SILENT:
        return false;
    }
    return false;
}

struct watch {
    size_t *ports; /* indices into the subnet's ports that are not as they should be */
    size_t count;
    const bool *keys; /* by key: only these have to go, and from everywhere; NULL: all that opensm
                         can mend has to be mended */
};

/* A port whose table cannot be read may still hold a key that has to go. */
static bool is_awaited(const struct watch *watch, const struct oneib_deviation *deviation)
{
    if (!watch->keys)
        return is_opensms_to_mend(deviation->kind);
    return deviation->kind == ONEIB_PORT_SILENT ||
           (deviation->kind == ONEIB_KEY_EXCESS && watch->keys[oneib_pkey_base(deviation->found)]);
}

/* Deviations come by port, so a port's repetitions are neighbours. */
static int find_wrong_ports(const struct oneib_subnet *subnet,
                            const struct oneib_verification *verification, struct watch *watch,
                            struct oneib_error *err)
{
    watch->count = 0;
    free(watch->ports);
    watch->ports = calloc(verification->count + 1, sizeof *watch->ports);
    if (!watch->ports)
        return oneib_fail_memory(err);

    for (size_t i = 0; i < verification->count; i++) {
        const struct oneib_deviation *deviation = &verification->items[i];
        if (!is_awaited(watch, deviation))
            continue;
        const struct oneib_subnet_port *port = oneib_subnet_find(subnet, deviation->port_guid);
        if (!port)
            continue;
        const size_t index = (size_t)(port - subnet->ports);
        if (watch->count == 0 || watch->ports[watch->count - 1] != index)
            watch->ports[watch->count++] = index;
    }
    return 0;
}

static int look_for_wrong_ports(const struct oneib_subnet *subnet,
                                const struct oneib_partition_table *table, struct watch *watch,
                                struct oneib_error *err)
{
    struct oneib_verification verification = {0};
    int result = oneib_subnet_verify(subnet, table, &verification, err);
    if (result == 0)
        result = find_wrong_ports(subnet, &verification, watch, err);
    oneib_verification_clear(&verification);
    return result;
}

static int check_what_was_written(const char *data, size_t length,
                                  const struct oneib_partition_table *meant,
                                  struct oneib_error *err)
{
    struct oneib_partition_table reread = {0};

    int result = oneib_partitions_parse(data, length, "the new partitions file", &reread, err);
    if (result == 0 && !oneib_partition_table_equal(&reread, meant))
        result =
            oneib_fail(err, ONEIB_ERROR_INPUT,
                       "the new partitions file does not say what was meant: it is not put "
                       "into force; please report this with the output of 'oneib plan --json'");
    oneib_partition_table_clear(&reread);
    return result;
}

static int refuse_take_over(const struct oneib_config *config, const struct oneib_view *view,
                            struct oneib_error *err)
{
    if (view->file_state == ONEIB_FILE_FOREIGN)
        return oneib_fail(
            err, ONEIB_ERROR_REFUSED,
            "%s was not written by oneib: look at 'oneib plan', move what must stay to "
            "%s, then take it over with 'oneib sync --force'",
            config->opensm.partitions, config->opensm.fragment);
    if (view->file_state == ONEIB_FILE_UNREADABLE)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "%s: look at it, then replace it with 'oneib sync --force'",
                          view->file_error.text);
    return 0;
}

/* One step of putting into force, and what it has to work with. */
struct step {
    const struct oneib_config *config;
    struct oneib_fabric *fabric;
    struct oneib_view *view;
    struct oneib_apply_result *result;
};

/* An operator's edit, or the newer file of another oneib, must not be lost to this older view. */
static int check_that_nobody_else_wrote(const struct step *step, struct oneib_error *err)
{
    const char *path = step->config->opensm.partitions;
    const struct oneib_view *view = step->view;
    oneib_autofree char *data = NULL;
    size_t length = 0;
    struct oneib_error failure = {0};

    const bool read = oneib_file_read(path, view->file_length, &data, &length, &failure) == 0;
    if (read && view->file_data && length == view->file_length &&
        memcmp(data, view->file_data, length) == 0)
        return 0;
    if (!read && failure.code == ONEIB_ERROR_NOT_FOUND && !view->file_data)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "%s is not what it was when it was looked at: somebody else writes it too; "
                      "look at 'oneib plan' and try again",
                      path);
}

struct writing {
    const struct step *step;
    const struct oneib_partition_table *table;
};

static int check_before_rename(const char *data, size_t length, void *context,
                               struct oneib_error *err)
{
    const struct writing *writing = context;
    if (check_what_was_written(data, length, writing->table, err) < 0)
        return -1;
    return check_that_nobody_else_wrote(writing->step, err);
}

static int write_table(const struct step *step, const struct oneib_partition_table *table,
                       const struct oneib_text *rendered, struct oneib_error *err)
{
    struct writing writing = {step, table};
    return oneib_file_replace(step->config->opensm.partitions, rendered->data, rendered->length,
                              0644, check_before_rename, &writing, err);
}

static int reload(const struct step *step, struct oneib_error *err)
{
    if (oneib_opensm_reload(step->config, err) < 0)
        return -1;
    step->result->reloads++;
    return 0;
}

/*
 * Waits until no port is wrong, or until the time is over; watch->count says which. The watched
 * ports are the first of those still wrong: once they are right, a look at the whole of what is
 * held here finds the next ones.
 */
static int await_ports(const struct step *step, const struct oneib_partition_table *table,
                       struct watch *watch, struct oneib_error *err)
{
    const double deadline = oneib_now_ms() + (double)step->config->opensm.apply_timeout_ms;
    double patience = FIRST_PATIENCE_MS;
    double next_reload = oneib_now_ms() + patience;
    double pause = FIRST_PAUSE_MS;

    while (watch->count > 0 && oneib_now_ms() < deadline) {
        pause_ms(pause);
        pause = smaller(pause * 1.2, LONGEST_PAUSE_MS);

        const size_t before = watch->count;
        const size_t watched = before < PORTS_WATCHED ? before : PORTS_WATCHED;
        if (oneib_fabric_read_tables(step->fabric, &step->view->subnet, watch->ports, watched,
                                     err) < 0 ||
            look_for_wrong_ports(&step->view->subnet, table, watch, err) < 0)
            return -1;
        if (watch->count < before)
            pause = FIRST_PAUSE_MS;

        if (watch->count > 0 && oneib_now_ms() >= next_reload) {
            if (reload(step, err) < 0)
                return -1;
            patience = smaller(patience * 2, LONGEST_PATIENCE_MS);
            next_reload = oneib_now_ms() + patience;
        }
    }
    return 0;
}

static int read_fabric_again(const struct step *step, struct oneib_error *err)
{
    struct oneib_subnet subnet = {0};
    if (oneib_fabric_read(step->fabric, &subnet, err) < 0)
        return oneib_wrap(err, "verifying the fabric after the reload");
    oneib_subnet_clear(&step->view->subnet);
    step->view->subnet = subnet;
    return 0;
}

/* Writes `first`, which lacks the partitions whose keys change hands. */
static int write_first(const struct step *step, const struct oneib_partition_table *first,
                       struct oneib_error *err)
{
    oneib_autotext struct oneib_text rendered = {0};
    oneib_partitions_render(first, &rendered);
    if (oneib_text_failed(&rendered))
        return oneib_fail_memory(err);
    if (write_table(step, first, &rendered, err) < 0)
        return -1;
    free(step->view->file_data);
    step->view->file_length = rendered.length;
    step->view->file_data = oneib_steal(&rendered.data);
    return 0;
}

static int still_held(const struct step *step, const struct watch *watch, struct oneib_error *err)
{
    const struct oneib_subnet_port *port = &step->view->subnet.ports[watch->ports[0]];
    char guid[ONEIB_GUID_TEXT_SIZE];
    oneib_guid_format(port->guid, guid);
    return oneib_fail(
        err, ONEIB_ERROR_TIMEOUT,
        "taking away P_Keys that change hands: port %s %s, so their new clusters stay "
        "closed; see 'oneib verify'",
        guid, port->answered ? "still holds what it should not" : "does not say what it holds");
}

/*
 * Waits until the old ports lost their keys. The verdict is a new reading of the whole fabric: a
 * port that came meanwhile counts as well. One that has left it does not, for opensm writes a
 * port's table before it lets the port in.
 */
static int await_loss(const struct step *step, const struct oneib_partition_table *first,
                      struct watch *watch, struct oneib_error *err)
{
    if (await_ports(step, first, watch, err) < 0 || read_fabric_again(step, err) < 0 ||
        look_for_wrong_ports(&step->view->subnet, first, watch, err) < 0)
        return -1;
    return watch->count > 0 ? still_held(step, watch, err) : 0;
}

static int take_away(const struct step *step, const struct oneib_handover *handover,
                     struct oneib_error *err)
{
    struct watch watch = {.keys = handover->keys};
    int status = look_for_wrong_ports(&step->view->subnet, &handover->first, &watch, err);
    if (status == 0)
        status = write_first(step, &handover->first, err);
    if (status == 0)
        status = reload(step, err);
    if (status == 0)
        status = await_loss(step, &handover->first, &watch, err);
    free(watch.ports);
    return status;
}

static int hand_over_keys(const struct step *step, struct oneib_error *err)
{
    const struct oneib_view *view = step->view;
    struct oneib_handover handover;
    if (oneib_handover_make(&view->in_force, &view->desired.table, &view->subnet, &handover, err) <
        0)
        return -1;
    int status = handover.left_out > 0 ? take_away(step, &handover, err) : 0;
    oneib_handover_clear(&handover);
    return status;
}

static int verify_everything(const struct step *step, struct oneib_error *err)
{
    if (read_fabric_again(step, err) < 0)
        return -1;
    return oneib_subnet_verify(&step->view->subnet, &step->view->desired.table,
                               &step->result->verification, err);
}

static int write_and_wait(const struct step *step, bool wait, struct oneib_error *err)
{
    const struct oneib_view *view = step->view;
    struct watch watch = {0};
    int status = look_for_wrong_ports(&view->subnet, &view->desired.table, &watch, err);
    if (status == 0 && view->changed)
        status = write_table(step, &view->desired.table, &view->rendered, err);
    if (status == 0)
        status = reload(step, err);
    if (status == 0 && wait)
        status = await_ports(step, &view->desired.table, &watch, err);
    free(watch.ports);
    return status;
}

static int put_into_force(const struct step *step, struct oneib_error *err)
{
    enum oneib_sm_state sm;
    if (oneib_fabric_local_sm(step->fabric, &sm, err) < 0)
        return -1;
    const bool standby = sm == ONEIB_SM_STANDBY;

    const double start = oneib_now_ms();
    if (!standby && step->view->changed && hand_over_keys(step, err) < 0)
        return -1;
    if (write_and_wait(step, !standby, err) < 0)
        return -1;
    step->result->outcome = standby ? ONEIB_STANDBY : ONEIB_APPLIED;
    step->result->in_force_ms = standby ? 0 : oneib_now_ms() - start;
    return verify_everything(step, err);
}

static bool needs_opensm(const struct oneib_verification *verification)
{
    for (size_t i = 0; i < verification->count; i++)
        if (is_opensms_to_mend(verification->items[i].kind))
            return true;
    return false;
}

int oneib_apply(const struct oneib_config *config, struct oneib_fabric *fabric,
                struct oneib_view *view, bool force, struct oneib_apply_result *result,
                struct oneib_error *err)
{
    *result = (struct oneib_apply_result){0};
    if (!view->subnet_known) {
        *err = view->subnet_error;
        return oneib_wrap(err, "nothing is written while the fabric cannot be read");
    }
    if (!force && refuse_take_over(config, view, err) < 0)
        return -1;

    int status =
        oneib_subnet_verify(&view->subnet, &view->desired.table, &result->verification, err);
    if (status == 0 && !view->changed && !needs_opensm(&result->verification)) {
        result->outcome = ONEIB_UNCHANGED;
    } else if (status == 0) {
        oneib_verification_clear(&result->verification);
        const struct step step = {config, fabric, view, result};
        status = put_into_force(&step, err);
    }
    if (status < 0)
        oneib_apply_result_clear(result);
    return status;
}

void oneib_apply_result_clear(struct oneib_apply_result *result)
{
    oneib_verification_clear(&result->verification);
    *result = (struct oneib_apply_result){0};
}
