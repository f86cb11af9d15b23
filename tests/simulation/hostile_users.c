// SPDX-License-Identifier: Apache-2.0
#include "hostile_users.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_UID 7 /* of users without rights */
#define USERS 3

/* $N network, $K its key, $V VM, $P port GUID, $H host. */
struct forgery {
    const char *name, *text;
};

static const struct forgery in_vms[] = {
    {"an element without an end", "]]></NOTE><A><NOTE><![CDATA["},
    {"a comment without an end", "]]></NOTE><!-- <NOTE><![CDATA["},
    {"an instruction without an end", "]]></NOTE><? <NOTE><![CDATA["},
    {"a VM within", "]]></NOTE><VM><ID>1</ID></VM><NOTE><![CDATA["},
    {"a VM beside it", "]]></NOTE></USER_TEMPLATE></VM><VM><ID>$V</ID><UID>0</UID><GID>0</GID>"
                       "<TEMPLATE><NIC><NIC_ID>1</NIC_ID><NETWORK_ID>$N</NETWORK_ID>"
                       "<VN_MAD>infiniband</VN_MAD></NIC></TEMPLATE><USER_TEMPLATE>"
                       "<NOTE><![CDATA["},
    {"a stranger's NIC", "]]></NOTE></USER_TEMPLATE><TEMPLATE><NIC><NIC_ID>1</NIC_ID>"
                         "<NETWORK_ID>$N</NETWORK_ID><VN_MAD>infiniband</VN_MAD>"
                         "<VLAN_ID>$K</VLAN_ID></NIC></TEMPLATE><USER_TEMPLATE><NOTE><![CDATA["},
    {"a history", "]]></NOTE></USER_TEMPLATE><HISTORY_RECORDS><HISTORY><OID>$V</OID><SEQ>9</SEQ>"
                  "<HID>$H</HID><STIME>1</STIME><ETIME>0</ETIME></HISTORY></HISTORY_RECORDS>"
                  "<USER_TEMPLATE><NOTE><![CDATA["},
    {"another state", "]]></NOTE></USER_TEMPLATE><UID>0</UID><STATE>6</STATE>"
                      "<LCM_STATE>0</LCM_STATE><USER_TEMPLATE><NOTE><![CDATA["},
    {"operators' attributes", "]]></NOTE><IB_STATIC_GUIDS>$P=full</IB_STATIC_GUIDS>"
                              "<VLAN_ID>$K</VLAN_ID><NOTE><![CDATA["},
};

static const struct forgery in_nics[] = {
    {"its NETWORK_ID", "NETWORK_ID=$N"},
    {"its VLAN_ID", "VLAN_ID=$K"},
    {"NETWORK_ID and VLAN_ID", "NETWORK_ID=$N\nVLAN_ID=$K\nNIC_ID=1"},
    {"a name that goes on", "NAME=]]></NAME><NETWORK_ID>$N</NETWORK_ID><VLAN_ID>$K</VLAN_ID>"
                            "<NAME><![CDATA["},
    {"a NIC beside it", "NAME=]]></NAME></NIC><NIC><NIC_ID>1</NIC_ID><NETWORK_ID>$N</NETWORK_ID>"
                        "<VN_MAD>infiniband</VN_MAD><VLAN_ID>$K</VLAN_ID><NAME><![CDATA["},
    {"odd addresses", "IP=999.0.0.256\nMAC=02:00:zz:00:00:00:00"},
    {"operators' attributes", "IB_MEMBERSHIP=full\nIB_STATIC_GUIDS=$P=full"},
};

static const struct forgery in_networks[] = {
    {"static members", "IB_STATIC_GUIDS=$P=full"},
    {"a rate and a membership", "IB_RATE=2\nIB_MEMBERSHIP=full\nIB_RESERVATION=own"},
    {"static members by an injection",
     "NOTE=]]></NOTE><IB_STATIC_GUIDS>$P=full</IB_STATIC_GUIDS><NOTE><![CDATA["},
    {"a key by an injection", "NOTE=]]></NOTE></TEMPLATE><VLAN_ID>$K</VLAN_ID><TEMPLATE>"
                              "<NOTE><![CDATA["},
    {"an operator's network", "NOTE=]]></NOTE></TEMPLATE><UID>0</UID><GID>0</GID>"
                              "<PARENT_NETWORK_ID/><VLAN_ID>$K</VLAN_ID><TEMPLATE>"
                              "<IB_STATIC_GUIDS>$P=full</IB_STATIC_GUIDS><NOTE><![CDATA["},
    {"another parent", "NOTE=]]></NOTE></TEMPLATE><PARENT_NETWORK_ID>$N</PARENT_NETWORK_ID>"
                       "<TEMPLATE><NOTE><![CDATA["},
    {"a stranger's network", "NOTE=]]></NOTE></TEMPLATE></VNET><VNET><ID>$N</ID><UID>0</UID>"
                             "<GID>0</GID><VN_MAD>infiniband</VN_MAD><VLAN_ID>4000</VLAN_ID>"
                             "<TEMPLATE><NOTE><![CDATA["},
    {"leases", "NOTE=]]></NOTE></TEMPLATE><AR_POOL><AR><ALLOCATED> 0 68719476736 "
               "99999999999999999999 -1</ALLOCATED><LEASES><LEASE><IP>999.0.0.256</IP>"
               "<MAC>zz</MAC><VM>$V</VM></LEASE></LEASES></AR></AR_POOL><TEMPLATE>"
               "<NOTE><![CDATA["},
    {"an element without an end", "NOTE=]]></NOTE><A><NOTE><![CDATA["},
    {"a comment without an end", "NOTE=]]></NOTE><!-- <NOTE><![CDATA["},
    {"an instruction without an end", "NOTE=]]></NOTE><? <NOTE><![CDATA["},
    {"nothing odd", "NOTE=well"},
};

