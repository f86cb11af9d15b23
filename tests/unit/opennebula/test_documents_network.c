// SPDX-License-Identifier: Apache-2.0
#include "reading.h"

static void begin_with(struct reading *reading, const char *xml)
{
    reading_begin(reading);
    must_read(reading, oneib_documents_read_networks, xml);
}

static size_t count_ours(const struct reading *reading)
{
    return oneib_cloud_count_infiniband(&reading->cloud);
}

/* Network 7 of ours with these children of its own, and these in its TEMPLATE. */
static const struct oneib_network *network_saying(struct reading *reading, const char *own,
                                                  const char *template)
{
    oneib_autotext struct oneib_text xml = {0};
    oneib_text_printf(
        &xml,
        "<VNET_POOL><VNET><ID>7</ID><NAME>ib</NAME><PARENT_NETWORK_ID/>"
        "<VN_MAD><![CDATA[ibrec]]></VN_MAD>%s<TEMPLATE>%s</TEMPLATE></VNET></VNET_POOL>",
        own, template);
    begin_with(reading, xml.data);
    assert_int_equal(reading->cloud.network_count, 1);
    return &reading->cloud.networks[0];
}

static void the_recorded_pool_has_two_networks_of_ours(void **state)
{
    struct reading reading;
    (void)state;
    reading_begin(&reading);
    must_read_recorded(&reading, oneib_documents_read_networks, "vnpool.info.doc");
    assert_int_equal(count_ours(&reading), 2);
    oneib_cloud_sort(&reading.cloud);

    const struct oneib_network *first = oneib_cloud_network(&reading.cloud, 1);
    assert_non_null(first);
    assert_int_equal(first->id, 1);
    assert_string_equal(first->name, "ibnet");
    assert_int_equal(first->parent_id, ONEIB_NO_ID);
    assert_int_equal(first->key_state, ONEIB_KEY_MISSING);
    assert_int_equal(first->membership, ONEIB_FULL);
    assert_int_equal(first->mtu_bytes, 1500);
    assert_int_equal(first->rate_gbps, 0);
    assert_string_equal(first->device, "");
    assert_false(first->device_invalid);
    assert_false(first->reservations_share);
    assert_int_equal(first->static_count, 0);

    const struct oneib_network *second = oneib_cloud_network(&reading.cloud, 2);
    assert_non_null(second);
    assert_int_equal(second->id, 2);
    assert_string_equal(second->name, "ibnet-nobridge");
    assert_int_equal(second->key_state, ONEIB_KEY_VALID);
    assert_int_equal(second->pkey, 5);
    assert_string_equal(second->device, "ib0");
    assert_int_equal(second->device_port, 0);

    assert_int_equal(reading.findings.count, 0);
    reading_end(&reading);
}

static void only_our_networks_name_vms(void **state)
{
    struct reading reading;
    (void)state;
    reading_begin(&reading);
    must_read_recorded(&reading, oneib_documents_read_networks, "vn.info-1-update-failed.doc");
    oneib_id_set_sort(&reading.documents.vms_named);
    assert_int_equal(reading.documents.vms_named.count, 2);
    reading_end(&reading);

    reading_begin(&reading);
    reading.documents.vn_mad = "infiniband";
    must_read_recorded(&reading, oneib_documents_read_networks, "vn.info-1-update-failed.doc");
    assert_int_equal(count_ours(&reading), 0);
    assert_int_equal(reading.documents.vms_named.count, 0);
    reading_end(&reading);
}

static void a_network_is_being_created_while_oned_locks_it_for_that(void **state)
{
    static const char *const others[] = {"<STATE>1</STATE>", "<STATE>3</STATE>", "<STATE/>", "",
                                         "<STATE>2</STATE><STATE>2</STATE>"};
    struct reading reading;
    (void)state;
    assert_true(network_saying(&reading, "<STATE>2</STATE>", "")->being_created);
    reading_end(&reading);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_false(network_saying(&reading, others[i], "<STATE>2</STATE>")->being_created);
        reading_end(&reading);
    }
}

