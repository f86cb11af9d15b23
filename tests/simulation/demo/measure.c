// SPDX-License-Identifier: Apache-2.0
/* Who reaches whom: the maps as the hosts' adapters have them, the tables as the ports have them,
 * and the subnet administrator's answers. */
#include "../lab_node.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "stage.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PROGRAM_TIMEOUT_MS 60000
#define PROGRAM_KEPT_MS 20000 /* somebody may have ended ibsim, and waits at a terminal */
#define GUID_PATIENCE_MS 20000
#define VM_GUIDS (UINT64_C(2) << 56) /* 02 SS SS VV VV VV VV NN: core/ib/guid.h */

/* By host and VF. */
struct owners {
    struct {
        bool is_claimed;
        uint32_t vm;
        unsigned nic;
    } items[DEMO_HOSTS][DEMO_VFS_PER_HOST];
};

static int read_owners(struct demo_stage *stage, struct owners *owners, struct oneib_error *err)
{
    *owners = (struct owners){0};
    for (size_t host = 0; host < DEMO_HOSTS; host++) {
        struct lab_node_claim claims[LAB_NODE_CLAIMS];
        size_t count;
        if (lab_node_claims(stage->lab, host, claims, &count, err) < 0)
            return -1;
        for (size_t i = 0; i < count; i++) {
            if (claims[i].vf >= DEMO_VFS_PER_HOST)
                return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "host %zu has no VF %u", host,
                                  claims[i].vf);
            owners->items[host][claims[i].vf].is_claimed = true;
            owners->items[host][claims[i].vf].vm = claims[i].vm;
            owners->items[host][claims[i].vf].nic = claims[i].nic;
        }
    }
    return 0;
}

/* VFs of one VM, or (NULL) those that nobody of the stage has. */
static void append_vfs(struct demo_stage *stage, const struct owners *owners,
                       const struct demo_vm *vm, bool taken[DEMO_HOSTS][DEMO_VFS_PER_HOST],
                       size_t *count)
{
    for (size_t host = 0; host < DEMO_HOSTS; host++)
        for (unsigned vf = 0; vf < DEMO_VFS_PER_HOST; vf++) {
            const bool is_claimed = owners->items[host][vf].is_claimed;
            if (taken[host][vf] || (vm && (!is_claimed || owners->items[host][vf].vm != vm->id)))
                continue;
            taken[host][vf] = true;
            stage->vfs[(*count)++] = (struct demo_vf){.host = host, .number = vf, .vm = vm};
        }
}

static void order_vfs(struct demo_stage *stage, const struct owners *owners)
{
    bool taken[DEMO_HOSTS][DEMO_VFS_PER_HOST] = {0};
    size_t count = 0;
    for (size_t i = 0; i < stage->vm_count; i++)
        append_vfs(stage, owners, &stage->vms[i], taken, &count);
    stage->used_count = count;
    append_vfs(stage, owners, NULL, taken, &count);
}

static void append_map(const struct lab_node_vf *state, struct oneib_text *text)
{
    for (size_t i = 0; i < state->entries; i++) {
        oneib_text_append(text, i > 0 ? "," : "");
        if (state->map[i] == LAB_NODE_UNMAPPED)
            oneib_text_append(text, "none");
        else
            oneib_text_printf(text, "%u", state->map[i]);
    }
}

/* The first ones tell what there is to tell. */
#define TOLD 10

__attribute__((format(printf, 3, 4))) static void
complain(struct demo_stage *stage, bool is_violation, const char *format, ...)
{
    char what[sizeof stage->first_wrong];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (!*stage->first_wrong || (is_violation && stage->violations == 0))
        snprintf(stage->first_wrong, sizeof stage->first_wrong, "%s", what);
    if (stage->is_kept ? is_violation && stage->violations < TOLD : stage->wrong < TOLD)
        demo_tell(stage, "WRONG: %s\n", what);
    stage->wrong++;
    stage->violations += is_violation;
}

static void complain_of_vf(struct demo_stage *stage, const struct demo_vf *vf, const char *what)
{
    complain(stage, false, "VF %u of host %s, which is %s, %s", vf->number,
             demo_host_name(stage, vf->host),
             vf->vm ? stage->tenants[vf->vm->tenant].name : "nobody's", what);
}

/* Its VM migrates to it, and is not there yet. */
static bool waits(const struct demo_vf *vf)
{
    return vf->vm && vf->vm->moving_to == vf->host;
}

