// SPDX-License-Identifier: Apache-2.0
#include "vports.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "partitions/partition.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VIRTUALIZATION_INFO 0xffb0
#define VPORT_INFO 0xffb1
#define VNODE_INFO 0xffb2
#define VPORT_PKEY_TABLE 0xffb6
#define LAST_ATTRIBUTE VPORT_PKEY_TABLE

#define CAP 64 /* entries of a table */
#define KEYS_PER_BLOCK 32
#define DOWN 1 /* PortInfo.PortState */
#define ACTIVE 4
#define ENABLED 0x80
#define FULL 0x8000
#define FILE_SIZE_MAX ((size_t)1 << 20)
#define PATH_SIZE 512

/* How adapters do it. */
enum layout {
    AS_GUESSED,
    NUMBER_LOW,         /* of a table's modifier the lower half is the number */
    NUMBER_HIGH,        /* VPortInfo and VNodeInfo have it in the upper half, too */
    NUMBERS_FROM_1,     /* the physical function is number 1 */
    ONE_TABLE,          /* tables are the physical port's, whatever is asked */
    TOP_ELSEWHERE,      /* VirtualizationInfo has its highest number first */
    ENABLED_ELSEWHERE,  /* ... and whether it is on in its last byte */
    STATE_ELSEWHERE,    /* VPortInfo has the state in the lower half of its byte */
    GUID_ELSEWHERE,     /* ... and the GUID where oneib looks for the profile */
    CAPACITY_ELSEWHERE, /* VNodeInfo has the table's size behind its ports */
    BYTES_SWAPPED,      /* keys are little endian */
    UNSUPPORTED,        /* there are no such attributes */
    SILENT,
    SWITCHED_OFF, /* virtual ports are */
    LAYOUTS,
};

static const char *const words[LAYOUTS] = {
    [AS_GUESSED] = "as-guessed",
    [NUMBER_LOW] = "number-low",
    [NUMBER_HIGH] = "number-high",
    [NUMBERS_FROM_1] = "numbers-from-1",
    [ONE_TABLE] = "one-table",
    [TOP_ELSEWHERE] = "top-elsewhere",
    [ENABLED_ELSEWHERE] = "enabled-elsewhere",
    [STATE_ELSEWHERE] = "state-elsewhere",
    [GUID_ELSEWHERE] = "guid-elsewhere",
    [CAPACITY_ELSEWHERE] = "capacity-elsewhere",
    [BYTES_SWAPPED] = "bytes-swapped",
    [UNSUPPORTED] = "unsupported",
    [SILENT] = "silent",
    [SWITCHED_OFF] = "switched-off",
};

struct vport {
    uint64_t guid;
    uint8_t state;
    uint16_t keys[CAP];
};

static const char *directory;
static enum layout layout;

void vports_begin(const char *lab)
{
    directory = lab;
}

bool vports_are_asked(uint16_t attribute)
{
    return directory && attribute >= VIRTUALIZATION_INFO && attribute <= LAST_ATTRIBUTE;
}

__attribute__((noreturn)) static void give_up(const char *what)
{
    fprintf(stderr, "m-key-standin: virtual ports: %s\n", what);
    exit(EXIT_FAILURE);
}

static FILE *open_file(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return fopen(path, "re");
}

/* ---- the subnet manager's part --------------------------------------------------------------- */

/* Of several entries that name a port the last one counts. 0: it is no member. */
static uint16_t key_of(const struct oneib_partition *partition, uint64_t guid)
{
    const uint16_t key = partition->pkey;
    uint16_t raw = key == ONEIB_PKEY_DEFAULT ? key : 0;
    for (size_t i = 0; i < partition->member_count; i++) {
        const struct oneib_member *member = &partition->members[i];
        if (member->kind == ONEIB_MEMBER_ALL || member->kind == ONEIB_MEMBER_ALL_CAS ||
            (member->kind == ONEIB_MEMBER_GUID && member->guid == guid))
            raw = member->membership == ONEIB_LIMITED ? key : key | FULL;
    }
    return raw;
}

static void fill_table(const struct oneib_partition_table *partitions, struct vport *vport)
{
    size_t count = 0;
    for (int first = 1; first >= 0; first--)
        for (size_t i = 0; i < partitions->count; i++) {
            const uint16_t raw = key_of(&partitions->items[i], vport->guid);
            if (raw && partitions->items[i].indx0 == (first == 1) && count < CAP)
                vport->keys[count++] = raw;
        }
}

static void put_what_the_test_says(struct vport *vport)
{
    char line[128];
    uint64_t guid;
    unsigned index, raw;
    oneib_autofclose FILE *file = open_file("virtual-ports");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "key %" SCNx64 " %u %x", &guid, &index, &raw) == 3 &&
            guid == vport->guid && index < CAP)
            vport->keys[index] = (uint16_t)raw;
}

/* The file that the master reads. */
static void find_partitions(char path[256])
{
    char line[512];
    oneib_autofclose FILE *file = open_file("virtual-ports");
    snprintf(path, 256, "%s/partitions.conf", directory);
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "partitions %255s", path);
}

static void manage(struct vport *vport)
{
    char path[256];
    size_t length;
    oneib_autofree char *text = NULL;
    struct oneib_partition_table partitions = {0};
    struct oneib_error err;
    find_partitions(path);
    if (vport->state == DOWN || oneib_file_read(path, FILE_SIZE_MAX, &text, &length, &err) < 0 ||
        oneib_partitions_parse(text, length, path, &partitions, &err) < 0)
        return;
    fill_table(&partitions, vport);
    put_what_the_test_says(vport);
    oneib_partition_table_clear(&partitions);
}

/* ---- the adapter's part ---------------------------------------------------------------------- */

