// SPDX-License-Identifier: Apache-2.0
/*
 * A random walk (walk.h) on ibsim with a real opensm. After each step `oneib sync` has to converge,
 * and every port must hold exactly the keys that the walk's own bookkeeping says.
 *
 * Replay: ONEIB_WALK_SEED=N (printed at start); ONEIB_WALK_STEPS=N walks further or shorter;
 * ONEIB_WALK_FABRIC=NAME on another kind of fabric (lab_shape.h).
 */
#include "walk.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "../skip.h"
#include <cmocka.h>

#define STEPS 200
#define PROGRAM_TIMEOUT_MS 60000

static void sync_must_converge(struct walk *walk)
{
    struct oneib_error err = {0};
    struct lab_output output = {0};
    assert_int_equal(
        lab_oneib(walk->lab, (const char *[]){"sync", NULL}, PROGRAM_TIMEOUT_MS, &output, &err), 0);
    if (output.status != 0)
        fail_msg("after \"%s\" sync ended with %d: %s%s", walk->action, output.status, output.out,
                 output.error);
    lab_output_clear(&output);
}

static void every_port_must_be_right(struct walk *walk)
{
    struct oneib_error err = {0};
    struct lab_output output = {0};
    assert_int_equal(lab_run(walk->lab, LAB_SM_HCA, (const char *[]){FABRIC_TABLES_BINARY, NULL},
                             PROGRAM_TIMEOUT_MS, &output, &err),
                     0);
    assert_int_equal(output.status, 0);
    assert_true(output.out_length > 0);
    assert_int_equal(walk_count_wrong(walk, output.out), 0);
    lab_output_clear(&output);
}

static void open_walk(struct walk *walk)
{
    struct oneib_error err = {0};
    struct lab_output output = {0};
    if (walk_raise(walk, &LAB_SM, NULL, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(lab_oneib(walk->lab, (const char *[]){"sync", "--force", NULL},
                               PROGRAM_TIMEOUT_MS, &output, &err),
                     0);
    if (output.status != 0)
        fail_msg("the first sync ended with %d: %s%s", output.status, output.out, output.error);
    lab_output_clear(&output);
}

static void every_port_holds_exactly_its_keys_after_every_step(void **state)
{
    (void)state;
    if (lab_missing()) {
        skip_because("%s is not installed", lab_missing());
    }
    struct walk walk = {.random = walk_setting("ONEIB_WALK_SEED", (unsigned)time(NULL)),
                        .shape = lab_shape_chosen("ONEIB_WALK_FABRIC", &lab_two_rails),
                        .switches_drivers = true,
                        .edits_ledger = true};
    const unsigned steps = walk_setting("ONEIB_WALK_STEPS", STEPS);
    print_message("replay with ONEIB_WALK_SEED=%u\n", walk.random);

    open_walk(&walk);
    for (unsigned i = 0; i < steps; i++) {
        struct oneib_error err = {0};
        if (walk_step(&walk, &err) < 0)
            fail_msg("step %u, %s: %s", i, walk.action, err.text);
        sync_must_converge(&walk);
        every_port_must_be_right(&walk);
    }
    lab_close(walk.lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_port_holds_exactly_its_keys_after_every_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
