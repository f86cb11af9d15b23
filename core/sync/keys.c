// SPDX-License-Identifier: Apache-2.0
#include "sync/keys.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/file_lock.h"
#include "model/desired.h"
#include "one/gather.h"
#include "xml/reader.h"
#include "xml/values.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#define WORD_LENGTH 64
#define FRAGMENT_MAX_SIZE ((size_t)256 << 20)
#define LOCK_WAIT_MS 120000
/* Somebody would have to take the very key that was chosen, each time. */
#define CHOICES_MAX 16

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
    enum { ID, VN_MAD, BRIDGE, VLAN_ID, FIELDS };
    static const struct oneib_field fields[FIELDS] = {
        [ID] = {ONEIB_NAME_ID, ONEIB_NUMBER_LENGTH},
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
    network->ours = oneib_value_equals(&values[VN_MAD], vn_mad);
    return network->ours ? judge(&values[BRIDGE], &values[VLAN_ID], network, err) : 0;
}

int oneib_new_network_parse(const char *xml, size_t length, const char *vn_mad,
                            struct oneib_new_network *network, struct oneib_error *err)
{
    *network = (struct oneib_new_network){0};
    struct oneib_reader *reader = oneib_reader_open(xml, length, err);
    if (!reader)
        return -1;
    const int outcome = read_network(reader, vn_mad, network, err);
    oneib_reader_close(reader);
    return outcome;
}

static int take_lock(const char *path, int *lock, struct oneib_error *err)
{
    struct oneib_file_lock_holder holder;
    oneib_autoclose int fd = -1;
    if (oneib_file_lock_open(AT_FDCWD, path, path, &fd, err) < 0 ||
        oneib_file_lock_wait(fd, path, ONEIB_FILE_LOCK_OF_DESCRIPTOR, LOCK_WAIT_MS, &holder, err) <
            0)
        return -1;
    if (!holder.is_this)
        return oneib_fail(
            err, ONEIB_ERROR_TIMEOUT,
            "another network is being given its P_Key (process %d, lock %s), and that "
            "takes more than %d s: delete this network and create it again",
            holder.process, path, LOCK_WAIT_MS / 1000);
    *lock = fd;
    fd = -1;
    return 0;
}

/* Everything that a choice follows from. */
struct look {
    struct oneib_cloud cloud;
    struct oneib_findings findings;
    struct oneib_partition_table fragment;
};

static void clear_look(struct look *look)
{
    oneib_cloud_clear(&look->cloud);
    oneib_findings_clear(&look->findings);
    oneib_partition_table_clear(&look->fragment);
}

/* It belongs to the host of the subnet manager; on the front-end it may be absent, or not for
 * oneadmin's eyes. What is read must be right, though. */
static int read_fragment(const char *path, struct oneib_partition_table *fragment,
                         struct oneib_error *err)
{
    struct oneib_error failure;
    oneib_autofree char *data = NULL;
    size_t length;
    if (oneib_file_read(path, FRAGMENT_MAX_SIZE, &data, &length, &failure) == 0)
        return oneib_partitions_parse(data, length, path, fragment, err);
    if (failure.code == ONEIB_ERROR_NOT_FOUND || failure.system_errno == EACCES)
        return 0;
    *err = failure;
    return oneib_wrap(err, "reading the operator's partitions");
}

static struct oneib_gather_options gathering_of(const struct oneib_config *config)
{
    return (struct oneib_gather_options){
        .vn_mad = config->one.vn_mad,
        .window = config->one.window,
        .acl_user = config->one.acl_user,
    };
}

static int take_look(const struct oneib_config *config, struct oneib_one *one, struct look *look,
                     struct oneib_error *err)
{
    const struct oneib_gather_options options = gathering_of(config);
    if (read_fragment(config->opensm.fragment, &look->fragment, err) < 0)
        return -1;
    return oneib_gather(one, &options, &look->cloud, &look->findings, err);
}