static void name_of_vf(const char *root, unsigned vf, const char *name, char path[PATH_SIZE])
{
    snprintf(path, PATH_SIZE, "%s/sys/class/infiniband/mlx5_0/device/sriov/%u/%s", root, vf, name);
}

static bool there_is_vf(const char *root, unsigned vf)
{
    char path[PATH_SIZE];
    name_of_vf(root, vf, "policy", path);
    return access(path, R_OK) == 0;
}

static bool read_word(const char *root, unsigned vf, const char *name, char *word)
{
    char path[PATH_SIZE];
    name_of_vf(root, vf, name, path);
    oneib_autofclose FILE *file = fopen(path, "re");
    return file && fscanf(file, "%31s", word) == 1;
}

static uint64_t parse_guid(const char *word)
{
    uint64_t guid = 0;
    for (unsigned i = 0; i < 8 && strlen(word) >= 3 * i + 2; i++)
        guid = guid << 8 | strtoul(word + (size_t)3 * i, NULL, 16);
    return guid;
}

static bool read_vf(const char *root, unsigned vf, struct vport *vport)
{
    char guid[32], policy[32];
    if (!read_word(root, vf, "port", guid) || !read_word(root, vf, "policy", policy))
        return false;
    vport->guid = parse_guid(guid);
    vport->state = strcmp(policy, "Down") == 0 ? DOWN : ACTIVE;
    return true;
}

/* The node whose port it is; false: none. */
static bool find_node(uint64_t port, char root[256])
{
    char line[512];
    uint64_t guid;
    oneib_autofclose FILE *plan = open_file("nodes/plan");
    while (plan && fgets(line, sizeof line, plan))
        if (sscanf(line, "%255s %*s %" SCNx64, root, &guid) == 2 && guid == port)
            return true;
    return false;
}

/* The physical function is number 0, VF n number n + 1. A number that there is not has nothing. */
static struct vport vport_numbered(const char *root, uint64_t port, uint32_t number)
{
    struct vport vport = {.guid = port, .state = ACTIVE};
    if (layout == NUMBERS_FROM_1 && number-- == 0)
        return (struct vport){0};
    if (number > 0 && !read_vf(root, number - 1, &vport))
        return (struct vport){0};
    return vport;
}

static void put16(uint8_t *data, uint16_t value)
{
    data[0] = (uint8_t)(value >> 8);
    data[1] = (uint8_t)value;
}

static void put64(uint8_t *data, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++)
        data[i] = (uint8_t)(value >> (56 - 8 * i));
}

static void put_virtualization(const char *root, uint8_t *data)
{
    uint16_t top = 0;
    while (there_is_vf(root, top))
        top++;
    if (layout != TOP_ELSEWHERE)
        put16(data, 127);
    put16(data + (layout == TOP_ELSEWHERE ? 0 : 2), top);
    if (layout != SWITCHED_OFF)
        data[layout == ENABLED_ELSEWHERE ? 7 : 4] = ENABLED;
}

static void put_vport_asked(const char *root, uint64_t port, uint32_t modifier, uint8_t *data)
{
    const uint32_t number = layout == NUMBER_HIGH ? modifier >> 16 : modifier;
    const struct vport vport = vport_numbered(root, port, number);
    data[0] = layout == STATE_ELSEWHERE ? vport.state : (uint8_t)(vport.state << 4);
    put64(data + (layout == GUID_ELSEWHERE ? 20 : 12), vport.guid);
}

static void put_table(const struct vport *vport, uint32_t block, uint8_t *data)
{
    for (uint32_t i = 0; i < KEYS_PER_BLOCK && block < CAP / KEYS_PER_BLOCK; i++) {
        const uint16_t key = vport->keys[block * KEYS_PER_BLOCK + i];
        put16(data + (size_t)2 * i,
              layout == BYTES_SWAPPED ? (uint16_t)(key << 8 | key >> 8) : key);
    }
}

static void put_table_asked(const char *root, uint64_t port, uint32_t modifier, uint8_t *data)
{
    const uint32_t high = modifier >> 16, low = modifier & 0xffff;
    const uint32_t number = layout == ONE_TABLE ? 0 : layout == NUMBER_LOW ? low : high;
    struct vport vport = vport_numbered(root, port, number);
    if (vport.state)
        manage(&vport);
    put_table(&vport, layout == NUMBER_LOW ? high : low, data);
}

/* ---- questions ------------------------------------------------------------------------------- */

static void read_layout(void)
{
    char line[128], word[32];
    oneib_autofclose FILE *file = open_file("virtual-ports");
    layout = AS_GUESSED;
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "layout %31s", word) != 1)
            continue;
        for (layout = 0; layout < LAYOUTS && strcmp(words[layout], word) != 0;)
            layout++;
        if (layout == LAYOUTS)
            give_up("no such layout");
    }
}

int vports_answer(uint64_t port, uint16_t attribute, uint32_t modifier, uint8_t data[64])
{
    char root[256];
    read_layout();
    if (layout == SILENT)
        return VPORTS_SILENT;
    if (layout == UNSUPPORTED || !find_node(port, root))
        return VPORTS_UNSUPPORTED;
    switch (attribute) {
    case VIRTUALIZATION_INFO:
        put_virtualization(root, data);
        return 0;
    case VPORT_INFO:
        put_vport_asked(root, port, modifier, data);
        return 0;
    case VNODE_INFO:
        put16(data + (layout == CAPACITY_ELSEWHERE ? 2 : 0), CAP);
        return 0;
    case VPORT_PKEY_TABLE:
        put_table_asked(root, port, modifier, data);
        return 0;
    default:
        return VPORTS_UNSUPPORTED;
    }
}
