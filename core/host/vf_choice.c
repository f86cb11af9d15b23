// SPDX-License-Identifier: Apache-2.0
#include "host/vf_choice.h"
#include "base/order.h"
#include "base/text.h"
#include <stdlib.h>

#define USES (ONEIB_VF_UNKNOWN + 1)

struct use_words {
    const char *name;
    const char *counted; /* follows a number */
};

static const struct use_words words[USES] = {
    [ONEIB_VF_FREE] = {"free", "free just now"},
    [ONEIB_VF_RESERVED] = {"reserved", "reserved"},
    [ONEIB_VF_DOMAIN] = {"domain", "of libvirt domains"},
    [ONEIB_VF_HOST] = {"host", "the host's own"},
    [ONEIB_VF_NOT_CLOSED] = {"not closed", "left over and not closed"},
    [ONEIB_VF_ETHERNET] = {"ethernet", "with an Ethernet port"},
    [ONEIB_VF_NO_PORT] = {"no port", "without the port"},
    [ONEIB_VF_MANAGEMENT] = {"management", "that may send management packets"},
    [ONEIB_VF_ABSENT] = {"absent", "not on the PCI bus"},
    [ONEIB_VF_UNKNOWN] = {"unknown", "in an unknown state"},
};

const char *oneib_vf_use_name(enum oneib_vf_use use)
{
    return words[use].name;
}

static int compare_candidates(const void *left, const void *right, void *wanted)
{
    const struct oneib_vf_candidate *a = left, *b = right;
    const int16_t numa_node = *(const int16_t *)wanted;
    int order = ONEIB_COMPARE(a->use != ONEIB_VF_FREE, b->use != ONEIB_VF_FREE);
    if (order == 0 && numa_node >= 0)
        order = ONEIB_COMPARE(a->numa_node != numa_node, b->numa_node != numa_node);
    if (order == 0)
        order = ONEIB_COMPARE(!a->on_vfio, !b->on_vfio) ?: ONEIB_COMPARE(a->index, b->index);
    return order != 0 ? order : oneib_pci_compare(&a->vf, &b->vf);
}

void oneib_vf_candidates_sort(struct oneib_vf_candidate *candidates, size_t count,
                              int16_t numa_node)
{
    if (count > 1)
        qsort_r(candidates, count, sizeof *candidates, compare_candidates, &numa_node);
}

static void append_counts(const struct oneib_vf_candidate *candidates, size_t count,
                          struct oneib_text *text)
{
    size_t by_use[USES] = {0};
    for (size_t i = 0; i < count; i++)
        by_use[candidates[i].use]++;
    for (size_t use = 0; use < USES; use++)
        if (by_use[use] > 0)
            oneib_text_printf(text, ", %zu %s", by_use[use], words[use].counted);
    if (by_use[ONEIB_VF_NOT_CLOSED] > 0)
        oneib_text_append(text, "; 'oneib hca --repair' closes what is left over");
}

int oneib_vf_refuse(const struct oneib_vf_candidate *candidates, size_t count, const char *device,
                    struct oneib_error *err)
{
    if (count == 0)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "%s has no virtual functions: SR-IOV is off; see sriov_numvfs of its PCI "
                          "device",
                          device);

    oneib_autotext struct oneib_text counts = {0};
    append_counts(candidates, count, &counts);
    return oneib_fail(err, ONEIB_ERROR_REFUSED, "%s has no free virtual function: %zu in all%s",
                      device, count, counts.data);
}
