// SPDX-License-Identifier: Apache-2.0
/*
 * A stand-in's pool of many VMs, of which every so many-th is a hostile user's, and what reading it
 * it must come to: each honest VM with its NIC, each hostile one named, whoever its neighbours are.
 * Documents are made as they are asked for, so the pool may have any size.
 */
#ifndef ONEIB_TEST_OPENNEBULA_HOSTILE_POOL_H
#define ONEIB_TEST_OPENNEBULA_HOSTILE_POOL_H

#include "oned_stand_in.h"
#include "opennebula/pools.h"
#include "xml/shorten.h"
#include <sys/mman.h>

#define HOSTILE_POOL_HOSTS 100u
#define HOSTILE_POOL_SECONDS 1800u
/* Sections are looked at that are longer than what is kept by half again (xml/shorten.c). */
#define HOSTILE_POOL_LONG (2 * ONEIB_SECTION_MAX)

/* What hostile users write, by turns. */
enum hostile_text {
    HOSTILE_ELEMENT,      /* an element that does not end */
    HOSTILE_COMMENT,      /* what follows is a comment */
    HOSTILE_INSTRUCTION,  /* or a processing instruction */
    HOSTILE_LONG_COMMENT, /* a long section, and a comment behind it */
    HOSTILE_LONG, /* a long section with what looks like a comment: it is text, and harmless */
    HOSTILE_TEXTS
};

/* Set before the stand-in is started. */
static struct {
    unsigned vms, every; /* ids 0 to vms - 1; every so many-th is hostile */
    unsigned *calls;     /* shared with the stand-in's process */
    char *filling;
} hostile_pool;

static inline bool hostile_pool_is_hostile(unsigned id)
{
    return id % hostile_pool.every == hostile_pool.every / 2;
}

static inline enum hostile_text hostile_pool_text(unsigned id)
{
    return (enum hostile_text)(id / hostile_pool.every % HOSTILE_TEXTS);
}

/* Whose document nobody can read. */
static inline bool hostile_pool_is_malformed(unsigned id)
{
    return hostile_pool_is_hostile(id) && hostile_pool_text(id) != HOSTILE_LONG;
}

static inline void hostile_pool_note(struct oneib_text *text, unsigned id)
{
    static const char *const written[HOSTILE_TEXTS] = {
        [HOSTILE_ELEMENT] = "]]></NOTE><A><NOTE><![CDATA[",
        [HOSTILE_COMMENT] = "]]><!--<![CDATA[",
        [HOSTILE_INSTRUCTION] = "]]><?a <![CDATA[",
        [HOSTILE_LONG_COMMENT] = "]]><!--<![CDATA[",
        [HOSTILE_LONG] = "<!-- <? ",
    };
    if (!hostile_pool_is_hostile(id)) {
        oneib_text_append(text, "nothing");
        return;
    }
    const enum hostile_text kind = hostile_pool_text(id);
    if (kind == HOSTILE_LONG_COMMENT || kind == HOSTILE_LONG)
        oneib_text_append_bytes(text, hostile_pool.filling, HOSTILE_POOL_LONG);
    oneib_text_append(text, written[kind]);
}

static inline void hostile_pool_mac(struct oneib_text *text, unsigned id)
{
    oneib_text_printf(text, "<MAC>02:00:%02x:%02x:%02x:%02x</MAC>", id >> 24, id >> 16 & 0xff,
                      id >> 8 & 0xff, id & 0xff);
}

static inline void hostile_pool_vm(struct oneib_text *text, unsigned id)
{
    oneib_text_printf(text,
                      "<VM><ID>%u</ID><STATE>3</STATE><LCM_STATE>3</LCM_STATE><TEMPLATE><NIC>"
                      "<NETWORK_ID>7</NETWORK_ID><NIC_ID>0</NIC_ID><VN_MAD>ibrec</VN_MAD>",
                      id);
    hostile_pool_mac(text, id);
    oneib_text_append(text, "</NIC></TEMPLATE><USER_TEMPLATE><NOTE><![CDATA[");
    hostile_pool_note(text, id);
    oneib_text_printf(text,
                      "]]></NOTE></USER_TEMPLATE><HISTORY_RECORDS><HISTORY><SEQ>0</SEQ>"
                      "<HID>%u</HID><STIME>1</STIME></HISTORY></HISTORY_RECORDS></VM>",
                      id % HOSTILE_POOL_HOSTS);
}

static inline void hostile_pool_window(struct oneib_text *text, unsigned first, int last)
{
    const unsigned end =
        last < 0 || (unsigned)last >= hostile_pool.vms ? hostile_pool.vms : (unsigned)last + 1;
    oneib_text_append(text, "<VM_POOL>");
    for (unsigned id = first; id < end; id++)
        hostile_pool_vm(text, id);
    oneib_text_append(text, "</VM_POOL>");
}

