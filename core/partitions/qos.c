// SPDX-License-Identifier: Apache-2.0
#include "partitions/qos.h"
#include "ib/ipoib.h"
#include <string.h>

/* ---- lanes ----------------------------------------------------------------------------------- */

static size_t class_of(const struct oneib_qos_wish *wish, unsigned sl)
{
    for (size_t i = 0; i < wish->class_count; i++)
        if (wish->classes[i].sls & 1u << sl)
            return i;
    return ONEIB_QOS_NO_CLASS;
}

static int add_lane(const struct oneib_qos_wish *wish, unsigned sl, size_t class_index,
                    struct oneib_qos *qos, struct oneib_error *err)
{
    const uint8_t weight = sl == 0 ? wish->others : wish->classes[class_index].weight;
    if (weight == 0)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "SL %u has a weight of 0: it would never send",
                          sl);
    if (qos->lane_count == wish->vls || qos->lane_count == wish->entries ||
        qos->lane_count == ONEIB_QOS_LANES)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "SL %u has no lane left: there are %u lanes and %u entries in the "
                          "arbitration tables",
                          sl, wish->vls, wish->entries);
    const uint8_t vl = (uint8_t)qos->lane_count;
    qos->lanes[qos->lane_count++] = (struct oneib_qos_lane){
        .sl = (uint8_t)sl, .vl = vl, .weight = weight, .entries = 1, .class_index = class_index};
    qos->sl2vl[sl] = vl;
    return 0;
}

static int make_lanes(const struct oneib_qos_wish *wish, struct oneib_qos *qos,
                      struct oneib_error *err)
{
    if (add_lane(wish, 0, ONEIB_QOS_NO_CLASS, qos, err) < 0)
        return -1;
    for (unsigned sl = 1; sl < ONEIB_QOS_SLS; sl++) {
        const size_t class_index = class_of(wish, sl);
        if (class_index != ONEIB_QOS_NO_CLASS) {
            if (add_lane(wish, sl, class_index, qos, err) < 0)
                return -1;
        } else if (wish->drop_unused && !(wish->kept & 1u << sl)) {
            qos->sl2vl[sl] = ONEIB_QOS_DROP;
        }
    }
    return 0;
}

/* ---- the arbitration table ------------------------------------------------------------------- */

/* The lane whose entries are the heaviest, and can be made lighter: others wait for these longest.
 * NULL: each has a weight of 1. */
static struct oneib_qos_lane *heaviest(struct oneib_qos *qos)
{
    struct oneib_qos_lane *found = NULL;
    for (size_t i = 0; i < qos->lane_count; i++) {
        struct oneib_qos_lane *lane = &qos->lanes[i];
        if (lane->entries < lane->weight &&
            (!found || lane->weight * found->entries > found->weight * lane->entries))
            found = lane;
    }
    return found;
}

static void share_entries(struct oneib_qos *qos, size_t entries)
{
    struct oneib_qos_lane *lane;
    qos->entry_count = qos->lane_count;
    while (qos->entry_count < entries && (lane = heaviest(qos))) {
        lane->entries++;
        qos->entry_count++;
    }
}

/* The weight of the entry with this number of a lane: all together they are the lane's. */
static uint8_t part_of(const struct oneib_qos_lane *lane, unsigned number)
{
    return (uint8_t)(lane->weight * (number + 1) / lane->entries -
                     lane->weight * number / lane->entries);
}

/* Smooth weighted round robin: whose turn is longest due comes next, so that entries of one lane
 * lie as far apart as they can. */
static void place_entries(struct oneib_qos *qos)
{
    long due[ONEIB_QOS_LANES] = {0};
    unsigned placed[ONEIB_QOS_LANES] = {0};
    for (size_t at = 0; at < qos->entry_count; at++) {
        size_t next = 0;
        for (size_t i = 0; i < qos->lane_count; i++) {
            due[i] += qos->lanes[i].entries;
            if (due[i] > due[next])
                next = i;
        }
        due[next] -= (long)qos->entry_count;
        qos->arbitration[at] = (struct oneib_qos_entry){
            .vl = qos->lanes[next].vl, .weight = part_of(&qos->lanes[next], placed[next]++)};
    }
}

int oneib_qos_make(const struct oneib_qos_wish *wish, struct oneib_qos *qos,
                   struct oneib_error *err)
{
    *qos = (struct oneib_qos){.vls = wish->vls, .policy_file = wish->policy_file};
    if (wish->class_count == 0)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "there are no classes");
    if (make_lanes(wish, qos, err) < 0)
        return -1;
    share_entries(qos,
                  wish->entries < ONEIB_QOS_ENTRIES_MAX ? wish->entries : ONEIB_QOS_ENTRIES_MAX);
    place_entries(qos);
    return 0;
}

/* ---- promises -------------------------------------------------------------------------------- */

