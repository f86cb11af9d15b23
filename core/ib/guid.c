// SPDX-License-Identifier: Apache-2.0
#include "ib/guid.h"
#include "base/number.h"
#include "base/order.h"

/* First byte of an EUI-64 with the U/L bit set and the group bit clear. */
#define LOCALLY_ADMINISTERED 0x02

oneib_guid oneib_guid_encode(uint16_t site, uint32_t vm_id, uint8_t nic_id)
{
    return (oneib_guid)LOCALLY_ADMINISTERED << 56 | (oneib_guid)site << 40 |
           (oneib_guid)vm_id << 8 | nic_id;
}

bool oneib_guid_decode(oneib_guid guid, struct oneib_guid_parts *parts)
{
    if (guid >> 56 != LOCALLY_ADMINISTERED)
        return false;
    parts->site = (uint16_t)(guid >> 40);
    parts->vm_id = (uint32_t)(guid >> 8);
    parts->nic_id = (uint8_t)guid;
    return true;
}

bool oneib_is_virtual_port(oneib_guid port, oneib_guid member)
{
    struct oneib_guid_parts parts;
    return port ? member != port : oneib_guid_decode(member, &parts);
}

bool oneib_guid_in_site(oneib_guid guid, uint16_t site)
{
    struct oneib_guid_parts parts;
    return oneib_guid_decode(guid, &parts) && parts.site == site;
}

static bool is_guid(uint64_t value)
{
    return value != 0 && value != UINT64_MAX;
}

bool oneib_guid_parse_n(const char *bytes, size_t length, oneib_guid *guid)
{
    uint64_t value;
    if (!oneib_parse_hex_n(bytes, length, UINT64_MAX, &value) || !is_guid(value))
        return false;
    *guid = value;
    return true;
}

bool oneib_guid_parse(const char *string, oneib_guid *guid)
{
    uint64_t value;
    if (!oneib_parse_hex(string, UINT64_MAX, &value) || !is_guid(value))
        return false;
    *guid = value;
    return true;
}

/* By hand: a partition file has one GUID for each member, and printf would be most of the time it
 * takes. */
void oneib_guid_format(oneib_guid guid, char text[ONEIB_GUID_TEXT_SIZE])
{
    text[0] = '0';
    text[1] = 'x';
    for (int i = 17; i >= 2; i--) {
        text[i] = "0123456789abcdef"[guid & 0xf];
        guid >>= 4;
    }
    text[18] = '\0';
}

int oneib_guid_compare(const void *left, const void *right)
{
    return oneib_compare_u64(left, right);
}

bool oneib_guids_have(const oneib_guid *sorted, size_t count, oneib_guid guid)
{
    return ONEIB_FIND(&guid, sorted, count, oneib_guid_compare);
}
