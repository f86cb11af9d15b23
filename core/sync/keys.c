// SPDX-License-Identifier: Apache-2.0
#include "sync/keys.h"
#include "base/cleanup.h"
#include "opennebula/documents.h"
#include "xml/reader.h"
#include "xml/values.h"
#include <inttypes.h>

#define WORD_LENGTH 64

static int judge(const struct oneib_value *bridge, const struct oneib_value *vlan_id,
                 const struct oneib_new_network *network, struct oneib_error *err)
{
    oneib_pkey pkey;
    if (oneib_value_key(vlan_id, &pkey) == ONEIB_KEY_INVALID)
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "the VLAN_ID of network %" PRIu32 " is no P_Key: write a decimal number "
                          "from 1 to 32766, or leave it out to have one chosen",
                          network->id);
    if (!oneib_value_is_empty(bridge))
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "network %" PRIu32 " has a BRIDGE, which its VMs would be connected to: "
                          "leave it out, and see that oned.conf has VN_MAD_CONF = [ NAME = "
                          "\"infiniband\", BRIDGE_TYPE = \"none\" ]",
                          network->id);
    return 0;
}

static int read_network(struct oneib_reader *reader, const char *vn_mad,
                        struct oneib_new_network *network, struct oneib_error *err)
{
    enum { ID, PARENT, VN_MAD, BRIDGE, VLAN_ID, FIELDS };
    static const struct oneib_field fields[FIELDS] = {
        [ID] = {ONEIB_NAME_ID, ONEIB_NUMBER_LENGTH},
        [PARENT] = {ONEIB_NAME_PARENT_NETWORK_ID, ONEIB_NUMBER_LENGTH},
        [VN_MAD] = {ONEIB_NAME_VN_MAD, WORD_LENGTH},
        [BRIDGE] = {ONEIB_NAME_BRIDGE, WORD_LENGTH},
        [VLAN_ID] = {ONEIB_NAME_VLAN_ID, WORD_LENGTH},
    };
    struct oneib_value values[FIELDS];
    if (oneib_reader_root(reader, err) < 0)
        return -1;
    if (!oneib_reader_at(reader, ONEIB_NAME_VNET))
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "the document is not a network's");
    if (oneib_reader_fields(reader, fields, FIELDS, values, err) < 0 ||
        oneib_reader_finish(reader, err) < 0)
        return -1;
    if (!oneib_value_id(&values[ID], &network->id))
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "the network's document has no id");
    if (!oneib_value_is_empty(&values[PARENT]) &&
        !oneib_value_id(&values[PARENT], &network->parent_id))
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                          "the document of network %" PRIu32 " names no network as its parent",
                          network->id);
    network->has_vlan_id = !oneib_value_is_empty(&values[VLAN_ID]);
    network->ours = oneib_value_equals(&values[VN_MAD], vn_mad);
    return network->ours ? judge(&values[BRIDGE], &values[VLAN_ID], network, err) : 0;
}

int oneib_new_network_parse(const char *xml, size_t length, const char *vn_mad,
                            struct oneib_new_network *network, struct oneib_error *err)
{
    *network = (struct oneib_new_network){.parent_id = ONEIB_NO_ID};
    oneib_autoreader struct oneib_reader *reader = oneib_reader_open(xml, length, err);
    return reader ? read_network(reader, vn_mad, network, err) : -1;
}

int oneib_read_network_alone(struct oneib_one *one, uint32_t id, const char *vn_mad,
                             struct oneib_cloud *cloud, struct oneib_error *err)
{
    oneib_autofree char *xml = NULL;
    size_t length;
    oneib_autofindings struct oneib_findings findings = {0};
    oneib_autodocuments struct oneib_documents documents = {
        .cloud = cloud, .findings = &findings, .vn_mad = vn_mad};
    if (oneib_one_network(one, id, &xml, &length, err) < 0)
        return -1;
    return oneib_documents_read_networks(&documents, xml, length, err);
}

/* The parent's document says so, never the reservation's copy of it. */
static int does_parent_share(struct oneib_one *one, uint32_t parent_id, const char *vn_mad,
                             bool *shares, struct oneib_error *err)
{
    oneib_autocloud struct oneib_cloud cloud = {0};
    const int outcome = oneib_read_network_alone(one, parent_id, vn_mad, &cloud, err);
    const struct oneib_network *parent = oneib_cloud_network(&cloud, parent_id);
    *shares = parent && parent->reservations_share;
    return outcome;
}

int oneib_take_parents_key(struct oneib_one *one, const struct oneib_new_network *network,
                           const char *vn_mad, struct oneib_error *err)
{
    bool shares = false;
    if (!network->ours || network->parent_id == ONEIB_NO_ID || !network->has_vlan_id)
        return 0;
    if (does_parent_share(one, network->parent_id, vn_mad, &shares, err) < 0)
        return oneib_wrap(err, "looking at the network that network %" PRIu32 " is reserved from",
                          network->id);
    return shares ? 0 : oneib_one_remove_pkey(one, network->id, err);
}