/* What an entry of another lane sends at most: its last packet begins while weight is left. */
static uint32_t most_of(const struct oneib_qos_entry *entry, uint32_t packet)
{
    return (uint32_t)entry->weight * ONEIB_QOS_UNIT + packet;
}

/* Twice round, so that the row that goes over the table's end is seen too. */
static uint32_t longest_row_of_others(const struct oneib_qos *qos, uint8_t vl, uint32_t packet)
{
    uint32_t row = 0, longest = 0;
    for (size_t i = 0; i < 2 * qos->entry_count; i++) {
        const struct oneib_qos_entry *entry = &qos->arbitration[i % qos->entry_count];
        row = entry->vl == vl ? 0 : row + most_of(entry, packet);
        if (row > longest)
            longest = row;
    }
    return longest;
}

struct oneib_qos_promise oneib_qos_promise(const struct oneib_qos *qos, size_t lane, unsigned mtu)
{
    const uint8_t vl = qos->lanes[lane].vl;
    const uint32_t packet = mtu + ONEIB_QOS_HEADERS;
    uint32_t own = 0, all = 0, most_of_others = 0;
    for (size_t i = 0; i < qos->entry_count; i++) {
        const struct oneib_qos_entry *entry = &qos->arbitration[i];
        all += entry->weight;
        if (entry->vl == vl)
            own += entry->weight;
        else
            most_of_others += most_of(entry, packet);
    }
    const double own_bytes = (double)own * ONEIB_QOS_UNIT;
    return (struct oneib_qos_promise){
        .share = (double)own / all,
        .at_least = own_bytes / (own_bytes + most_of_others),
        .wait_bytes = longest_row_of_others(qos, vl, packet) + packet,
    };
}

/* SDR, DDR and QDR, one to twelve lanes wide: 8 of 10 bits (IBA 1.2.1, volume 2, 5.2). */
static bool is_8_of_10(unsigned gbps)
{
    static const uint8_t rates[] = {2, 5, 10, 20, 30, 40, 60, 80, 120};
    return memchr(rates, (int)gbps, sizeof rates) != NULL;
}

double oneib_qos_data_gbps(uint8_t rate)
{
    const unsigned gbps = oneib_rate_gbps(rate);
    if (gbps == 0)
        return 0;
    if (gbps > 120 || !is_8_of_10(gbps))
        return gbps * 64.0 / 66.0;
    return (gbps == 2 ? 2.5 : gbps) * 0.8;
}

/* ---- SLs of networks ------------------------------------------------------------------------- */

uint8_t oneib_qos_choose(const struct oneib_qos_class *qos_class, const size_t used[ONEIB_QOS_SLS])
{
    uint8_t chosen = 0;
    for (uint8_t sl = 1; sl < ONEIB_QOS_SLS; sl++)
        if (qos_class->sls & 1u << sl && (chosen == 0 || used[sl] < used[chosen]))
            chosen = sl;
    return chosen;
}

const struct oneib_qos_class *oneib_qos_find(const struct oneib_qos_class *classes, size_t count,
                                             const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(classes[i].name, name) == 0)
            return &classes[i];
    return NULL;
}

/* ---- opensm.conf ----------------------------------------------------------------------------- */

static void render_sl2vl(const struct oneib_qos *qos, struct oneib_text *text)
{
    for (size_t sl = 0; sl < ONEIB_QOS_SLS; sl++)
        oneib_text_printf(text, "%s%u", sl ? "," : "", qos->sl2vl[sl]);
}

static void render_arbitration(const struct oneib_qos *qos, struct oneib_text *text)
{
    for (size_t i = 0; i < qos->entry_count; i++)
        oneib_text_printf(text, "%s%u:%u", i ? "," : "", qos->arbitration[i].vl,
                          qos->arbitration[i].weight);
}

/* As opensm names its options: of adapters, of switches' port 0, of switches' other ports, of
 * routers (opensm, osm_subnet.c). */
void oneib_qos_render(const struct oneib_qos *qos, struct oneib_text *text)
{
    static const char *const kinds[] = {"ca", "sw0", "swe", "rtr"};
    oneib_text_append(text, "qos TRUE\nsm_sl 0\n");
    if (qos->policy_file)
        oneib_text_printf(text, "qos_policy_file %s\n", qos->policy_file);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        oneib_text_printf(text, "qos_%s_max_vls %u\nqos_%s_high_limit 0\n", kinds[i], qos->vls,
                          kinds[i]);
        oneib_text_printf(text, "qos_%s_vlarb_high 0:0\nqos_%s_vlarb_low ", kinds[i], kinds[i]);
        render_arbitration(qos, text);
        oneib_text_printf(text, "\nqos_%s_sl2vl ", kinds[i]);
        render_sl2vl(qos, text);
        oneib_text_append(text, "\n");
    }
}