static void all_four_lists_name_vms(void **state)
{
    struct reading reading;
    (void)state;
    network_saying(&reading,
                   "<UPDATED_VMS><ID>1</ID><ID>2</ID></UPDATED_VMS><OUTDATED_VMS><ID>3</ID>"
                   "</OUTDATED_VMS><UPDATING_VMS><ID>4</ID></UPDATING_VMS>"
                   "<ERROR_VMS><ID>5</ID></ERROR_VMS>",
                   "");
    oneib_id_set_sort(&reading.documents.vms_named);
    assert_int_equal(reading.documents.vms_named.count, 5);
    for (uint32_t id = 1; id <= 5; id++)
        assert_true(oneib_id_set_has(&reading.documents.vms_named, id));
    reading_end(&reading);
}

#define LEASE(address, vm) "<LEASE>" address "<VM>" vm "</VM></LEASE>"

static void leases_are_those_of_vms_with_their_addresses(void **state)
{
    struct reading reading;
    (void)state;
    network_saying(&reading,
                   "<AR_POOL><AR><LEASES>" LEASE("<MAC>02:00:0A:00:00:01</MAC>", "3")
                       LEASE("<MAC>02:00:0a:00:00:02</MAC>", "4") "<LEASE><MAC>02:00:0a:00:00:03"
                                                                  "</MAC><VNET>5</VNET></LEASE>"
                                                                  "</LEASES></AR></AR_POOL>",
                   "");
    const struct oneib_network *network = &reading.cloud.networks[0];
    assert_int_equal(network->lease_count, 2);
    assert_true(oneib_network_leases_to(network, 3, 0x02000a000001));
    assert_true(oneib_network_leases_to(network, 4, 0x02000a000002));
    assert_false(oneib_network_leases_to(network, 3, 0x02000a000002));
    assert_false(oneib_network_leases_to(network, 5, 0x02000a000003));
    assert_int_equal(reading.findings.count, 0);
    reading_end(&reading);
}

static void a_lease_without_an_address_is_nobodys(void **state)
{
    struct reading reading;
    (void)state;
    network_saying(&reading,
                   "<AR_POOL><AR><LEASES>" LEASE("", "3") LEASE("<MAC>x</MAC>", "3")
                       LEASE("<MAC>00:00:00:00:00:00</MAC>", "3")
                           LEASE("<MAC>02:00:00:00:00:01</MAC><MAC>02:00:00:00:00:01</MAC>",
                                 "3") "</LEASES></AR></AR_POOL>",
                   "");
    assert_int_equal(reading.cloud.networks[0].lease_count, 0);
    assert_false(oneib_network_leases_to(&reading.cloud.networks[0], 3, 0));
    assert_true(oneib_network_names_vm(&reading.cloud.networks[0], 3));
    must_find(&reading, "lease-invalid", "network 7 \"ib\": 4 of its leases have no address");
    reading_end(&reading);
}

static void an_entry_of_a_list_that_is_no_id_is_told(void **state)
{
    struct reading reading;
    (void)state;
    network_saying(&reading, "<ERROR_VMS><ID>5</ID><ID>x</ID><ID>-1</ID></ERROR_VMS>", "");
    assert_int_equal(reading.documents.vms_named.count, 1);
    must_find(&reading, "document-invalid", "network 7 \"ib\": 2 entries");
    reading_end(&reading);
}

static void the_driver_is_compared_without_case(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading, "<VNET><ID>7</ID><NAME>ib</NAME><VN_MAD>IBREC</VN_MAD></VNET>");
    assert_int_equal(reading.cloud.network_count, 1);
    reading_end(&reading);
}

static void the_driver_in_the_template_alone_does_not_count(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading, "<VNET><ID>7</ID><NAME>ib</NAME><VN_MAD>dummy</VN_MAD>"
                         "<TEMPLATE><VN_MAD>ibrec</VN_MAD></TEMPLATE></VNET>");
    assert_int_equal(count_ours(&reading), 0);
    reading_end(&reading);
}

static void a_network_of_another_driver_is_kept_as_that(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading, "<VNET><ID>7</ID><NAME>was-ib</NAME><VN_MAD>bridge</VN_MAD>"
                         "<VLAN_ID>257</VLAN_ID><UPDATED_VMS><ID>3</ID></UPDATED_VMS><TEMPLATE>"
                         "<IB_RESERVATION>shared</IB_RESERVATION></TEMPLATE></VNET>");
    const struct oneib_network *network = &reading.cloud.networks[0];
    assert_int_equal(reading.cloud.network_count, 1);
    assert_string_equal(network->other_driver, "bridge");
    assert_string_equal(network->name, "was-ib");
    assert_int_equal(network->pkey, 257);
    assert_true(network->reservations_share);
    assert_true(oneib_network_names_vm(network, 3));
    reading_end(&reading);
}

