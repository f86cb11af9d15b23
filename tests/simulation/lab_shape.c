// SPDX-License-Identifier: Apache-2.0
#include "lab_shape.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const struct lab_shape lab_three_levels = {.name = "three-levels",
                                           .switches = {
                                               {.name = "L1", .hosts = 1, .cables = {"M1"}},
                                               {.name = "L2", .hosts = 2, .cables = {"M1", "M2"}},
                                               {.name = "L3", .hosts = 1, .cables = {"M2"}},
                                               {.name = "M1", .cables = {"T1", "T2"}},
                                               {.name = "M2", .cables = {"T1", "T2"}},
                                               {.name = "T1"},
                                               {.name = "T2"},
                                           }};

const struct lab_shape lab_ring = {.name = "ring",
                                   .switches = {
                                       {.name = "R1", .hosts = 1, .cables = {"R2"}},
                                       {.name = "R2", .hosts = 2, .cables = {"R3"}},
                                       {.name = "R3", .cables = {"R4"}},
                                       {.name = "R4", .hosts = 1, .cables = {"R1"}},
                                   }};

const struct lab_shape lab_two_rails = {
    .name = "two-rails",
    .switches = {
        {.name = "A1", .hosts = 3, .second = "B1", .cables = {"A0"}},
        {.name = "A2", .hosts = 1, .second = "B2", .cables = {"A0"}},
        {.name = "B1", .cables = {"B0"}},
        {.name = "B2", .cables = {"B0"}},
        {.name = "A0", .cables = {"B0"}},
        {.name = "B0"},
    }};

const struct lab_shape *lab_shape_chosen(const char *variable, const struct lab_shape *otherwise)
{
    static const struct lab_shape *const shapes[] = {&lab_three_levels, &lab_ring, &lab_two_rails};
    const char *name = getenv(variable);
    if (!name)
        return otherwise;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strcmp(name, shapes[i]->name) == 0)
            return shapes[i];
    return strcmp(name, "fat-tree") == 0 ? NULL : otherwise;
}
