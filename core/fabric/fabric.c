// SPDX-License-Identifier: Apache-2.0
/* Opening a port, and what that port says of itself. */
#include "base/memory.h"
#include "fabric/fabric_internal.h"

#include <endian.h>

#define CAPABILITY_IS_SM (1u << 1) /* PortInfo.CapabilityMask */

/* ---- which port ------------------------------------------------------------------------------ */

/* The first port that would have done, but for one thing: that is what the user wants to hear. */
struct search {
    const struct oneib_fabric_options *options;
    unsigned least_state;
    umad_port_t *chosen;
    bool found;
    char rejected[160];
};

static bool is_infiniband(const umad_port_t *port)
{
    return strcmp(port->link_layer, "InfiniBand") == 0 || strcmp(port->link_layer, "IB") == 0;
}

static const char *state_name(unsigned state)
{
    static const char *const names[] = {"No change", "Down", "Initialize", "Armed"};
    return state < sizeof(names) / sizeof(*names) ? names[state] : "in an unknown state";
}

static void reject(struct search *search, const umad_port_t *port)
{
    if (search->rejected[0])
        return;
    if (!is_infiniband(port))
        snprintf(search->rejected, sizeof(search->rejected),
                 "%s port %d is an Ethernet port, not InfiniBand", port->ca_name, port->portnum);
    else
        snprintf(search->rejected, sizeof(search->rejected), "%s port %d is not active (%s): %s",
                 port->ca_name, port->portnum, state_name(port->state),
                 port->state == ONEIB_PORT_INITIALIZE ? "no subnet manager is master: start opensm"
                                                      : "check its cable");
}

static void consider(struct search *search, const umad_port_t *port)
{
    if (search->found || (search->options->port && port->portnum != search->options->port))
        return;
    if (!is_infiniband(port) || port->state < search->least_state) {
        reject(search, port);
        return;
    }
    *search->chosen = *port;
    search->chosen->pkeys = NULL; /* stays with the adapter */
    search->found = true;
}

static bool consider_ca(struct search *search, const char *name)
{
    umad_ca_t ca;
    if (umad_get_ca(name, &ca) < 0)
        return false;
    for (int i = 0; i < UMAD_CA_MAX_PORTS; i++)
        if (ca.ports[i])
            consider(search, ca.ports[i]);
    umad_release_ca(&ca);
    return true;
}

static int search_one(struct search *search, struct oneib_error *err)
{
    const struct oneib_fabric_options *options = search->options;
    if (strlen(options->ca) >= UMAD_CA_NAME_LEN || !consider_ca(search, options->ca))
        return oneib_fail(
            err, ONEIB_ERROR_UNREACHABLE,
            "there is no InfiniBand adapter %.64s on this machine: fabric.ca names one "
            "of /sys/class/infiniband",
            options->ca);
    if (search->found)
        return 0;
    if (search->rejected[0])
        return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "%s", search->rejected);
    return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "the adapter %s has no port %u", options->ca,
                      options->port);
}

static int search_all(struct search *search, struct oneib_error *err)
{
    char names[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN];
    int count = umad_get_cas_names(names, UMAD_MAX_DEVICES);
    for (int i = 0; i < count && !search->found; i++)
        consider_ca(search, names[i]);
    if (search->found)
        return 0;
    if (search->rejected[0])
        return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "no usable InfiniBand port: %s",
                          search->rejected);
    return oneib_fail(err, ONEIB_ERROR_UNREACHABLE,
                      "no InfiniBand port on this machine: is the adapter's driver loaded "
                      "(mlx4_ib, mlx5_ib), and the kernel module ib_umad?");
}

int oneib_port_choose(const struct oneib_fabric_options *options, unsigned least_state,
                      umad_port_t *chosen, struct oneib_error *err)
{
    struct search search = {.options = options, .least_state = least_state, .chosen = chosen};
    return options->ca ? search_one(&search, err) : search_all(&search, err);
}

/* ---- open and close -------------------------------------------------------------------------- */

struct oneib_fabric *oneib_fabric_open(const struct oneib_fabric_options *options,
                                       struct oneib_error *err)
{
    umad_port_t chosen;
    if (oneib_port_choose(options, ONEIB_PORT_ACTIVE, &chosen, err) < 0) {
        oneib_wrap(err, "opening the fabric");
        return NULL;
    }
    struct oneib_fabric *fabric = oneib_alloc(1, sizeof(*fabric));
    fabric->port_guid = be64toh(chosen.port_guid);
    fabric->gid_prefix = be64toh(chosen.gid_prefix);
    fabric->lid = (uint16_t)chosen.base_lid;
    fabric->sm_lid = (uint16_t)chosen.sm_lid;
    fabric->sm_sl = (uint8_t)chosen.sm_sl;
    fabric->may_run_sm = true;
    if (oneib_mad_open(&fabric->port, options, chosen.ca_name, (uint8_t)chosen.portnum, err) < 0) {
        oneib_wrap(err, "opening the fabric");
        free(fabric);
        return NULL;
    }
    return fabric;
}

void oneib_fabric_close(struct oneib_fabric *fabric)
{
    if (!fabric)
        return;
    oneib_mad_close(&fabric->port);
    free(fabric);
}