static void what_is_odd_about_another_drivers_network_is_no_finding(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading, "<VNET><ID>7</ID><NAME>eth</NAME><VN_MAD>802.1Q</VN_MAD>"
                         "<VLAN_ID>x</VLAN_ID><PHYDEV>bond0:a:b</PHYDEV><TEMPLATE><MTU>jumbo</MTU>"
                         "</TEMPLATE></VNET>");
    assert_int_equal(reading.cloud.network_count, 1);
    assert_int_equal(reading.findings.count, 0);
    reading_end(&reading);
}

static void a_network_without_a_driver_is_another_drivers(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading, "<VNET><ID>7</ID><NAME>none</NAME><VN_MAD/></VNET>");
    assert_string_equal(reading.cloud.networks[0].other_driver, "");
    reading_end(&reading);
}

static void a_network_with_two_drivers_is_nobodys(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading, "<VNET><ID>7</ID><NAME>two</NAME><VN_MAD>bridge</VN_MAD>"
                         "<VN_MAD>ibrec</VN_MAD></VNET>");
    assert_int_equal(reading.cloud.network_count, 0);
    reading_end(&reading);
}

static void the_key_of_the_element_wins_over_the_templates(void **state)
{
    struct reading reading;
    (void)state;
    const struct oneib_network *network =
        network_saying(&reading, "<VLAN_ID>5</VLAN_ID>", "<VLAN_ID>6</VLAN_ID>");
    assert_int_equal(network->key_state, ONEIB_KEY_VALID);
    assert_int_equal(network->pkey, 5);
    reading_end(&reading);
}

static void an_element_that_was_emptied_has_no_key(void **state)
{
    struct reading reading;
    (void)state;
    assert_int_equal(network_saying(&reading, "<VLAN_ID/>", "<VLAN_ID>6</VLAN_ID>")->key_state,
                     ONEIB_KEY_MISSING);
    reading_end(&reading);
}

static void without_the_element_the_templates_key_counts(void **state)
{
    struct reading reading;
    (void)state;
    const struct oneib_network *network = network_saying(&reading, "", "<VLAN_ID>6</VLAN_ID>");
    assert_int_equal(network->key_state, ONEIB_KEY_VALID);
    assert_int_equal(network->pkey, 6);
    reading_end(&reading);
}

static void the_first_and_the_last_key_are_keys(void **state)
{
    struct reading reading;
    (void)state;
    assert_int_equal(network_saying(&reading, "<VLAN_ID>1</VLAN_ID>", "")->pkey, 1);
    reading_end(&reading);
    assert_int_equal(network_saying(&reading, "<VLAN_ID>32766</VLAN_ID>", "")->pkey, 32766);
    reading_end(&reading);
}

static void a_bad_key_is_invalid_and_shown(void **state)
{
    static const char *const bad[] = {"0", "32767", "65535", "70000", "0x8005", "abc"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct reading reading;
        oneib_autotext struct oneib_text own = {0};
        oneib_text_printf(&own, "<VLAN_ID><![CDATA[%s]]></VLAN_ID>", bad[i]);
        assert_int_equal(network_saying(&reading, own.data, "")->key_state, ONEIB_KEY_INVALID);
        must_find(&reading, "pkey-text", "network 7 \"ib\": VLAN_ID \"");
        must_find(&reading, "pkey-text", bad[i]);
        reading_end(&reading);
    }
}

static void two_keys_are_invalid(void **state)
{
    struct reading reading;
    (void)state;
    const struct oneib_network *network =
        network_saying(&reading, "<VLAN_ID>5</VLAN_ID><VLAN_ID>6</VLAN_ID>", "");
    assert_int_equal(network->key_state, ONEIB_KEY_INVALID);
    must_find(&reading, "pkey-text", "more than once");
    reading_end(&reading);
}