int oneib_read_networks(const struct oneib_config *config, struct oneib_one *one,
                        struct oneib_cloud *cloud, struct oneib_error *err)
{
    const struct oneib_gather_options options = gathering_of(config);
    struct oneib_findings findings = {0};
    if (oneib_gather_networks(one, &options, cloud, &findings, err) < 0)
        return oneib_wrap(err, "looking whether a P_Key was given twice");
    oneib_findings_clear(&findings);
    return 0;
}

static struct oneib_network *find_network(struct oneib_cloud *cloud, uint32_t id)
{
    for (size_t i = 0; i < cloud->network_count; i++)
        if (cloud->networks[i].id == id)
            return &cloud->networks[i];
    return NULL;
}

const struct oneib_network *oneib_key_holder(const struct oneib_cloud *cloud, uint32_t id,
                                             oneib_pkey pkey)
{
    for (size_t i = 0; i < cloud->network_count; i++) {
        const struct oneib_network *network = &cloud->networks[i];
        if (network->id != id && network->key_state == ONEIB_KEY_VALID && network->pkey == pkey)
            return network;
    }
    return NULL;
}

static bool fragment_has(const struct oneib_partition_table *fragment, oneib_pkey pkey)
{
    for (size_t i = 0; i < fragment->count; i++)
        if (fragment->items[i].pkey == pkey)
            return true;
    return false;
}

static const struct oneib_attachment *claimant_of(const struct oneib_cloud *cloud, oneib_pkey pkey)
{
    for (size_t i = 0; i < cloud->attachment_count; i++)
        if (cloud->attachments[i].claim == ONEIB_KEY_VALID &&
            cloud->attachments[i].claimed_pkey == pkey)
            return &cloud->attachments[i];
    return NULL;
}

/* The operator's choice stands or falls: it is never replaced by another key. */
static int check_chosen(const struct look *look, const struct oneib_network *own,
                        struct oneib_error *err)
{
    char who[80];
    const struct oneib_network *holder = oneib_key_holder(&look->cloud, own->id, own->pkey);
    const struct oneib_attachment *claimant = claimant_of(&look->cloud, own->pkey);
    if (holder)
        snprintf(who, sizeof who, "network %" PRIu32 " has", holder->id);
    else if (fragment_has(&look->fragment, own->pkey))
        snprintf(who, sizeof who, "the operator's own partitions have");
    else if (claimant)
        snprintf(who, sizeof who, "VM %" PRIu32 " NIC %u still has", claimant->vm_id,
                 claimant->nic_id);
    else
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "network %" PRIu32 " cannot have P_Key 0x%04x (VLAN_ID %u), which %s: choose "
                      "another VLAN_ID, or leave it out to have one chosen",
                      own->id, own->pkey, own->pkey, who);
}

/* What the model says the network should have. */
struct choice {
    bool shares;
    bool requested;
    oneib_pkey pkey; /* when requested; 0: there is none left */
};

static struct choice read_choice(const struct oneib_desired *desired, uint32_t id)
{
    struct choice choice = {0};
    for (size_t i = 0; i < desired->sharer_count; i++)
        choice.shares |= desired->sharers[i].network_id == id;
    for (size_t i = 0; i < desired->request_count; i++) {
        if (desired->requests[i].network_id != id)
            continue;
        choice.requested = true;
        choice.pkey = desired->requests[i].pkey;
    }
    return choice;
}

static int choose(const struct oneib_config *config, const struct look *look, uint32_t id,
                  struct choice *choice, struct oneib_error *err)
{
    const struct oneib_policy policy = {
        .site = config->site,
        .pkey_first = config->pkeys.first,
        .pkey_last = config->pkeys.last,
    };
    const struct oneib_desired_input input = {
        .cloud = &look->cloud, .policy = &policy, .fragment = &look->fragment};
    struct oneib_desired desired = {0};
    if (oneib_desired_compute(&input, &desired, err) < 0)
        return -1;
    *choice = read_choice(&desired, id);
    oneib_desired_clear(&desired);
    return 0;
}