/* A VF is known by its VM's GUID, or not at all; while the VM migrates, on one of its two hosts. */
static void check_guid(struct demo_stage *stage, const struct owners *owners,
                       const struct demo_vf *vf, uint64_t has)
{
    uint64_t guid = 0;
    if (vf->vm)
        guid = VM_GUIDS | (uint64_t)vf->vm->id << 8 | owners->items[vf->host][vf->number].nic;
    if (has != guid && !(waits(vf) && has == 0))
        complain_of_vf(stage, vf, "has not the GUID that it should have");
}

/* By the subnet manager's answers to the host's adapter. */
static void check_vf(struct demo_stage *stage, const struct owners *owners,
                     const struct demo_vf *vf, const struct lab_node_vf *state)
{
    check_guid(stage, owners, vf, state->accepted);
    if (!state->only)
        complain_of_vf(stage, vf, "has a second way out");
}

static int read_guid(struct demo_stage *stage, size_t host, unsigned number, uint64_t *guid,
                     struct oneib_error *err)
{
    struct lab_node_vf state;
    if (stage->is_virtual)
        return lab_node_virtual_guid(stage->lab, host, number, guid, err);
    if (lab_node_vf(stage->lab, host, number, &state, err) < 0)
        return -1;
    *guid = state.accepted;
    return 0;
}

static int has_guid(struct demo_stage *stage, const struct demo_vm *vm, bool *has,
                    struct oneib_error *err)
{
    *has = false;
    for (unsigned number = 0; number < DEMO_VFS_PER_HOST; number++) {
        uint64_t guid;
        if (read_guid(stage, vm->host, number, &guid, err) < 0)
            return -1;
        *has |= guid >> 8 == (VM_GUIDS >> 8 | vm->id);
    }
    return 0;
}

int demo_await_guid(struct demo_stage *stage, const struct demo_vm *vm, struct oneib_error *err)
{
    const double until = oneib_now_ms() + GUID_PATIENCE_MS;
    for (bool has = false; !has; lab_sleep_ms(5)) {
        if (has_guid(stage, vm, &has, err) < 0)
            return -1;
        if (oneib_now_ms() > until)
            return oneib_fail(err, ONEIB_ERROR_TIMEOUT, "VM %u has no VF with its GUID on host %s",
                              vm->id, demo_host_name(stage, vm->host));
    }
    return 0;
}

/* The question for fabric-reach. */
static int write_question(struct demo_stage *stage, const struct owners *owners,
                          struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    for (size_t i = 0; i < DEMO_VFS; i++) {
        const struct demo_vf *vf = &stage->vfs[i];
        struct lab_node_vf state;
        if (stage->is_virtual) { /* number 0 is the physical function */
            oneib_text_printf(&text, "%zu 0x%016" PRIx64 " vport %u\n", i,
                              lab_host_port_guid(stage->lab, vf->host), vf->number + 1);
            continue;
        }
        if (lab_node_vf(stage->lab, vf->host, vf->number, &state, err) < 0)
            return -1;
        if (!stage->is_fenced[vf->host] && !(vf->vm && vf->vm->has_failed))
            check_vf(stage, owners, vf, &state);
        oneib_text_printf(&text, "%zu 0x%016" PRIx64 " map ", i,
                          lab_host_port_guid(stage->lab, vf->host));
        append_map(&state, &text);
        oneib_text_append(&text, "\n");
    }
    return lab_write(stage->lab, "reach.vfs", 0600, text.data, err);
}

/* Ports of fenced hosts are off the fabric. */
static void note_absent(struct demo_stage *stage, size_t row, bool is_absent[DEMO_VFS])
{
    const size_t host = stage->vfs[row].host;
    if (!stage->is_fenced[host] && stage->vfs[row].number == 0)
        complain(stage, false, "the port of host %s does not answer", demo_host_name(stage, host));
    is_absent[row] = true;
}

/* A virtual port that waits for its VM has no GUID yet, and so no key. */
static bool should_reach(const struct demo_stage *stage, const struct demo_vf *a,
                         const struct demo_vf *b)
{
    return a->vm && b->vm && a->vm->tenant == b->vm->tenant &&
           !(stage->is_virtual && (waits(a) || waits(b)));
}

/* Nobody expects to reach it. */
static bool may_fail(const struct demo_vf *vf, bool is_absent)
{
    return is_absent || (vf->vm && vf->vm->has_failed);
}

static void describe(const struct demo_stage *stage, const struct demo_vf *vf, char *text,
                     size_t size)
{
    if (vf->vm)
        snprintf(text, size, "VM %u (%s)", vf->vm->id, stage->tenants[vf->vm->tenant].name);
    else
        snprintf(text, size, "free VF %u of host %s", vf->number, demo_host_name(stage, vf->host));
}

/* One row of the answer: a cell counts as reachable only when tables and SA both say so, and as
 * closed only when neither does. Anything else, and anything that is not as it should be, is wrong.
 */