static void a_key_of_ten_megabytes_is_invalid_and_shown_shortened(void **state)
{
    struct reading reading;
    oneib_autotext struct oneib_text own = {0};
    (void)state;
    oneib_text_append(&own, "<VLAN_ID><![CDATA[");
    for (size_t i = 0; i < 10u << 20; i += 64)
        oneib_text_append(&own, "5555555555555555555555555555555555555555555555555555555555555555");
    oneib_text_append(&own, "]]></VLAN_ID>");
    assert_int_equal(network_saying(&reading, own.data, "")->key_state, ONEIB_KEY_INVALID);
    must_find(&reading, "pkey-text", "is too long");
    assert_true(strlen(reading.findings.items[0].text) < 300);
    reading_end(&reading);
}

static void a_reservation_names_its_parent(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading, "<VNET><ID>8</ID><NAME>r</NAME><PARENT_NETWORK_ID>7</PARENT_NETWORK_ID>"
                         "<VN_MAD>ibrec</VN_MAD></VNET>");
    assert_int_equal(reading.cloud.networks[0].parent_id, 7);
    reading_end(&reading);
}

static void a_networks_leases_name_its_reservations(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading,
               "<VNET><ID>8</ID><NAME>p</NAME><VN_MAD>ibrec</VN_MAD><AR_POOL><AR><LEASES>"
               "<LEASE><MAC>02:00:0a:00:00:01</MAC><VNET>11</VNET></LEASE>"
               "<LEASE><MAC>02:00:0a:00:00:02</MAC><VNET>9</VNET></LEASE>"
               "<LEASE><MAC>02:00:0a:00:00:03</MAC><VM>12</VM></LEASE></LEASES></AR><AR><LEASES>"
               "<LEASE><MAC>02:00:0a:00:01:01</MAC><VNET>11</VNET></LEASE>"
               "<LEASE><MAC>02:00:0a:00:01:02</MAC><VNET>x</VNET></LEASE>"
               "</LEASES></AR></AR_POOL></VNET>");
    const struct oneib_network *network = &reading.cloud.networks[0];
    assert_true(oneib_network_has_reservation(network, 9));
    assert_true(oneib_network_has_reservation(network, 11));
    assert_false(oneib_network_has_reservation(network, 12));
    assert_int_equal(network->lease_count, 1);
    assert_int_equal(reading.findings.count, 0);
    reading_end(&reading);
}

static void a_parent_that_is_no_id_is_none_and_told(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading, "<VNET><ID>8</ID><NAME>r</NAME><PARENT_NETWORK_ID>-7</PARENT_NETWORK_ID>"
                         "<VN_MAD>ibrec</VN_MAD></VNET>");
    assert_int_equal(reading.cloud.networks[0].parent_id, ONEIB_NO_ID);
    must_find(&reading, "document-invalid", "network 8");
    reading_end(&reading);
}

static void a_membership_is_read_without_case(void **state)
{
    struct reading reading;
    (void)state;
    assert_int_equal(
        network_saying(&reading, "", "<IB_MEMBERSHIP>Limited</IB_MEMBERSHIP>")->membership,
        ONEIB_LIMITED);
    assert_int_equal(reading.findings.count, 0);
    reading_end(&reading);
    assert_int_equal(
        network_saying(&reading, "", "<IB_MEMBERSHIP>FULL</IB_MEMBERSHIP>")->membership,
        ONEIB_FULL);
    reading_end(&reading);
}

static void a_membership_that_is_neither_is_limited(void **state)
{
    static const char *const bad[] = {"both", "", "fulll", " full"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct reading reading;
        oneib_autotext struct oneib_text template = {0};
        oneib_text_printf(&template, "<IB_MEMBERSHIP>%s</IB_MEMBERSHIP>", bad[i]);
        assert_int_equal(network_saying(&reading, "", template.data)->membership, ONEIB_LIMITED);
        must_find(&reading, "membership-invalid", "network 7 \"ib\": IB_MEMBERSHIP ");
        reading_end(&reading);
    }
}

static void two_memberships_are_limited(void **state)
{
    struct reading reading;
    (void)state;
    const struct oneib_network *network = network_saying(
        &reading, "", "<IB_MEMBERSHIP>full</IB_MEMBERSHIP><IB_MEMBERSHIP>full</IB_MEMBERSHIP>");
    assert_int_equal(network->membership, ONEIB_LIMITED);
    must_find(&reading, "membership-invalid", "more than once");
    reading_end(&reading);
}

