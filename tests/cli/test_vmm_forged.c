// SPDX-License-Identifier: Apache-2.0
/* Documents of a VM that its owner has written into, given to the virtualization driver while a
 * stranger's VM runs beside it. */
#include "vmm_scene.h"

#define NIC_OF(id, more)                                                                           \
    "<NIC><NIC_ID>" id "</NIC_ID><NETWORK_ID>1</NETWORK_ID><VN_MAD>ibrec</VN_MAD>" more "</NIC>"
/* The stranger's VF. */
#define PCI_OF(id)                                                                                 \
    "<PCI><TYPE>NIC</TYPE><NIC_ID>" id "</NIC_ID><NETWORK_ID>1</NETWORK_ID><VN_MAD>ibrec</VN_MAD>" \
    "<MAC>02:00:0a:14:00:0f</MAC><TARGET>one-2-1</TARGET><ADDRESS>81:00.1</ADDRESS></PCI>"
#define DEPLOY_ID_2 "<DEPLOY_ID>" UUID_2 "</DEPLOY_ID>"
#define HUGE_LENGTH ((size_t)300 * 1024) /* more than any value has */

static const struct {
    const char *from, *to; /* HUGE: a value of that length */
} forgeries[] = {
    {"</CONTEXT>", "</CONTEXT>" NIC_OF("1", "")},
    {"</CONTEXT>", "</CONTEXT>" NIC_OF("9", "<ATTACH>YES</ATTACH><MAC>02:00:0a:14:00:0a</MAC>")},
    {"</CONTEXT>", "</CONTEXT></TEMPLATE><TEMPLATE>" NIC_OF("7", "<TARGET>../x</TARGET>")},
    {"</CONTEXT>", "</CONTEXT>" PCI_OF("9")},
    {"</CONTEXT>", "</CONTEXT>" PCI_OF("1")},
    {"<NIC_ID><![CDATA[1]]></NIC_ID>", "<NIC_ID>1</NIC_ID><NIC_ID>3</NIC_ID>"},
    {"<TARGET><![CDATA[one-2-1]]></TARGET>", "<TARGET>x'/&gt;&lt;hostdev</TARGET>"},
    {"<IP><![CDATA[10.20.0.15]]></IP>", "<IP>HUGE</IP>"},
    {"</HISTORY>", "</HISTORY><HISTORY><HOSTNAME>HUGE</HOSTNAME></HISTORY>"},
    {DEPLOY_ID_2, "<DEPLOY_ID>../../../../etc/passwd</DEPLOY_ID>"},
    {DEPLOY_ID_2, "<DEPLOY_ID>" UUID_1 "</DEPLOY_ID>"},
    {"</CONTEXT>", "</CONTEXT>&oneib;"},
};

static char *forged(const char *action, size_t which)
{
    char *huge = malloc(HUGE_LENGTH + 1);
    assert_non_null(huge);
    memset(huge, 'h', HUGE_LENGTH);
    huge[HUGE_LENGTH] = '\0';
    char *message = replaced(message_of(action), forgeries[which].from, forgeries[which].to);
    message = replaced(message, "HUGE", huge);
    free(huge);
    return message;
}

static void assert_strangers_vm_is_as_it_was(void)
{
    assert_plugged(1, 1, 0, 10);
    assert_plugged(1, 2, 1, 11);
}

/* Either it is refused, and says why, or it is done. */
static void must_end_well(const char *action, size_t which)
{
    char *message = forged(action, which);
    const int status = act_on(name_of(action), action, message);
    if (status != 0 && status != 1)
        fail_msg("forgery %zu ends %s with %d: %s", which, action, status, said);
    assert_int_equal(status == 0, *said == '\0');
    assert_strangers_vm_is_as_it_was();
    free(message);
}

/* A NIC of its own attached, taken out again; its state saved. */
static void what_a_vms_owner_forges_is_no_strangers_matter(void **state)
{
    (void)state;
    deploy_vm_1();
    deploy_vm_2();
    for (size_t i = 0; i < sizeof forgeries / sizeof *forgeries; i++) {
        must_end_well(ATTACH_2, i);
        assert_no_nic(2, 2);
        must_end_well(DETACH_2, i);
        assert_plugged(2, 1, 0, 15);
    }
    for (size_t i = 0; i < sizeof forgeries / sizeof *forgeries && runs_here(2); i++)
        must_end_well(SAVE_2, i);
    assert_false(runs_here(2));
}

/* DEPLOY_ID is what OpenNebula's own driver has said; whoever could choose it has no other VM. */
static void a_deploy_id_of_another_vms_domain_is_refused(void **state)
{
    (void)state;
    static const char *const ids[] = {UUID_1, "one-1"};
    deploy_vm_1();
    deploy_vm_2();
    char *message = message_of(SAVE_2);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        const char *upstream = UPSTREAM_STANDIN "/save";
        assert_told(run_standin("save",
                                WORDS("--upstream", upstream, ids[i], "/c", HOST_1, "2", HOST_1),
                                message),
                    "the domain \"one-1\" is not that of VM 2");
        assert_told(run_standin("migrate",
                                WORDS("--upstream", upstream, ids[i], "x", HOST_1, "2", HOST_1),
                                message),
                    "the domain \"one-1\" is not that of VM 2");
        assert_told(run_standin("snapshot_revert",
                                WORDS("--upstream", upstream, ids[i], "0", "2", HOST_1), message),
                    "the domain \"one-1\" is not that of VM 2");
    }
    assert_strangers_vm_is_as_it_was();
    free(message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIFE(what_a_vms_owner_forges_is_no_strangers_matter),
        LIFE(a_deploy_id_of_another_vms_domain_is_refused),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
