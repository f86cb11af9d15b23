// SPDX-License-Identifier: Apache-2.0
#include "fwctl_standin.h"
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_SIZE 4096

/* ---- what is in the file --------------------------------------------------------------------- */

static char text_now[TEXT_SIZE];

static void read_text(unsigned number)
{
    char line[TEXT_SIZE];
    tree_read(line, sizeof line, "/dev/fwctl/fwctl%u", number);
    strcpy(text_now, line);
}

/* One line, in which ';' parts what it says: a file of the tree is read by its first line. */
static void put(unsigned number, const char *word, const char *value)
{
    char all[TEXT_SIZE] = "", *rest = NULL;
    size_t used = 0;
    read_text(number);
    for (char *part = strtok_r(text_now, ";", &rest); part; part = strtok_r(NULL, ";", &rest))
        if (strncmp(part, word, strlen(word)) != 0)
            used += (size_t)snprintf(all + used, sizeof all - used, "%s;", part);
    snprintf(all + used, sizeof all - used, "%s%s;", word, value);
    tree_write(all, "/dev/fwctl/fwctl%u", number);
}

void fwctl_add(const struct tree_hca *hca, unsigned number)
{
    char target[128];
    snprintf(target, sizeof target, "/sys/bus/pci/devices/%s",
             hca->pci ? hca->pci : "0000:81:00.0");
    tree_make_directory("/sys/class/fwctl/fwctl%u", number);
    tree_link(target, "/sys/class/fwctl/fwctl%u/device", number);
    tree_write("", "/dev/fwctl/fwctl%u", number);
}

void fwctl_remove(unsigned number)
{
    tree_remove("/sys/class/fwctl/fwctl%u", number);
    tree_remove("/dev/fwctl/fwctl%u", number);
}

void fwctl_set_port(unsigned number, unsigned vf, uint64_t guid, uint16_t first, uint16_t second)
{
    char word[32], value[96];
    snprintf(word, sizeof word, "port %u ", vf + 1);
    snprintf(value, sizeof value, "0x%016" PRIx64 " 0x%04x 0x%04x", guid, first, second);
    put(number, word, value);
}

void fwctl_set_sm(unsigned number, bool is_aware)
{
    put(number, "sm ", is_aware ? "1" : "0");
}

void fwctl_set_fault(unsigned number, const char *fault)
{
    put(number, "fault ", fault);
}

/* ---- include/uapi/fwctl/fwctl.h, drivers/fwctl/main.c ---------------------------------------- */

#define INFO 0x9a00 /* _IO(FWCTL_TYPE, FWCTL_CMD_INFO), of which the rest is the machine's */
#define RPC 0x9a01
#define READ_ONLY 1 /* FWCTL_RPC_DEBUG_READ_ONLY */

struct info {
    uint32_t size, flags, type, data_length;
    uint64_t data;
};

struct rpc {
    uint32_t size, scope, in_length, out_length;
    uint64_t in, out;
};

/* ---- include/linux/mlx5/mlx5_ifc.h ----------------------------------------------------------- */

/* Bits as that file counts them: 0 is the highest of the first byte. */
struct bits {
    unsigned at, count;
};

/* query_hca_vport_gid_in, query_hca_vport_pkey_in; query_hca_vport_context_in without an index */
static const struct bits in_opcode = {0x00, 0x10}, in_other_vport = {0x40, 0x1},
                         in_vport_number = {0x50, 0x10}, in_index = {0x70, 0x10};
#define IN_SIZE 16
/* query_hca_vport_gid_out, query_hca_vport_pkey_out */
static const struct bits out_status = {0x00, 0x8}, out_syndrome = {0x20, 0x20},
                         out_gids_num = {0x60, 0x10};
#define OUT_HEAD 16
#define OUT_GID 0x80  /* array128_auto: 128 bits each */
#define OUT_PKEY 0x80 /* pkey: 0x10 reserved, then 0x10 of the key */

