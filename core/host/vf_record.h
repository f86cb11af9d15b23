// SPDX-License-Identifier: Apache-2.0
/*
 * The table of a node's virtual functions that are in oneib's hands: one record for each, and what
 * it looks like as text, one line a record:
 *
 *   vf=0000:81:00.1 device=mlx4_0 index=0 port=1 vm=42 nic=1 network=7 site=0 pkey=0x0005
 *   membership=full stage=open guid=set domain=yes since=1795223384
 *
 * (on one line, in this order). Pure. The file is root's, so that a line which does not parse is
 * damage, and the whole table is refused: nothing is handed out that may be somebody's.
 */
#ifndef ONEIB_HOST_VF_RECORD_H
#define ONEIB_HOST_VF_RECORD_H

#include "base/error.h"
#include "base/text.h"
#include "ib/device.h"
#include "ib/guid.h"
#include "ib/pci.h"
#include "ib/pkey.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_VF_RECORDS_MAX 4096

enum oneib_vf_stage {
    ONEIB_VF_PREPARING, /* reserved; closed, or about to be; on its way to what was asked for */
    ONEIB_VF_CLOSED,    /* a VM's, and closed on purpose: its network has no P_Key, or its key is
                           not in the port's table (`pkey` says which one it waits for; 0: none) */
    ONEIB_VF_OPEN,      /* mapped to `pkey` */
    ONEIB_VF_ENDED,     /* a VM's whose domain has ended: closed, whatever `pkey` says, until it is
                           asked for again */
    ONEIB_VF_RELEASING, /* being closed, or not closed yet because something refused */
};

/* Whether the VF carries its attachment's GUID. */
enum oneib_vf_guid {
    ONEIB_VF_GUID_NONE,     /* not set */
    ONEIB_VF_GUID_DEFERRED, /* not to be set yet: another host's port may still have it (migration,
                               restore) */
    ONEIB_VF_GUID_SET,      /* set, and accepted by the SM as far as the adapter can say */
};

struct oneib_vf_record {
    struct oneib_pci vf;
    char device[ONEIB_DEVICE_NAME_SIZE]; /* the adapter's, "mlx4_0" */
    uint16_t index;                      /* of the VF at its adapter, as in virtfnN */
    uint8_t port;                        /* 1-254: the one port that is opened */
    uint32_t vm_id;
    uint8_t nic_id;
    uint32_t network_id;
    uint16_t site;   /* the GUID is oneib_guid_encode(site, vm_id, nic_id) */
    oneib_pkey pkey; /* 0: none */
    bool limited;    /* the NIC may be a limited member only */
    enum oneib_vf_stage stage;
    enum oneib_vf_guid guid;
    bool in_domain; /* a running domain of the VM's has named it since it was asked for */
    int64_t since;  /* of the last change of stage, or of the last time that somebody asked for it,
                       or since when nothing is granted for it; seconds since boot (CLOCK_BOOTTIME):
                       no clock that is set makes it older or younger */
};

struct oneib_vf_table {
    struct oneib_vf_record *items; /* owned; sorted by VF; no VF twice, no (VM, NIC) twice */
    size_t count, capacity;
};

oneib_guid oneib_vf_record_guid(const struct oneib_vf_record *record);
/* But for `since`. */
bool oneib_vf_record_is_same(const struct oneib_vf_record *a, const struct oneib_vf_record *b);

/* Either returns NULL when there is none. Valid until the table changes. */
struct oneib_vf_record *oneib_vf_table_of_vf(const struct oneib_vf_table *table,
                                             const struct oneib_pci *vf);
struct oneib_vf_record *oneib_vf_table_of_nic(const struct oneib_vf_table *table, uint32_t vm_id,
                                              uint8_t nic_id);

/* Adds a copy; REFUSED when the VF or the NIC is there already. */
int oneib_vf_table_add(struct oneib_vf_table *table, const struct oneib_vf_record *record,
                       struct oneib_error *err);
/* Removes the record of that VF; false when there is none. */
bool oneib_vf_table_remove(struct oneib_vf_table *table, const struct oneib_pci *vf);
void oneib_vf_table_clear(struct oneib_vf_table *table);
#define oneib_autovfs __attribute__((cleanup(oneib_vf_table_clear)))

/* Errors name the line, and the table is empty then. An empty text is an empty table. The lines may
 * be in any order. */
int oneib_vf_table_parse(const char *text, size_t length, struct oneib_vf_table *table,
                         struct oneib_error *err);
void oneib_vf_table_render(const struct oneib_vf_table *table, struct oneib_text *text);
/* One line without its newline, either way. */
int oneib_vf_record_parse(const char *line, size_t length, struct oneib_vf_record *record,
                          struct oneib_error *err);
void oneib_vf_record_render(const struct oneib_vf_record *record, struct oneib_text *text);

/* "preparing", "closed", "open", "ended", "releasing". */
const char *oneib_vf_stage_name(enum oneib_vf_stage stage);

#endif