uint64_t oneib_fabric_mads_sent(const struct oneib_fabric *fabric)
{
    return fabric->port.sent;
}

oneib_guid oneib_fabric_port_guid(const struct oneib_fabric *fabric)
{
    return fabric->port_guid;
}

/* ---- the own port ---------------------------------------------------------------------------- */

/* One MAD. */
static int refresh(struct oneib_fabric *fabric, struct oneib_error *err)
{
    const struct oneib_mad_request request = {
        .mgmt_class = IB_SMI_DIRECT_CLASS,
        .method = IB_MAD_METHOD_GET,
        .attribute = IB_ATTR_PORT_INFO,
        .modifier = fabric->port.number,
        .to = fabric->port_guid,
    };
    struct oneib_mad_answer answer;
    if (oneib_m_key_file_renew(&fabric->port.m_keys, err) < 0 ||
        oneib_mad_ask(&fabric->port, &request, &answer, err) < 0)
        return -1;
    /* A port that keeps PortInfo behind an M_Key still has what sysfs said when it was opened. */
    if (answer.error || answer.status)
        return 0;
    uint8_t *info = oneib_smp_data(&answer);
    fabric->gid_prefix = mad_get_field64(info, 0, IB_PORT_GID_PREFIX_F);
    fabric->lid = (uint16_t)mad_get_field(info, 0, IB_PORT_LID_F);
    fabric->sm_lid = (uint16_t)mad_get_field(info, 0, IB_PORT_SMLID_F);
    fabric->sm_sl = (uint8_t)mad_get_field(info, 0, IB_PORT_SMSL_F);
    fabric->may_run_sm = mad_get_field(info, 0, IB_PORT_CAPMASK_F) & CAPABILITY_IS_SM;
    return 0;
}

#define START_OPENSM                                                                               \
    "; start opensm here or on another host: until then ports keep the P_Keys that they have"

static int no_master(const struct oneib_fabric *fabric, struct oneib_error *err)
{
    if (fabric->lid == 0 || fabric->sm_lid == 0)
        return oneib_fail(
            err, ONEIB_ERROR_UNREACHABLE,
            "no subnet manager is master: none has given %s port %u a LID" START_OPENSM,
            fabric->port.ca, fabric->port.number);
    return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                      "no subnet manager is master: LID %u does not answer" START_OPENSM,
                      fabric->sm_lid);
}

int oneib_fabric_require_sm(struct oneib_fabric *fabric, struct oneib_error *err)
{
    if (refresh(fabric, err) < 0)
        return -1;
    return fabric->lid && fabric->sm_lid ? 0 : no_master(fabric, err);
}

/* *guid and *state: what the SM at that LID says of itself; NONE: nothing. */
static int ask_sm(struct oneib_fabric *fabric, uint16_t lid, oneib_guid to, oneib_guid *guid,
                  enum oneib_sm_state *state, struct oneib_error *err)
{
    const struct oneib_mad_request request = {
        .mgmt_class = IB_SMI_CLASS,
        .method = IB_MAD_METHOD_GET,
        .attribute = IB_ATTR_SMINFO,
        .lid = lid,
        .to = to,
    };
    struct oneib_mad_answer answer;
    *state = ONEIB_SM_NONE;
    if (oneib_mad_ask(&fabric->port, &request, &answer, err) < 0)
        return -1;
    if (answer.error || answer.status)
        return 0;
    uint32_t said = mad_get_field(oneib_smp_data(&answer), 0, IB_SMINFO_STATE_F);
    *guid = mad_get_field64(oneib_smp_data(&answer), 0, IB_SMINFO_GUID_F);
    if (said <= ONEIB_SM_MASTER)
        *state = (enum oneib_sm_state)said;
    return 0;
}

int oneib_fabric_local_sm(struct oneib_fabric *fabric, enum oneib_sm_state *state,
                          struct oneib_error *err)
{
    oneib_guid own;
    *state = ONEIB_SM_NONE;
    if (refresh(fabric, err) < 0)
        return -1;
    /* Where no SM is, a port need not answer at all: IsSM saves the wait for a time-out. */
    if (!fabric->may_run_sm || !fabric->lid)
        return 0;
    return ask_sm(fabric, fabric->lid, fabric->port_guid, &own, state, err);
}

int oneib_fabric_find_master(struct oneib_fabric *fabric, oneib_guid *master,
                             struct oneib_error *err)
{
    enum oneib_sm_state state;
    if (oneib_fabric_require_sm(fabric, err) < 0 ||
        ask_sm(fabric, fabric->sm_lid, 0, master, &state, err) < 0)
        return -1;
    return state == ONEIB_SM_MASTER ? 0 : no_master(fabric, err);
}

struct oneib_fabric_options oneib_fabric_options_of(const struct oneib_config *config)
{
    return (struct oneib_fabric_options){
        .ca = config->fabric.ca,
        .port = config->fabric.port,
        .window = config->fabric.window,
        .timeout_ms = config->fabric.timeout_ms,
        .retries = config->fabric.retries,
        .m_key_file = config->fabric.m_key_file,
    };
}