/* hca_vport_context, 0x1000 bits, in query_hca_vport_context_out */
#define OUT_CONTEXT 0x80
static const struct bits context_before_sm = {OUT_CONTEXT + 0x20, 0xe0},
                         context_sm_virt_aware = {OUT_CONTEXT + 0x100, 0x1},
                         context_has_smi_raw_grh = {OUT_CONTEXT + 0x101, 0x3},
                         context_after_them = {OUT_CONTEXT + 0x104, 0xc};
#define CONTEXT_BYTES (0x1000 / 8)

#define CONTEXT_COMMAND 0x762
#define GID_COMMAND 0x764
#define PKEY_COMMAND 0x765
#define ALL 0xffff

#define BAD_OP 0x2
#define BAD_PARAM 0x3
#define BAD_OUTP_LEN 0x51

static uint64_t take(const uint8_t *bytes, struct bits bits)
{
    uint64_t value = 0;
    for (unsigned i = bits.at; i < bits.at + bits.count; i++)
        value = value << 1 | (bytes[i / 8] >> (7 - i % 8) & 1);
    return value;
}

static void give(uint8_t *bytes, struct bits bits, uint64_t value)
{
    for (unsigned i = 0; i < bits.count; i++) {
        const unsigned at = bits.at + bits.count - 1 - i;
        if (value >> i & 1)
            bytes[at / 8] |= (uint8_t)(1 << (7 - at % 8));
    }
}

/* ---- firmware -------------------------------------------------------------------------------- */

static size_t commands;

size_t fwctl_commands(void)
{
    return commands;
}

struct port {
    uint64_t guid;
    unsigned first, second;
};

static bool find_port(const char *text, unsigned vport, struct port *port)
{
    char word[32];
    snprintf(word, sizeof word, "port %u ", vport);
    const char *found = strstr(text, word);
    return found && sscanf(found + strlen(word), "%" SCNx64 " %x %x", &port->guid, &port->first,
                           &port->second) == 3;
}

/* Numbers that are not there are 0. */
static bool has_fault(const char *text, const char *name, unsigned long numbers[2])
{
    char word[32], *end;
    snprintf(word, sizeof word, "fault %s", name);
    const char *found = strstr(text, word);
    if (!found)
        return false;
    numbers[0] = strtoul(found + strlen(word), &end, 0);
    numbers[1] = strtoul(end, NULL, 0);
    return true;
}

/* What a strict firmware would look at: nothing else than these fields is set. */
static bool is_strict(const uint8_t *in, uint32_t length)
{
    static const uint8_t own_context[IN_SIZE] = {CONTEXT_COMMAND >> 8, CONTEXT_COMMAND & 0xff};
    uint8_t same[IN_SIZE] = {0};
    if (length != IN_SIZE)
        return false;
    if (take(in, in_opcode) == CONTEXT_COMMAND)
        return memcmp(in, own_context, sizeof own_context) == 0;
    if (take(in, in_other_vport) != 1)
        return false;
    give(same, in_opcode, take(in, in_opcode));
    give(same, in_other_vport, 1);
    give(same, in_vport_number, take(in, in_vport_number));
    give(same, in_index, take(in, in_index));
    return memcmp(in, same, sizeof same) == 0;
}

static void refuse(uint8_t *out, uint8_t status, uint32_t syndrome)
{
    give(out, out_status, status);
    give(out, out_syndrome, syndrome);
}

static void tell_gid(const struct port *port, uint8_t *out)
{
    give(out, out_gids_num, 1);
    give(out, (struct bits){OUT_GID, 0x40}, 0xfe80000000000000);
    give(out, (struct bits){OUT_GID + 0x40, 0x40}, port->guid);
}

static void tell_pkeys(const struct port *port, uint8_t *out)
{
    give(out, (struct bits){OUT_PKEY + 0x10, 0x10}, port->first);
    give(out, (struct bits){OUT_PKEY + 0x20 + 0x10, 0x10}, port->second);
}

/* The bits beside it say the opposite. */
static void tell_context(bool is_aware, uint8_t *out)
{
    const uint64_t others = is_aware ? 0 : UINT64_MAX;
    for (unsigned i = 0; i < context_before_sm.count; i += 0x20)
        give(out, (struct bits){context_before_sm.at + i, 0x20}, others);
    give(out, context_sm_virt_aware, is_aware);
    give(out, context_has_smi_raw_grh, others);
    give(out, context_after_them, others);
}