static inline void hostile_pool_hosts(struct oneib_text *text)
{
    oneib_text_append(text, "<HOST_POOL>");
    for (unsigned host = 0; host < HOSTILE_POOL_HOSTS; host++) {
        oneib_text_printf(text, "<HOST><ID>%u</ID><NAME>node%u</NAME><VMS>", host, host);
        for (unsigned id = host; id < hostile_pool.vms; id += HOSTILE_POOL_HOSTS)
            oneib_text_printf(text, "<ID>%u</ID>", id);
        oneib_text_append(text, "</VMS></HOST>");
    }
    oneib_text_append(text, "</HOST_POOL>");
}

static inline void hostile_pool_network(struct oneib_text *text)
{
    oneib_text_append(text, "<VNET><ID>7</ID><NAME>ib</NAME><VN_MAD>ibrec</VN_MAD><AR_POOL><AR>"
                            "<LEASES>");
    for (unsigned id = 0; id < hostile_pool.vms; id++) {
        oneib_text_append(text, "<LEASE>");
        hostile_pool_mac(text, id);
        oneib_text_printf(text, "<VM>%u</VM></LEASE>", id);
    }
    oneib_text_append(text, "</LEASES></AR></AR_POOL></VNET>");
}

/* The n-th <i4> of a request. */
static inline int hostile_pool_argument(const char *request, int n)
{
    for (int i = 0; i <= n && request; i++)
        request = strstr(i == 0 ? request : request + 4, "<i4>");
    return request ? (int)strtol(request + 4, NULL, 10) : -1;
}

static inline void hostile_pool_answer(int connection, const char *request)
{
    struct oneib_text text = {0};
    alarm(HOSTILE_POOL_SECONDS);
    ++*hostile_pool.calls;
    if (strstr(request, ">one.user.info<"))
        oneib_text_append(&text, "<USER><ID>0</ID><GID>0</GID><GROUPS><ID>0</ID></GROUPS></USER>");
    else if (strstr(request, ">one.hostpool.info<"))
        hostile_pool_hosts(&text);
    else if (strstr(request, ">one.vnpool.info<"))
        oneib_text_append(&text, "<VNET_POOL><VNET><ID>7</ID><NAME>ib</NAME><VN_MAD>ibrec</VN_MAD>"
                                 "</VNET></VNET_POOL>");
    else if (strstr(request, ">one.vmpool.infoextended<"))
        hostile_pool_window(&text, (unsigned)hostile_pool_argument(request, 1),
                            hostile_pool_argument(request, 2));
    else if (strstr(request, ">one.vm.info<") &&
             (unsigned)hostile_pool_argument(request, 0) < hostile_pool.vms)
        hostile_pool_vm(&text, (unsigned)hostile_pool_argument(request, 0));
    else if (strstr(request, ">one.vn.info<"))
        hostile_pool_network(&text);
    if (text.data)
        stand_in_document(connection, text.data);
    else
        stand_in_refuse(connection, 1024, "Error getting it.");
    oneib_text_clear(&text);
}

/* Returns 0 or -1. */
static inline int hostile_pool_make(unsigned vms, unsigned every)
{
    hostile_pool.vms = vms;
    hostile_pool.every = every;
    hostile_pool.calls = mmap(NULL, sizeof *hostile_pool.calls, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    hostile_pool.filling = malloc(HOSTILE_POOL_LONG);
    if (hostile_pool.calls == MAP_FAILED || !hostile_pool.filling)
        return -1;
    memset(hostile_pool.filling, 'a', HOSTILE_POOL_LONG);
    return 0;
}

static inline void hostile_pool_end(void)
{
    munmap(hostile_pool.calls, sizeof *hostile_pool.calls);
    free(hostile_pool.filling);
}

/* Whether some finding says that this VM is malformed. */
static inline bool hostile_pool_is_named(const struct oneib_findings *findings, unsigned id)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].subject == ONEIB_SUBJECT_VM && findings->items[i].subject_id == id &&
            strcmp(findings->items[i].code, "vm-malformed") == 0)
            return true;
    return false;
}

/* The first VM of which not the right thing was read, or `vms`. Each honest one has its NIC, and
 * those that nobody can read are named; nobody else is. cloud is sorted. */
static inline unsigned hostile_pool_wrong(const struct oneib_cloud *cloud,
                                          const struct oneib_findings *findings)
{
    size_t at = 0, named = 0;
    for (unsigned id = 0; id < hostile_pool.vms; id++) {
        const bool is_there = at < cloud->attachment_count && cloud->attachments[at].vm_id == id &&
                              cloud->attachments[at].network_id == 7 &&
                              cloud->attachments[at].phase == ONEIB_SETTLED;
        const bool is_malformed = hostile_pool_is_malformed(id);
        if (is_there == is_malformed || (is_malformed && !hostile_pool_is_named(findings, id)))
            return id;
        at += is_there;
        named += is_malformed;
    }
    return named == findings->count && at == cloud->attachment_count ? hostile_pool.vms : 0;
}

#endif