static void reservations_share_only_when_it_says_shared(void **state)
{
    struct reading reading;
    (void)state;
    assert_true(network_saying(&reading, "", "<IB_RESERVATION>Shared</IB_RESERVATION>")
                    ->reservations_share);
    assert_int_equal(reading.findings.count, 0);
    reading_end(&reading);
    assert_false(
        network_saying(&reading, "", "<IB_RESERVATION>yes</IB_RESERVATION>")->reservations_share);
    must_find(&reading, "reservation-invalid", "network 7 \"ib\": IB_RESERVATION \"yes\"");
    reading_end(&reading);
}

static void static_members_are_limited_unless_they_say_full(void **state)
{
    struct reading reading;
    (void)state;
    const struct oneib_network *network =
        network_saying(&reading, "",
                       "<IB_STATIC_GUIDS><![CDATA[0x0002c90300112233=full, 0x10 ,"
                       "\n0x0002c90300112244 = LIMITED]]></IB_STATIC_GUIDS>");
    assert_int_equal(network->static_count, 3);
    assert_true(network->static_members[0].guid == 0x0002c90300112233);
    assert_int_equal(network->static_members[0].membership, ONEIB_FULL);
    assert_true(network->static_members[1].guid == 0x10);
    assert_int_equal(network->static_members[1].membership, ONEIB_LIMITED);
    assert_int_equal(network->static_members[2].membership, ONEIB_LIMITED);
    assert_int_equal(reading.findings.count, 0);
    reading_end(&reading);
}

static void a_bad_static_member_is_left_out_and_the_others_stay(void **state)
{
    struct reading reading;
    (void)state;
    const struct oneib_network *network = network_saying(
        &reading, "",
        "<IB_STATIC_GUIDS>0x11,0x12=both,ALL=full,0x0,0xffffffffffffffff,,0x13=,0x14 : x;,0x15"
        "</IB_STATIC_GUIDS>");
    assert_int_equal(network->static_count, 2);
    assert_true(network->static_members[0].guid == 0x11);
    assert_true(network->static_members[1].guid == 0x15);
    must_find(&reading, "static-guid-invalid", "network 7 \"ib\": IB_STATIC_GUIDS has 7 items");
    must_find(&reading, "static-guid-invalid", "\"0x12=both\"");
    reading_end(&reading);
}

static void a_list_of_a_thousand_static_members_is_read(void **state)
{
    struct reading reading;
    oneib_autotext struct oneib_text template = {0};
    (void)state;
    oneib_text_append(&template, "<IB_STATIC_GUIDS><![CDATA[0x1");
    for (unsigned i = 2; i <= 1000; i++)
        oneib_text_printf(&template, ", 0x%016x=full", i);
    oneib_text_append(&template, "]]></IB_STATIC_GUIDS>");
    assert_int_equal(network_saying(&reading, "", template.data)->static_count, 1000);
    assert_true(reading.cloud.networks[0].static_members[999].guid == 1000);
    assert_int_equal(reading.findings.count, 0);
    reading_end(&reading);
}

static void a_list_of_static_members_that_is_too_long_gives_none(void **state)
{
    struct reading reading;
    oneib_autotext struct oneib_text template = {0};
    (void)state;
    oneib_text_append(&template, "<IB_STATIC_GUIDS><![CDATA[0x1");
    for (unsigned i = 2; i <= 20000; i++)
        oneib_text_printf(&template, ", 0x%016x=full", i);
    oneib_text_append(&template, "]]></IB_STATIC_GUIDS>");
    assert_int_equal(network_saying(&reading, "", template.data)->static_count, 0);
    must_find(&reading, "static-guid-invalid", "is too long");
    reading_end(&reading);
}

static void a_device_may_have_a_port(void **state)
{
    struct reading reading;
    (void)state;
    const struct oneib_network *network =
        network_saying(&reading, "<PHYDEV>mlx5_1:2</PHYDEV>", "<PHYDEV>mlx4_0</PHYDEV>");
    assert_string_equal(network->device, "mlx5_1");
    assert_int_equal(network->device_port, 2);
    assert_false(network->device_invalid);
    reading_end(&reading);
}

