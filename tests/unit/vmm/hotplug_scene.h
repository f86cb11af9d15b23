// SPDX-License-Identifier: Apache-2.0
/* VM 42 runs, and gets and loses NIC 3. */
#ifndef ONEIB_UNIT_VMM_HOTPLUG_SCENE_H
#define ONEIB_UNIT_VMM_HOTPLUG_SCENE_H

#include "base/text.h"
#include "domain/edit.h"
#include "nic_scene.h"

#define NIC 3
#define MAC "02:00:0a:14:00:0d" /* of NIC 3 */
#define VF 2
#define VF_ALIAS "ua-oneib-3"
#define DUMMY_ALIAS "ua-oneib-dummy-3"

static char domain[] = DOMAIN, mac[] = MAC, bridge[] = "br0", dash[] = "-", target[] = "one-42-3",
            vn_mad[] = "bridge";
static char *attach_arguments[] = {domain, mac, bridge, dash, vn_mad, target, id, host, NULL};
static char *detach_arguments[] = {domain, mac, id, host, NULL};
static const char input[] = "PFZNPg==\n";

/* VM 42 runs, with no NIC of ours. */
static inline int open_running(void **state)
{
    open_scene(state);
    live_standin_run(domain_document("")->data);
    live_standin_forget_log();
    return 0;
}

/* The NIC that is attached, its VF, and what 'pre' has reserved for it. */
static inline struct oneib_node_nic *begin_attach(void)
{
    record_open(NIC, VF);
    return add_attached(NIC);
}

enum part { BOTH, ONLY_VF, ONLY_DUMMY };

static inline void give(uint8_t nic_id, unsigned vf, unsigned index, enum part part)
{
    struct oneib_text xml = {0};
    const struct oneib_domain_nic nic = {
        .nic_id = nic_id,
        .vf = tree_vf_pci(&hca, vf),
        .index = index,
        .ipv4 = address_of(nic_id),
        .target = "some",
    };
    if (part != ONLY_VF) {
        assert_int_equal(oneib_domain_dummy_xml(&nic, &xml, &err), 0);
        assert_int_equal(live_standin_plug(DOMAIN, xml.data, &err), 0);
        oneib_text_clear(&xml);
    }
    if (part != ONLY_DUMMY) {
        assert_int_equal(oneib_domain_vf_xml(&nic, &xml, &err), 0);
        assert_int_equal(live_standin_plug(DOMAIN, xml.data, &err), 0);
        oneib_text_clear(&xml);
    }
}

/* The NIC that is detached, with what the domain and the table have for it. */
static inline struct oneib_node_nic *begin_detach(void)
{
    struct oneib_node_nic *nic = begin_attach();
    give(NIC, VF, 0, BOTH);
    return nic;
}

static inline struct oneib_vmm acting(const char *upstream, char *const *upstream_arguments)
{
    return (struct oneib_vmm){
        .config = &config,
        .upstream = {upstream, upstream_arguments, input, strlen(input), NULL},
        .vm = &vm,
        .domain = DOMAIN,
        .warnings = &warnings,
    };
}

static int status;

static inline int attach_for(const char *named)
{
    struct oneib_vmm vmm = acting(UPSTREAM_STANDIN "/attach_nic", attach_arguments);
    err = (struct oneib_error){0};
    status = -1;
    return oneib_vmm_attach_nic(&vmm, named, &status, &err);
}

static inline int detach_for(const char *named)
{
    struct oneib_vmm vmm = acting(UPSTREAM_STANDIN "/detach_nic", detach_arguments);
    err = (struct oneib_error){0};
    status = -1;
    return oneib_vmm_detach_nic(&vmm, named, &status, &err);
}

static inline int attach(void)
{
    return attach_for(MAC);
}

static inline int detach(void)
{
    return detach_for(MAC);
}

static inline void assert_attached(void)
{
    if (attach() < 0)
        fail_msg("%s", err.text);
    assert_int_equal(status, 0);
}

static inline void assert_detached(void)
{
    if (detach() < 0)
        fail_msg("%s", err.text);
    assert_int_equal(status, 0);
}

static inline void assert_first_of(const char *first, const char *second)
{
    const char *log = live_standin_log();
    const char *one = strstr(log, first), *other = strstr(log, second);
    if (!one || !other || one > other)
        fail_msg("\"%s\" is not before \"%s\" in:\n%s", first, second, log);
}

static inline void assert_nothing_was_touched(void)
{
    assert_logged("attach", false);
    assert_logged("detach", false);
    assert_int_equal(service_calls(""), 0);
}

#endif
