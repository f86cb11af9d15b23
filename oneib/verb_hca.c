// SPDX-License-Identifier: Apache-2.0
#include "oneib/verb_hca.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "grants/daemons.h"
#include "hca/place.h"
#include "oneib/options.h"
#include "oneib/print.h"
#include "service/service_client.h"
#include <inttypes.h>
#include <string.h>

#define NAME_COLUMNS 24
#define DAEMONS_MAX 16384 /* bytes of a file of them */
/* Those that give way where a line is too long. What an adapter is called never does: two names may
 * differ in their last letter. */
#define COLUMN_USE (1u << 3)
#define COLUMN_DRIVER (1u << 5)

/* ---- the table of ports ---------------------------------------------------------------------- */

static void add_pci(struct oneib_table *table, const struct oneib_pci *pci)
{
    char text[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(pci, text);
    oneib_table_cell(table, ONEIB_PLAIN, "%s", text);
}

/* 0 is what nobody has. */
static void add_guid(struct oneib_table *table, oneib_guid guid)
{
    if (guid)
        oneib_table_cell(table, ONEIB_PLAIN, "0x%016" PRIx64, guid);
    else
        oneib_table_cell(table, ONEIB_PLAIN, "-");
}

static void add_numa(struct oneib_table *table, int16_t node)
{
    if (node >= 0)
        oneib_table_cell(table, ONEIB_PLAIN, "%d", node);
    else
        oneib_table_cell(table, ONEIB_PLAIN, "-");
}

static enum oneib_style style_of_port(const struct oneib_port *port)
{
    return strcmp(oneib_port_state_name(port->state), "active") == 0 ? ONEIB_GOOD : ONEIB_BAD;
}

/* "active"; of a port that is none of InfiniBand, what it is. */
static void add_link(struct oneib_table *table, const struct oneib_port *port)
{
    if (port->link_layer == ONEIB_LINK_INFINIBAND)
        oneib_table_cell(table, style_of_port(port), "%s", oneib_port_state_name(port->state));
    else
        oneib_table_cell(table, ONEIB_BAD, "%s", oneib_link_layer_name(port->link_layer));
}

static void add_port(struct oneib_table *table, const struct oneib_hca *hca,
                     const struct oneib_port *port)
{
    oneib_table_cell(table, ONEIB_PLAIN, "%s/%u", hca->name, port->number);
    add_link(table, port);
    oneib_table_cell(table, ONEIB_PLAIN, "%u", port->rate_gbps);
    add_guid(table, port->guid);
    oneib_table_cell(table, ONEIB_PLAIN, "%u/%u", oneib_port_keys_used(port), port->pkey_count);
    oneib_table_cell(table, ONEIB_PLAIN, "%zu/%u", hca->vf_count, hca->vfs_supported);
    add_numa(table, hca->numa_node);
    add_pci(table, &hca->pci);
}

static void append_ports(const struct oneib_run *run, const struct oneib_inventory *inventory,
                         struct oneib_text *text)
{
    static const char *const titles[] = {"PORT",   "LINK", "GBIT", "GUID",
                                         "P_KEYS", "VFS",  "NUMA", "PCI"};
    oneib_autotable struct oneib_table table = {.right = 1u << 2 | 1u << 4 | 1u << 5 | 1u << 6};
    oneib_table_titles(&table, titles, sizeof titles / sizeof *titles);
    for (size_t i = 0; i < inventory->hcas.count; i++) {
        const struct oneib_hca *hca = &inventory->hcas.items[i];
        for (size_t j = 0; j < hca->port_count; j++)
            add_port(&table, hca, &hca->ports[j]);
    }
    oneib_table_render(&table, run->color_out, "", text);
}

/* ---- the table of VFs ------------------------------------------------------------------------ */

static enum oneib_style style_of_use(const struct oneib_inventory_vf *item)
{
    switch (item->use) {
    case ONEIB_VF_FREE:
        return ONEIB_GOOD;
    case ONEIB_VF_NOT_CLOSED:
    case ONEIB_VF_ETHERNET:
    case ONEIB_VF_ABSENT:
    case ONEIB_VF_UNKNOWN:
        return ONEIB_BAD;
    default:
        return ONEIB_PLAIN;
    }
}

/* "in use: VM 42 NIC 1", "domain: NAME", "free". */
static void add_use(struct oneib_table *table, const struct oneib_inventory_vf *item)
{
    oneib_autotext struct oneib_text text = {0};
    oneib_text_append(&text, oneib_inventory_vf_use(item));
    if (item->record)
        oneib_text_printf(&text, ": VM %" PRIu32 " NIC %u", item->record->vm_id,
                          item->record->nic_id);
    else if (item->use == ONEIB_VF_DOMAIN && item->domain) {
        oneib_text_append(&text, ": ");
        oneib_append_untrusted(&text, item->domain->name, NAME_COLUMNS);
    }
    oneib_table_cell(table, style_of_use(item), "%s", text.data ? text.data : "");
}

static bool lacks_guid(const struct oneib_inventory_vf *item)
{
    return item->record && item->record->guid != ONEIB_VF_GUID_SET;
}

/* What the adapter says, whatever the table does. */
static void add_map(struct oneib_table *table, const struct oneib_inventory_vf *item)
{
    const uint16_t key = oneib_inventory_vf_key(item);
    if (!item->state_known)
        oneib_table_cell(table, ONEIB_BAD, "unknown");
    else if (item->state.closed)
        oneib_table_cell(table, ONEIB_PLAIN, "closed");
    else if (item->state.fresh)
        oneib_table_cell(table, ONEIB_PLAIN, "untouched");
    else
        oneib_table_cell(table, ONEIB_PLAIN, "%s%s", key ? oneib_pkey_raw_shown(key).text : "open",
                         lacks_guid(item) ? ", no GUID" : "");
}

static void add_vf(struct oneib_table *table, const struct oneib_inventory_vf *item)
{
    add_pci(table, &item->vf->pci);
    oneib_table_cell(table, ONEIB_PLAIN, "%s", item->hca->name);
    oneib_table_cell(table, ONEIB_PLAIN, "%u", item->vf->index);
    add_use(table, item);
    add_map(table, item);
    oneib_table_untrusted(table, *item->vf->driver ? item->vf->driver : "-", NAME_COLUMNS);
}

static void append_vfs(const struct oneib_run *run, const struct oneib_inventory *inventory,
                       struct oneib_text *text)
{
    static const char *const titles[] = {"PCI", "ADAPTER", "VF", "USE", "OPEN TO", "DRIVER"};
    oneib_autotable struct oneib_table table = {.right = 1u << 2};
    oneib_table_titles(&table, titles, sizeof titles / sizeof *titles);
    for (size_t i = 0; i < inventory->vf_count; i++)
        add_vf(&table, &inventory->vfs[i]);
    oneib_text_append(text, "\n");
    oneib_table_fit(&table, COLUMN_USE | COLUMN_DRIVER);
    oneib_table_render(&table, run->color_out, "", text);
}

static int print_tables(const struct oneib_run *run, const struct oneib_inventory *inventory,
                        struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    if (inventory->hcas.count == 0) {
        oneib_print_note("this host has no InfiniBand adapter");
        return 0;
    }
    append_ports(run, inventory, &text);
    if (inventory->vf_count > 0)
        append_vfs(run, inventory, &text);
    return oneib_write_out(&text, err);
}

/* ---- the verb -------------------------------------------------------------------------------- */

/* What --repair did. */
struct repairs {
    int64_t done; /* -1: it was not asked for */
    bool any_failed;
};

/* Puts right what it can, then looks again; what could not be done stays among the findings. */
static int repair(const struct oneib_config *config, struct oneib_inventory *inventory,
                  struct repairs *repairs, struct oneib_error *err)
{
    struct oneib_inventory after;
    const size_t before = inventory->findings.count;
    size_t done;
    oneib_inventory_repair(config, inventory, &done);
    if (oneib_inventory_read(config, true, &after, err) < 0)
        return -1;
    oneib_findings_copy(&inventory->findings, before, &after.findings);
    *repairs = (struct repairs){(int64_t)done, inventory->findings.count > before};
    oneib_inventory_clear(inventory);
    *inventory = after;
    return 0;
}

static int look(const struct oneib_run *run, const struct oneib_config *config,
                struct oneib_inventory *inventory, struct repairs *repairs, struct oneib_error *err)
{
    *repairs = (struct repairs){.done = -1};
    if (oneib_inventory_read(config, true, inventory, err) < 0)
        return -1;
    if (!oneib_given(run, ONEIB_OPTION_REPAIR))
        return 0;
    return repair(config, inventory, repairs, err);
}

static int print(const struct oneib_run *run, const struct oneib_inventory *inventory,
                 int64_t repaired, struct oneib_error *err)
{
    if (run->json)
        return oneib_hca_json_write(inventory, repaired, err);
    oneib_print_findings(run, &inventory->findings);
    if (repaired >= 0)
        oneib_print_note("%" PRId64 " virtual function%s repaired", repaired,
                         repaired == 1 ? " was" : "s were");
    return print_tables(run, inventory, err);
}

/* A repair that was asked for and not done is a difference, whatever it was about. */
static enum oneib_exit result(const struct oneib_inventory *inventory,
                              const struct repairs *repairs)
{
    const bool is_broken = oneib_findings_count(&inventory->findings, ONEIB_VIOLATION) > 0;
    return is_broken || repairs->any_failed ? ONEIB_EXIT_DIFFERENCE : ONEIB_EXIT_DONE;
}

static enum oneib_exit show(const struct oneib_run *run, const struct oneib_config *config,
                            struct oneib_error *err)
{
    oneib_auto(oneib_inventory_clear) struct oneib_inventory inventory = {0};
    struct repairs repairs;
    if (look(run, config, &inventory, &repairs, err) < 0 ||
        print(run, &inventory, repairs.done, err) < 0)
        return ONEIB_EXIT_FAILURE;
    return result(&inventory, &repairs);
}

static int load(const struct oneib_run *run, struct oneib_config *config, struct oneib_error *err)
{
    const char *path = run->values[ONEIB_OPTION_CONFIG];
    return path ? oneib_config_load(path, config, err) : oneib_node_config(config, err);
}

/* ---- trusting -------------------------------------------------------------------------------- */

static int read_daemons(const char *path, struct oneib_daemons *daemons, struct oneib_error *err)
{
    oneib_autofree char *data = NULL;
    size_t length = 0;
    if (oneib_file_read(path, DAEMONS_MAX, &data, &length, err) < 0 ||
        oneib_daemons_parse(data, length, path, daemons, err) < 0)
        return -1;
    return daemons->count > 0 ? 0 : oneib_fail(err, ONEIB_ERROR_INPUT, "%s names no daemon", path);
}

/* The service lets root alone say so. */
static int trust(const char *path, struct oneib_error *err)
{
    struct oneib_daemons daemons;
    if (read_daemons(path, &daemons, err) < 0)
        return -1;
    struct oneib_request request = oneib_request_announcing(&daemons);
    request.flags = ONEIB_ANNOUNCE_TRUSTED;
    return oneib_client_announce(&request, err);
}

static enum oneib_exit run_hca(const struct oneib_run *run, struct oneib_error *err)
{
    oneib_autoconfig struct oneib_config config = {0};
    const char *daemons = run->values[ONEIB_OPTION_TRUST];
    if ((daemons && trust(daemons, err) < 0) || load(run, &config, err) < 0)
        return ONEIB_EXIT_FAILURE;
    return show(run, &config, err);
}

const struct oneib_verb oneib_verb_hca = {
    .name = "hca",
    .summary = "this host's adapters and virtual functions, and their use",
    .help = "usage: oneib hca [--repair] [--trust FILE] [--json]\n"
            "\n"
            "Looks at the adapters of the host it runs on, and asks its service oneib-node\n"
            "for libvirt's domains and the virtual functions that VMs have. Asks neither\n"
            "OpenNebula nor the fabric. Exits 1 when isolation is, or could be, broken.\n"
            "\n"
            "P_KEYS: entries of the port's P_Key table in use, and how many it has. VFS:\n"
            "those that exist, and how many the adapter could have; the second table has a\n"
            "line for each: its PCI address, its adapter and its number there, and its use.\n"
            "\n"
            "  --repair  close what is open without being anybody's, forget what the adapter\n"
            "            has no more, finish what a migration could not, and plug in what\n"
            "            running VMs lack; then look again\n"
            "  --trust FILE\n"
            "            as root: have oneib-node trust the daemons in FILE, a line ADDRESS\n"
            "            CURVE SIGN each, instead of those that it was told first\n"
            "\n"
            "example:\n"
            "  $ oneib hca --json | jq '.adapters[].vfs[].use'\n",
    .options = ONEIB_TAKES(ONEIB_OPTION_REPAIR) | ONEIB_TAKES(ONEIB_OPTION_TRUST),
    .run = run_hca,
};