static void write_aim(char placeholder, const struct hostile_aim *aim, char *end, size_t room)
{
    if (placeholder == 'N')
        snprintf(end, room, "%" PRIu32, aim->network);
    else if (placeholder == 'K')
        snprintf(end, room, "%u", aim->key);
    else if (placeholder == 'V')
        snprintf(end, room, "%" PRIu32, aim->vm);
    else if (placeholder == 'P')
        snprintf(end, room, "0x%016" PRIx64, aim->port);
    else
        snprintf(end, room, "%" PRIu32, aim->host);
}

static const char *write_one(const struct forgery *forgeries, size_t count, struct walk *dice,
                             const struct hostile_aim *aim, char text[HOSTILE_TEXT_SIZE])
{
    const struct forgery *chosen = &forgeries[walk_dice(dice, count)];
    size_t length = 0;
    for (const char *c = chosen->text; *c && length + 1 < HOSTILE_TEXT_SIZE; c++)
        if (*c == '$') {
            write_aim(*++c, aim, text + length, HOSTILE_TEXT_SIZE - length);
            length += strlen(text + length);
        } else {
            text[length++] = *c;
        }
    text[length] = '\0';
    return chosen->name;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

const char *hostile_vm_text(struct walk *dice, const struct hostile_aim *aim,
                            char text[HOSTILE_TEXT_SIZE])
{
    return write_one(in_vms, COUNT(in_vms), dice, aim, text);
}

const char *hostile_nic_text(struct walk *dice, const struct hostile_aim *aim,
                             char text[HOSTILE_TEXT_SIZE])
{
    return write_one(in_nics, COUNT(in_nics), dice, aim, text);
}

static int reserve(struct hostile_users *users, uint32_t *reservation, uint32_t parent,
                   char *action, size_t size, struct oneib_error *err)
{
    const uint32_t uid = FIRST_UID + (uint32_t)walk_dice(users->dice, USERS);
    if (lab_network_reserve(users->lab, parent, "theirs", reservation, err) < 0)
        return -1;
    snprintf(action, size, "user %" PRIu32 " reserves %" PRIu32 " from network %" PRIu32, uid,
             *reservation, parent);
    return lab_network_give(users->lab, *reservation, uid, err);
}

static int forget(struct hostile_users *users, uint32_t *reservation, char *action, size_t size,
                  struct oneib_error *err)
{
    const uint32_t id = *reservation;
    snprintf(action, size, "reservation %" PRIu32 " is deleted", id);
    *reservation = 0;
    return lab_network_delete(users->lab, id, err);
}

static int forge(struct hostile_users *users, uint32_t reservation, const struct hostile_aim *aim,
                 char *action, size_t size, struct oneib_error *err)
{
    char text[HOSTILE_TEXT_SIZE];
    const char *name = write_one(in_networks, COUNT(in_networks), users->dice, aim, text);
    snprintf(action, size, "the owner of reservation %" PRIu32 " writes %s", reservation, name);
    return lab_network_update(users->lab, reservation, text, err);
}

int hostile_reserve(struct hostile_users *users, uint32_t parent, const struct hostile_aim *aim,
                    char *action, size_t size, struct oneib_error *err)
{
    uint32_t *reservation = &users->reservations[walk_dice(users->dice, HOSTILE_RESERVATIONS)];
    if (*reservation == 0 && reserve(users, reservation, parent, action, size, err) < 0)
        return -1;
    return walk_dice(users->dice, 4) == 0 ? forget(users, reservation, action, size, err)
                                          : forge(users, *reservation, aim, action, size, err);
}