/* Finds the network as oned has it now, ready to be chosen for. */
static int find_own(struct look *look, uint32_t id, struct oneib_network **own,
                    struct oneib_error *err)
{
    *own = find_network(&look->cloud, id);
    if (!*own)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                          "oned does not show network %" PRIu32 ", which is being created", id);
    if ((*own)->unreadable)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                          "the document of network %" PRIu32 " is malformed: delete it, and look "
                          "at what its template holds",
                          id);
    (*own)->being_created = false;
    return 0;
}

/* A key that the network has and keeps. */
static int keep_chosen(const struct look *look, const struct oneib_network *own, oneib_pkey *pkey,
                       struct oneib_error *err)
{
    *pkey = own->pkey;
    if (own->key_state == ONEIB_KEY_VALID)
        return check_chosen(look, own, err);
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "network %" PRIu32 " can be given no P_Key: its VLAN_ID is none, or it is a "
                      "reservation from a network that cannot be read",
                      own->id);
}

/* Without the key that it was given before and that another network has too. */
static int choose_anew(const struct oneib_config *config, struct oneib_one *one, uint32_t id,
                       oneib_pkey given_up, struct choice *choice, struct oneib_error *err)
{
    struct look look = {0};
    struct oneib_network *own = NULL;
    int outcome = take_look(config, one, &look, err);
    if (outcome == 0)
        outcome = find_own(&look, id, &own, err);
    if (outcome == 0 && given_up && own->key_state == ONEIB_KEY_VALID && own->pkey == given_up)
        own->key_state = ONEIB_KEY_MISSING;
    if (outcome == 0)
        outcome = choose(config, &look, id, choice, err);
    if (outcome == 0 && !choice->requested && !choice->shares)
        outcome = keep_chosen(&look, own, &choice->pkey, err);
    clear_look(&look);
    return outcome;
}

static int write_key(const struct oneib_config *config, struct oneib_one *one, uint32_t id,
                     oneib_pkey pkey, bool *is_anothers, struct oneib_error *err)
{
    struct oneib_cloud cloud = {0};
    if (oneib_one_set_pkey(one, id, pkey, err) < 0 ||
        oneib_read_networks(config, one, &cloud, err) < 0)
        return -1;
    *is_anothers = oneib_key_holder(&cloud, id, pkey) != NULL;
    oneib_cloud_clear(&cloud);
    return 0;
}

static int give(const struct oneib_config *config, struct oneib_one *one, uint32_t id,
                oneib_pkey *pkey, struct oneib_error *err)
{
    oneib_pkey given_up = 0;
    for (unsigned choices = 0; choices < CHOICES_MAX; choices++) {
        struct choice choice = {0};
        if (choose_anew(config, one, id, given_up, &choice, err) < 0)
            return -1;
        *pkey = choice.pkey;
        if (!choice.requested)
            return 0;
        if (choice.pkey == 0)
            return oneib_fail(err, ONEIB_ERROR_REFUSED,
                              "no free P_Key is left in %u-%u for network %" PRIu32
                              ": widen pkeys.first and pkeys.last in oneib.conf, or remove "
                              "networks that are not used",
                              config->pkeys.first, config->pkeys.last, id);
        bool is_anothers;
        if (write_key(config, one, id, choice.pkey, &is_anothers, err) < 0)
            return -1;
        if (!is_anothers)
            return 0;
        given_up = choice.pkey;
    }
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "each P_Key chosen for network %" PRIu32 " was taken by another network at "
                      "the same moment: is more than one oneibd allowed to write (one.writer)?",
                      id);
}

int oneib_give_new_network_key(const struct oneib_config *config, struct oneib_one *one,
                               const struct oneib_new_network *network, const char *lock_path,
                               oneib_pkey *pkey, struct oneib_error *err)
{
    oneib_autoclose int lock = -1;
    *pkey = 0;
    if (take_lock(lock_path, &lock, err) < 0)
        return -1;
    return give(config, one, network->id, pkey, err);
}
