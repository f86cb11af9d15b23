// SPDX-License-Identifier: Apache-2.0
#include "sm/ufm_release.h"
#include "base/number.h"
#include <stddef.h>
#include <string.h>

#define PART_MAX 9999

/* One number and what ends it, '.' or the end; "-" and what follows count as the end. */
static bool take_number(const char **text, uint32_t *number)
{
    uint64_t value;
    const size_t length = strcspn(*text, ".-");
    if (!oneib_parse_decimal_n(*text, length, PART_MAX, &value))
        return false;
    *number = (uint32_t)value;
    *text += length;
    return true;
}

bool oneib_ufm_release_parse(const char *text, struct oneib_ufm_release *release)
{
    struct oneib_ufm_release read = {0};
    if (!take_number(&text, &read.major) || *text++ != '.' || !take_number(&text, &read.minor))
        return false;
    if (*text == '.') {
        text++;
        if (!take_number(&text, &read.patch))
            return false;
    }
    if (*text != '\0' && *text != '-')
        return false;
    *release = read;
    return true;
}

static bool is_from(const struct oneib_ufm_release *release, uint32_t major, uint32_t minor,
                    uint32_t patch)
{
    if (release->major != major)
        return release->major > major;
    if (release->minor != minor)
        return release->minor > minor;
    return release->patch >= patch;
}

struct oneib_ufm_abilities oneib_ufm_abilities_of(const struct oneib_ufm_release *release)
{
    return (struct oneib_ufm_abilities){
        .memberships = is_from(release, 6, 15, 0),
        .add = is_from(release, 6, 15, 0),
        .default_membership = is_from(release, 6, 19, 0),
        .mapping = is_from(release, 6, 19, 3),
        .names = is_from(release, 6, 22, 0),
    };
}