static void check_row(struct demo_stage *stage, size_t row, const char *tables, const char *sa,
                      const bool is_absent[DEMO_VFS], bool *reach)
{
    const struct demo_vf *a = &stage->vfs[row];
    for (size_t column = 0; column < DEMO_VFS; column++) {
        const struct demo_vf *b = &stage->vfs[column];
        const bool by_tables = tables[column] == '1';
        /* The SA of a simulated fabric knows no virtual ports. */
        const bool by_sa = stage->is_virtual ? by_tables : sa[column] == '1';
        reach[row * DEMO_VFS + column] = by_tables || by_sa;
        stage->pairs++;
        if (by_tables == should_reach(stage, a, b) && by_sa == by_tables)
            continue;
        if (!by_tables && !by_sa && (may_fail(a, is_absent[row]) || may_fail(b, is_absent[column])))
            continue;
        char from[64], to[64], answered[64] = "";
        if (!stage->is_virtual)
            snprintf(answered, sizeof answered, ", by the subnet administrator they do%s",
                     by_sa ? "" : " not");
        describe(stage, a, from, sizeof from);
        describe(stage, b, to, sizeof to);
        complain(stage, by_tables && a->vm && b->vm && a->vm->tenant != b->vm->tenant,
                 "%s and %s must %s each other; by P_Key tables they do%s%s", from, to,
                 should_reach(stage, a, b) ? "reach" : "not reach", by_tables ? "" : " not",
                 answered);
    }
}

static int take_answer(struct demo_stage *stage, const struct owners *owners, char *answer,
                       bool *reach, struct oneib_error *err)
{
    size_t rows = 0, asked = 0, disagreed = 0, vfs = 0, number;
    uint64_t guid;
    char *rest = NULL;
    bool is_absent[DEMO_VFS] = {0};
    for (char *line = strtok_r(answer, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char tables[DEMO_VFS + 8], sa[DEMO_VFS + 8];
        if (sscanf(line, "row %*u %63[01] %63[01]", tables, sa) == 2 &&
            strlen(tables) == DEMO_VFS && strlen(sa) == DEMO_VFS && rows < DEMO_VFS)
            check_row(stage, rows++, tables, sa, is_absent, reach);
        else if (sscanf(line, "absent %zu", &number) == 1 && number < DEMO_VFS)
            note_absent(stage, number, is_absent);
        else if (sscanf(line, "vport %zu %" SCNx64, &number, &guid) == 2 && number == vfs &&
                 vfs < DEMO_VFS)
            check_guid(stage, owners, &stage->vfs[vfs++], guid);
        else if (sscanf(line, "sa %zu %zu", &asked, &disagreed) == 2) {
            stage->queries += asked;
            if (disagreed > 0)
                complain(stage, false,
                         "%zu of the subnet administrator's %zu answers are not what the ports' "
                         "P_Key tables say",
                         disagreed, asked);
        }
    }
    if (rows != DEMO_VFS || (stage->is_virtual ? vfs != DEMO_VFS : asked == 0))
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "fabric-reach answered %zu rows of %d", rows,
                          DEMO_VFS);
    return 0;
}

static int ask(struct demo_stage *stage, const struct owners *owners, bool *reach,
               struct oneib_error *err)
{
    const char *file = lab_path(stage->lab, "reach.vfs");
    struct lab_output output = {0};
    if (lab_run(stage->lab, LAB_SM_HCA, (const char *[]){FABRIC_REACH_BINARY, file, NULL},
                stage->is_kept ? PROGRAM_KEPT_MS : PROGRAM_TIMEOUT_MS, &output, err) < 0)
        return -1;
    int status = output.status == 0
                     ? take_answer(stage, owners, output.out, reach, err)
                     : oneib_fail(err, ONEIB_ERROR_PROTOCOL, "fabric-reach ended with %d: %s",
                                  output.status, output.error);
    lab_output_clear(&output);
    return status;
}

int demo_measure(struct demo_stage *stage, struct oneib_error *err)
{
    struct owners owners;
    const size_t wrong_before = stage->wrong;
    *stage->first_wrong = '\0';
    if (read_owners(stage, &owners, err) < 0)
        return -1;
    order_vfs(stage, &owners);
    if (write_question(stage, &owners, err) < 0 || ask(stage, &owners, stage->reach, err) < 0)
        return -1;
    stage->steps++;
    stage->last_wrong = stage->wrong - wrong_before;
    if (stage->is_kept ? stage->violations == 0 : stage->last_wrong == 0)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "%zu of the checks did not hold: %s",
                      stage->last_wrong, stage->first_wrong);
}