static void a_bad_device_is_invalid_and_shown(void **state)
{
    static const char *const bad[] = {
        "mlx5_0:",  "mlx5_0:0", "mlx5_0:255", "mlx5_0:1:2", "mlx5_0:01",
        ":1",       "mlx5 0",   "../mlx5",    "mlx5_0;",    "a23456789012345678901234567890123",
        "mlx5_0:x",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct reading reading;
        oneib_autotext struct oneib_text own = {0};
        oneib_text_printf(&own, "<PHYDEV>%s</PHYDEV>", bad[i]);
        const struct oneib_network *network = network_saying(&reading, own.data, "");
        assert_true(network->device_invalid);
        assert_string_equal(network->device, "");
        must_find(&reading, "phydev-text", bad[i]);
        reading_end(&reading);
    }
}

static void mtu_and_rate_are_numbers_or_not_said(void **state)
{
    struct reading reading;
    (void)state;
    const struct oneib_network *network =
        network_saying(&reading, "", "<MTU>4092</MTU><IB_RATE>40</IB_RATE>");
    assert_int_equal(network->mtu_bytes, 4092);
    assert_int_equal(network->rate_gbps, 40);
    reading_end(&reading);

    network = network_saying(&reading, "", "<MTU>70000</MTU><IB_RATE>fast</IB_RATE>");
    assert_int_equal(network->mtu_bytes, 0);
    assert_int_equal(network->rate_gbps, 0);
    must_find(&reading, "mtu-invalid", "MTU \"70000\"");
    must_find(&reading, "rate-invalid", "IB_RATE \"fast\"");
    reading_end(&reading);
}

static void a_class_is_a_name_and_a_level_that_is_shown_a_number(void **state)
{
    struct reading reading;
    (void)state;
    const struct oneib_network *network =
        network_saying(&reading, "", "<IB_CLASS>gold</IB_CLASS><IB_SL>3</IB_SL>");
    assert_string_equal(network->qos_class, "gold");
    assert_false(network->class_invalid);
    assert_int_equal(network->shown_sl, 3);
    reading_end(&reading);

    network = network_saying(&reading, "", "<IB_CLASS>a b</IB_CLASS><IB_SL>0</IB_SL>");
    assert_string_equal(network->qos_class, "");
    assert_true(network->class_invalid);
    assert_int_equal(network->shown_sl, ONEIB_SL_INVALID);
    reading_end(&reading);

    network = network_saying(
        &reading, "", "<IB_CLASS>abcdefghijklmnopqrstuvwxyzabcdef</IB_CLASS><IB_SL>16</IB_SL>");
    assert_true(network->class_invalid);
    assert_int_equal(network->shown_sl, ONEIB_SL_INVALID);
    reading_end(&reading);

    network = network_saying(&reading, "", "<IB_CLASS></IB_CLASS>");
    assert_false(network->class_invalid);
    assert_int_equal(network->shown_sl, 0);
    reading_end(&reading);
}

static void a_network_without_an_id_is_left_out(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading, "<VNET_POOL><VNET><VN_MAD>ibrec</VN_MAD></VNET>"
                         "<VNET><ID>7</ID><NAME>x</NAME><VN_MAD>ibrec</VN_MAD></VNET></VNET_POOL>");
    assert_int_equal(reading.cloud.network_count, 1);
    assert_int_equal(reading.cloud.networks[0].id, 7);
    must_find(&reading, "document-invalid", "left out");
    reading_end(&reading);
}

static void a_name_full_of_opensm_syntax_is_only_a_name(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading, "<VNET><ID>7</ID><NAME>x=0x7fff : ALL=full;</NAME>"
                         "<VN_MAD>ibrec</VN_MAD></VNET>");
    assert_string_equal(reading.cloud.networks[0].name, "x=0x7fff : ALL=full;");
    assert_int_equal(reading.findings.count, 0);
    reading_end(&reading);
}

static void a_name_of_megabytes_is_dropped_and_the_network_stays(void **state)
{
    struct reading reading;
    oneib_autotext struct oneib_text xml = {0};
    (void)state;
    oneib_text_append(&xml, "<VNET><ID>7</ID><NAME>");
    for (size_t i = 0; i < 9u << 20; i += 8)
        oneib_text_append(&xml, "namename");
    oneib_text_append(&xml, "</NAME><VN_MAD>ibrec</VN_MAD><VLAN_ID>5</VLAN_ID></VNET>");
    begin_with(&reading, xml.data);
    assert_int_equal(reading.cloud.network_count, 1);
    assert_string_equal(reading.cloud.networks[0].name, "");
    assert_int_equal(reading.cloud.networks[0].pkey, 5);
    must_find(&reading, "name-invalid", "network 7");
    reading_end(&reading);
}