static void execute_context(const char *text, const struct rpc *rpc, const uint8_t *in,
                            uint8_t *out)
{
    const char *sm = strstr(text, "sm ");
    unsigned long fault[2];
    if (has_fault(text, "status", fault))
        refuse(out, (uint8_t)fault[0], (uint32_t)fault[1]);
    else if (!sm)
        refuse(out, BAD_OP, 0);
    else if (!is_strict(in, rpc->in_length))
        refuse(out, BAD_PARAM, 0);
    else if (rpc->out_length != OUT_HEAD + CONTEXT_BYTES)
        refuse(out, BAD_OUTP_LEN, 0);
    else
        tell_context(sm[3] == '1', out);
}

static void execute(const char *text, const struct rpc *rpc, const uint8_t *in, uint8_t *out)
{
    const bool wants_gid = take(in, in_opcode) == GID_COMMAND;
    const uint64_t index = take(in, in_index);
    unsigned long fault[2];
    struct port port;
    if (has_fault(text, "status", fault))
        refuse(out, (uint8_t)fault[0], (uint32_t)fault[1]);
    else if (!wants_gid && has_fault(text, "no-keys", fault))
        refuse(out, BAD_OP, 0);
    else if (!is_strict(in, rpc->in_length) || index != (wants_gid ? 0 : ALL) ||
             !find_port(text, (unsigned)take(in, in_vport_number), &port))
        refuse(out, BAD_PARAM, 0x5a5a);
    else if (rpc->out_length != OUT_HEAD + (wants_gid ? 16u : FWCTL_STANDIN_PKEYS * 4u))
        refuse(out, BAD_OUTP_LEN, 0);
    else if (wants_gid)
        tell_gid(&port, out);
    else
        tell_pkeys(&port, out);
}

static int fail(int error)
{
    errno = error;
    return -1;
}

/* mlx5ctl_validate_rpc() */
static bool is_let_through(const struct rpc *rpc, const uint8_t *in)
{
    const uint64_t opcode = take(in, in_opcode);
    return (opcode == GID_COMMAND || opcode == PKEY_COMMAND || opcode == CONTEXT_COMMAND) &&
           rpc->scope == READ_ONLY;
}

static int run_command(const char *text, struct rpc *rpc)
{
    const uint8_t *in = (const uint8_t *)(uintptr_t)rpc->in;
    uint8_t out[OUT_HEAD + FWCTL_STANDIN_PKEYS * 4] = {0};
    unsigned long fault[2];
    commands++;
    if (rpc->size != sizeof *rpc)
        return fail(EINVAL);
    if (has_fault(text, "errno", fault) && commands > fault[1])
        return fail((int)fault[0]);
    if (rpc->in_length < OUT_HEAD || rpc->out_length < OUT_HEAD || rpc->out_length > sizeof out)
        return fail(EMSGSIZE);
    if (!is_let_through(rpc, in))
        return fail(EBADMSG);
    if (take(in, in_opcode) == CONTEXT_COMMAND)
        execute_context(text, rpc, in, out);
    else
        execute(text, rpc, in, out);
    if (has_fault(text, "short", fault))
        rpc->out_length -= (uint32_t)fault[0];
    memcpy((uint8_t *)(uintptr_t)rpc->out, out, rpc->out_length);
    return 0;
}

static int tell_info(const char *text, struct info *info)
{
    unsigned long fault[2];
    if (info->size != sizeof *info || info->flags != 0)
        return fail(info->flags ? EOPNOTSUPP : EINVAL);
    info->type = has_fault(text, "type", fault) ? (uint32_t)fault[0] : 1;
    return 0;
}

static bool is_its_file(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);

int __wrap_ioctl(int fd, unsigned long request, ...)
{
    char text[TEXT_SIZE] = "";
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (!is_its_file(fd))
        return __real_ioctl(fd, request, argument);
    if (pread(fd, text, sizeof text - 1, 0) < 0)
        abort();
    if ((request & 0xffff) == INFO)
        return tell_info(text, argument);
    return (request & 0xffff) == RPC ? run_command(text, argument) : fail(ENOTTY);
}
