// SPDX-License-Identifier: Apache-2.0
/* What is on a node: its domains, the maps of its VFs, and oneib's table. */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "base/text.h"
#include "lab_node_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#define ADAPTER "/sys/class/infiniband/mlx4_0"

/* ---- domains --------------------------------------------------------------------------------- */

static void render_domain(const struct lab_domain *domain, struct oneib_text *text)
{
    oneib_text_printf(text,
                      "<domain type='test'><name>one-%" PRIu32 "</name>"
                      "<uuid>5dec61fb-6338-452b-9e09-%012" PRIu32 "</uuid>"
                      "<memory unit='KiB'>98304</memory><os><type>hvm</type></os><devices>",
                      domain->vm, domain->vm);
    for (size_t i = 0; i < domain->vf_count; i++)
        oneib_text_printf(text,
                          "<hostdev mode='subsystem' type='pci' managed='yes'><source>"
                          "<address domain='0x%04x' bus='0x%02x' slot='0x%02x' function='0x%x'/>"
                          "</source></hostdev>",
                          domain->vfs[i].domain, domain->vfs[i].bus, domain->vfs[i].slot,
                          domain->vfs[i].function);
    oneib_text_append(text, "</devices></domain>\n");
}

int lab_node_write_domains(struct lab *lab, size_t host, struct oneib_error *err)
{
    char name[64], new_name[64];
    oneib_autotext struct oneib_text text = {0};
    oneib_text_append(&text, "<node>\n");
    for (size_t i = 0; i < lab->nodes->domain_count; i++)
        if (lab->nodes->domains[i].host == host)
            render_domain(&lab->nodes->domains[i], &text);
    oneib_text_append(&text, "</node>\n");
    lab_node_file(lab, host, ".xml", name, sizeof name);
    lab_node_file(lab, host, ".xml.new", new_name, sizeof new_name);
    const char *path = lab_path(lab, name), *new_path = lab_path(lab, new_name);
    if (lab_write(lab, new_name, 0644, text.data, err) < 0)
        return -1;
    return rename(new_path, path) < 0 ? oneib_fail_errno(err, errno, "writing %s", path) : 0;
}

void lab_node_domains_clear(struct lab_nodes *nodes)
{
    free(nodes->domains);
}

static int add_domain(struct lab *lab, size_t host, uint32_t vm, struct oneib_error *err)
{
    struct lab_nodes *nodes = lab->nodes;
    struct lab_node_claim claims[LAB_NODE_CLAIMS];
    size_t count;
    if (lab_node_claims(lab, host, claims, &count, err) < 0)
        return -1;
    struct lab_domain *domain =
        ONEIB_ADD(nodes->domains, nodes->domain_count, nodes->domain_capacity);
    *domain = (struct lab_domain){.host = host, .vm = vm};
    for (size_t i = 0; i < count; i++)
        if (claims[i].vm == vm)
            domain->vfs[domain->vf_count++] = lab_node_vf_pci(claims[i].vf);
    return 0;
}

static void remove_domain(struct lab_nodes *nodes, size_t host, uint32_t vm)
{
    size_t kept = 0;
    for (size_t i = 0; i < nodes->domain_count; i++)
        if (nodes->domains[i].host != host || nodes->domains[i].vm != vm)
            nodes->domains[kept++] = nodes->domains[i];
    nodes->domain_count = kept;
}

/* libvirt's test driver has no events for what is in its file: the service is told to ask again. */
static int tell_service(struct lab *lab, size_t host, uint32_t vm, struct oneib_error *err)
{
    const struct lab_nodes *nodes = lab->nodes;
    const pid_t pid = lab_node_service_pid(lab, host);
    char id[16], count[16] = "gone";
    if (!lab_is_running(lab, pid))
        return 0;
    if (kill(pid, SIGUSR1) < 0)
        return oneib_fail_errno(err, errno, "signalling oneib-node");
    for (size_t i = 0; i < nodes->domain_count; i++)
        if (nodes->domains[i].host == host && nodes->domains[i].vm == vm)
            snprintf(count, sizeof count, "%zu", nodes->domains[i].vf_count);
    snprintf(id, sizeof id, "%" PRIu32, vm);
    return lab_node_await(lab, host, id, count, err);
}

int lab_node_domain(struct lab *lab, size_t host, uint32_t vm, bool there, struct oneib_error *err)
{
    remove_domain(lab->nodes, host, vm);
    if (there && add_domain(lab, host, vm, err) < 0)
        return -1;
    return lab_node_write_domains(lab, host, err) < 0 ? -1 : tell_service(lab, host, vm, err);
}

int lab_node_unplug(struct lab *lab, size_t host, uint32_t vm, unsigned vf, struct oneib_error *err)
{
    const struct oneib_pci pci = lab_node_vf_pci(vf);
    for (size_t i = 0; i < lab->nodes->domain_count; i++) {
        struct lab_domain *domain = &lab->nodes->domains[i];
        size_t kept = 0;
        for (size_t j = 0; j < domain->vf_count; j++)
            if (domain->host != host || domain->vm != vm ||
                oneib_pci_compare(&domain->vfs[j], &pci) != 0)
                domain->vfs[kept++] = domain->vfs[j];
        domain->vf_count = kept;
    }
    return lab_node_write_domains(lab, host, err) < 0 ? -1 : tell_service(lab, host, vm, err);
}

/* ---- oneib's table --------------------------------------------------------------------------- */

