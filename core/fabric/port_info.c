// SPDX-License-Identifier: Apache-2.0
#include "fabric/port_info.h"

#include <infiniband/mad.h>
#include <stdbool.h>
#include <stddef.h>

#define EXTENDED_SPEEDS_SUPPORTED (UINT32_C(1) << 14) /* CapabilityMask */
#define EXTENDED_SPEEDS_DISABLED 30                   /* LinkSpeedExtEnabled */

/* Lanes and tenths of Gb/s a lane, by bit. FDR's 14.0625 and EDR's 25.78 are named 14 and 25. */
static const unsigned width_lanes[] = {1, 4, 8, 12, 2};
static const unsigned speed_tenths[] = {25, 50, 100};
static const unsigned extended_tenths[] = {140, 250, 500, 1000};

static unsigned largest(uint32_t bits, const unsigned *values, size_t count)
{
    unsigned found = 0;
    for (size_t i = 0; i < count; i++)
        if (bits >> i & 1 && values[i] > found)
            found = values[i];
    return found;
}

static unsigned lanes(uint32_t widths)
{
    return largest(widths, width_lanes, sizeof(width_lanes) / sizeof(*width_lanes));
}

static unsigned tenths(uint32_t speeds, uint32_t extended)
{
    unsigned fast =
        largest(extended, extended_tenths, sizeof(extended_tenths) / sizeof(*extended_tenths));
    return fast ? fast
                : largest(speeds, speed_tenths, sizeof(speed_tenths) / sizeof(*speed_tenths));
}

static bool has_extended_speeds(uint8_t *port_info)
{
    return mad_get_field(port_info, 0, IB_PORT_CAPMASK_F) & EXTENDED_SPEEDS_SUPPORTED;
}

static uint32_t extended_enabled(uint8_t *port_info)
{
    if (!has_extended_speeds(port_info))
        return 0;
    uint32_t enabled = mad_get_field(port_info, 0, IB_PORT_LINK_SPEED_EXT_ENABLED_F);
    if (enabled == EXTENDED_SPEEDS_DISABLED)
        return 0;
    return enabled & mad_get_field(port_info, 0, IB_PORT_LINK_SPEED_EXT_SUPPORTED_F);
}

uint16_t oneib_port_info_enabled_gbps(uint8_t *port_info)
{
    /* "All supported" is a value with all bits set, so the common bits are what is meant. */
    uint32_t widths = mad_get_field(port_info, 0, IB_PORT_LINK_WIDTH_ENABLED_F) &
                      mad_get_field(port_info, 0, IB_PORT_LINK_WIDTH_SUPPORTED_F);
    uint32_t speeds = mad_get_field(port_info, 0, IB_PORT_LINK_SPEED_ENABLED_F) &
                      mad_get_field(port_info, 0, IB_PORT_LINK_SPEED_SUPPORTED_F);
    return (uint16_t)(lanes(widths) * tenths(speeds, extended_enabled(port_info)) / 10);
}

uint16_t oneib_port_info_active_gbps(uint8_t *port_info)
{
    uint32_t extended = has_extended_speeds(port_info)
                            ? mad_get_field(port_info, 0, IB_PORT_LINK_SPEED_EXT_ACTIVE_F)
                            : 0;
    return (uint16_t)(lanes(mad_get_field(port_info, 0, IB_PORT_LINK_WIDTH_ACTIVE_F)) *
                      tenths(mad_get_field(port_info, 0, IB_PORT_LINK_SPEED_ACTIVE_F), extended) /
                      10);
}