static void a_networks_owner_is_read_where_oned_says_it(void **state)
{
    (void)state;
    struct reading reading;
    const struct oneib_network *network = network_saying(
        &reading, "<UID>4</UID><GID>100</GID><UNAME>alice</UNAME><GNAME>physics</GNAME>", "");
    assert_int_equal(network->uid, 4);
    assert_int_equal(network->gid, 100);
    assert_string_equal(network->owner, "alice");
    assert_string_equal(network->group, "physics");
    reading_end(&reading);

    network = network_saying(&reading, "<UNAME>a</UNAME><UNAME>b</UNAME><UID>x</UID>",
                             "<UNAME>mallory</UNAME><GNAME>mallory</GNAME>");
    assert_int_equal(network->uid, ONEIB_NO_ID);
    assert_null(network->owner);
    assert_null(network->group);
    reading_end(&reading);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_recorded_pool_has_two_networks_of_ours),
        cmocka_unit_test(only_our_networks_name_vms),
        cmocka_unit_test(a_network_is_being_created_while_oned_locks_it_for_that),
        cmocka_unit_test(all_four_lists_name_vms),
        cmocka_unit_test(leases_are_those_of_vms_with_their_addresses),
        cmocka_unit_test(a_lease_without_an_address_is_nobodys),
        cmocka_unit_test(an_entry_of_a_list_that_is_no_id_is_told),
        cmocka_unit_test(the_driver_is_compared_without_case),
        cmocka_unit_test(the_driver_in_the_template_alone_does_not_count),
        cmocka_unit_test(a_network_of_another_driver_is_kept_as_that),
        cmocka_unit_test(what_is_odd_about_another_drivers_network_is_no_finding),
        cmocka_unit_test(a_network_without_a_driver_is_another_drivers),
        cmocka_unit_test(a_network_with_two_drivers_is_nobodys),
        cmocka_unit_test(the_key_of_the_element_wins_over_the_templates),
        cmocka_unit_test(an_element_that_was_emptied_has_no_key),
        cmocka_unit_test(without_the_element_the_templates_key_counts),
        cmocka_unit_test(the_first_and_the_last_key_are_keys),
        cmocka_unit_test(a_bad_key_is_invalid_and_shown),
        cmocka_unit_test(two_keys_are_invalid),
        cmocka_unit_test(a_key_of_ten_megabytes_is_invalid_and_shown_shortened),
        cmocka_unit_test(a_reservation_names_its_parent),
        cmocka_unit_test(a_networks_leases_name_its_reservations),
        cmocka_unit_test(a_parent_that_is_no_id_is_none_and_told),
        cmocka_unit_test(a_membership_is_read_without_case),
        cmocka_unit_test(a_membership_that_is_neither_is_limited),
        cmocka_unit_test(two_memberships_are_limited),
        cmocka_unit_test(reservations_share_only_when_it_says_shared),
        cmocka_unit_test(static_members_are_limited_unless_they_say_full),
        cmocka_unit_test(a_bad_static_member_is_left_out_and_the_others_stay),
        cmocka_unit_test(a_list_of_a_thousand_static_members_is_read),
        cmocka_unit_test(a_list_of_static_members_that_is_too_long_gives_none),
        cmocka_unit_test(a_device_may_have_a_port),
        cmocka_unit_test(a_bad_device_is_invalid_and_shown),
        cmocka_unit_test(mtu_and_rate_are_numbers_or_not_said),
        cmocka_unit_test(a_class_is_a_name_and_a_level_that_is_shown_a_number),
        cmocka_unit_test(a_network_without_an_id_is_left_out),
        cmocka_unit_test(a_networks_owner_is_read_where_oned_says_it),
        cmocka_unit_test(a_name_full_of_opensm_syntax_is_only_a_name),
        cmocka_unit_test(a_name_of_megabytes_is_dropped_and_the_network_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