int lab_node_claims(struct lab *lab, size_t host, struct lab_node_claim claims[LAB_NODE_CLAIMS],
                    size_t *count, struct oneib_error *err)
{
    char name[64];
    lab_node_file(lab, host, "/run/oneib/vfs", name, sizeof name);
    oneib_autofree char *table = lab_read(lab, name);
    *count = 0;
    for (const char *line = table; *line; line += strcspn(line, "\n") + 1) {
        struct lab_node_claim *claim = &claims[*count];
        if (*count == LAB_NODE_CLAIMS ||
            sscanf(line,
                   "vf=%*s device=%*s index=%u port=1 vm=%" SCNu32
                   " nic=%u network=%*u site=%*u pkey=%*x "
                   "membership=%*s stage=%15s",
                   &claim->vf, &claim->vm, &claim->nic, claim->stage) != 4)
            return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "%s: unexpected: %s", name, line);
        ++*count;
    }
    return 0;
}

/* ---- VFs ------------------------------------------------------------------------------------- */

static bool read_at(int directory, const char *name, char *text, size_t size)
{
    oneib_autoclose int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);
    if (length <= 0)
        return false;
    text[length] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return true;
}

static bool read_value(const struct lab *lab, size_t host, const char *name, char *text,
                       size_t size)
{
    char path[384];
    snprintf(path, sizeof path, "%s" ADAPTER "/%s", lab_node_root(lab, host), name);
    return read_at(AT_FDCWD, path, text, size);
}

static bool read_map(const struct lab *lab, size_t host, const char *pci, struct lab_node_vf *state)
{
    char path[384], name[16], text[32];
    uint64_t index;
    snprintf(path, sizeof path, "%s" ADAPTER "/iov/%s/ports/1/pkey_idx", lab_node_root(lab, host),
             pci);
    oneib_autoclose int directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return false;
    state->only = true;
    for (state->entries = 0; state->entries < LAB_NODE_ENTRIES; state->entries++) {
        snprintf(name, sizeof name, "%zu", state->entries);
        if (!read_at(directory, name, text, sizeof text))
            break;
        if (strcmp(text, "none") == 0)
            index = LAB_NODE_UNMAPPED;
        else if (!oneib_parse_decimal(text, LAB_NODE_ENTRIES - 1, &index))
            return false;
        state->map[state->entries] = (uint16_t)index;
        state->only = state->only && (state->entries == 0 || index == 0);
    }
    return state->entries > 0;
}

static bool read_key(const struct lab *lab, size_t host, struct lab_node_vf *state)
{
    char name[48], text[32];
    uint64_t key;
    snprintf(name, sizeof name, "ports/1/pkeys/%u", state->map[0]);
    if (!read_value(lab, host, name, text, sizeof text) || !oneib_parse_hex(text, UINT16_MAX, &key))
        return false;
    state->key = (uint16_t)key;
    return true;
}

static bool read_guids(const struct lab *lab, size_t host, unsigned vf, struct lab_node_vf *state)
{
    char name[48], text[64];
    unsigned parts[4];
    snprintf(name, sizeof name, "iov/ports/1/admin_guids/%u", vf + 1);
    if (!read_value(lab, host, name, text, sizeof text) ||
        sscanf(text, "%" SCNx64, &state->guid) != 1)
        return false;
    if (state->guid == UINT64_MAX)
        state->guid = 0;
    snprintf(name, sizeof name, "iov/ports/1/gids/%u", vf + 1);
    if (!read_value(lab, host, name, text, sizeof text) ||
        sscanf(text, "%*x:%*x:%*x:%*x:%x:%x:%x:%x", &parts[0], &parts[1], &parts[2], &parts[3]) !=
            4)
        return false;
    state->accepted =
        (uint64_t)parts[0] << 48 | (uint64_t)parts[1] << 32 | (uint64_t)parts[2] << 16 | parts[3];
    return true;
}

int lab_node_vf(struct lab *lab, size_t host, unsigned vf, struct lab_node_vf *state,
                struct oneib_error *err)
{
    char text[ONEIB_PCI_TEXT_SIZE];
    const struct oneib_pci pci = lab_node_vf_pci(vf);
    snprintf(text, sizeof text, "0000:%02x:%02x.%x", pci.bus, pci.slot, pci.function);
    if (!read_map(lab, host, text, state) || !read_key(lab, host, state) ||
        !read_guids(lab, host, vf, state))
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "VF %u of %s cannot be read", vf,
                          lab_node_root(lab, host));
    return 0;
}

/* ---- VFs of mlx5 ----------------------------------------------------------------------------- */

static bool read_sriov(const struct lab *lab, size_t host, unsigned vf, const char *name,
                       char *text, size_t size)
{
    char path[384];
    snprintf(path, sizeof path, "%s/sys/class/infiniband/mlx5_0/device/sriov/%u/%s",
             lab_node_root(lab, host), vf, name);
    return read_at(AT_FDCWD, path, text, size);
}

int lab_node_virtual_guid(struct lab *lab, size_t host, unsigned vf, uint64_t *guid,
                          struct oneib_error *err)
{
    char text[64], policy[32];
    *guid = 0;
    if (!read_sriov(lab, host, vf, "port", text, sizeof text) ||
        !read_sriov(lab, host, vf, "policy", policy, sizeof policy))
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "VF %u of %s cannot be read", vf,
                          lab_node_root(lab, host));
    for (char *byte = strtok(text, ":"); byte; byte = strtok(NULL, ":"))
        *guid = *guid << 8 | strtoul(byte, NULL, 16);
    if (strcmp(policy, "Down") == 0)
        *guid = 0;
    return 0;
}
