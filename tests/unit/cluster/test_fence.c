// SPDX-License-Identifier: Apache-2.0
/* What scenarios/fence.txt does not hold: whether the ledger changed, since when a state is, and
 * refusals. */
#include "scenario_fence.h"

#define HOST 3
#define PORT UINT64_C(0x100003)

struct fenced {
    struct scene *scene;
    struct fence_scene fence;
};

static int fenced_make(void **state)
{
    struct fenced *fenced = calloc(1, sizeof *fenced);
    void *scene;
    if (!fenced || scene_make(&scene) < 0)
        return -1;
    fenced->scene = scene;
    *state = fenced;
    return 0;
}

static int fenced_free(void **state)
{
    struct fenced *fenced = *state;
    void *scene = fenced->scene;
    oneib_fence_plan_clear(&fenced->fence.plan);
    scene_free(&scene);
    free(fenced);
    return 0;
}

#define FENCE_TEST(function) cmocka_unit_test_setup_teardown(function, fenced_make, fenced_free)

static void fence_port(struct fenced *fenced, uint8_t switch_port, enum oneib_fence_state state)
{
    const struct oneib_ledger_fenced_port port = {.host_id = HOST,
                                                  .guid = PORT,
                                                  .switch_guid = switch_port ? LEAF : 0,
                                                  .switch_port = switch_port,
                                                  .state = state,
                                                  .answer = state != ONEIB_FENCE_ASKED,
                                                  .since = NOW};
    assert_int_equal(
        oneib_ledger_set_fenced_port(&fenced->scene->ledger, &port, &fenced->scene->err), 0);
}

/* The host was just fenced; its port is linked to port 7 of the switch. */
static void fence_host(struct fenced *fenced)
{
    struct scene *scene = fenced->scene;
    const struct oneib_ledger_host host = {.host_id = HOST};
    const struct oneib_ledger_port port = {.host_id = HOST, .guid = PORT};
    const struct oneib_ledger_fence entry = {.host_id = HOST, .asked = 1, .since = NOW};
    add_host(scene, HOST)->ports[0].port_guid = PORT;
    oneib_ledger_pin(&scene->ledger, &host);
    assert_int_equal(oneib_ledger_set_port(&scene->ledger, &port, &scene->err), 0);
    oneib_ledger_set_fence(&scene->ledger, &entry);
    fence_port(fenced, 0, ONEIB_FENCE_ASKED);
    *link_at(&fenced->fence, 7) = (struct oneib_switch_link){.switch_guid = LEAF,
                                                             .switch_port = 7,
                                                             .physical = ONEIB_PHYSICAL_LINK_UP,
                                                             .node_type = ONEIB_NODE_CA,
                                                             .port_guid = PORT,
                                                             .node_guid = PORT - 1};
}

static int note_states(struct fenced *fenced, int64_t now, bool *changed)
{
    return oneib_fence_note_states(&fenced->fence.plan, now, &fenced->scene->ledger, changed,
                                   &fenced->scene->err);
}

static int note_places(struct fenced *fenced, bool *changed)
{
    return oneib_fence_note_places(&fenced->fence.plan, NOW, &fenced->scene->ledger, changed,
                                   &fenced->scene->err);
}

static void a_plan_that_agrees_with_the_ledger_changes_nothing(void **state)
{
    struct fenced *fenced = *state;
    bool changed;
    fence_host(fenced);
    fence_port(fenced, 7, ONEIB_FENCE_DOWN);
    *link_at(&fenced->fence, 7) = (struct oneib_switch_link){
        .switch_guid = LEAF, .switch_port = 7, .physical = ONEIB_PHYSICAL_DISABLED};
    plan_fences(fenced->scene, &fenced->fence);
    assert_int_equal(note_places(fenced, &changed), 0);
    assert_false(changed);
    assert_int_equal(note_states(fenced, NOW, &changed), 0);
    assert_false(changed);
}

static void the_time_of_a_state_is_that_of_its_change(void **state)
{
    struct fenced *fenced = *state;
    bool changed;
    fence_host(fenced);
    plan_fences(fenced->scene, &fenced->fence);
    assert_int_equal(note_places(fenced, &changed), 0);
    assert_true(changed);
    obey_fences(&fenced->fence);
    for (int64_t later = 1; later <= 2; later++) {
        assert_int_equal(note_states(fenced, NOW + later, &changed), 0);
        assert_true(changed == (later == 1));
    }
    assert_int_equal(oneib_ledger_fenced_port(&fenced->scene->ledger, HOST, PORT)->since, NOW + 1);
}

static void a_fence_without_ports_neither_holds_nor_is_lifted(void **state)
{
    struct fenced *fenced = *state;
    struct oneib_ledger *ledger = &fenced->scene->ledger;
    bool changed;
    assert_false(oneib_fence_holds(ledger, HOST));
    oneib_ledger_set_fence(ledger, &(struct oneib_ledger_fence){.host_id = HOST});
    assert_false(oneib_fence_holds(ledger, HOST));
    assert_int_equal(note_states(fenced, NOW, &changed), 0);
    assert_false(changed);
    assert_non_null(oneib_ledger_fence(ledger, HOST));
}

static void a_fence_that_was_lifted_meanwhile_is_not_noted(void **state)
{
    struct fenced *fenced = *state;
    bool changed;
    fence_host(fenced);
    plan_fences(fenced->scene, &fenced->fence);
    oneib_ledger_lift_fence(&fenced->scene->ledger, HOST);
    assert_int_equal(note_places(fenced, &changed), -1);
    assert_non_null(strstr(fenced->scene->err.text, "is not fenced"));
    assert_int_equal(note_states(fenced, NOW, &changed), 0);
    assert_false(changed);
    assert_int_equal(fenced->scene->ledger.fenced_port_count, 0);
}

static void a_port_without_a_guid_cannot_be_noted(void **state)
{
    struct fenced *fenced = *state;
    bool changed;
    fence_host(fenced);
    plan_fences(fenced->scene, &fenced->fence);
    fenced->fence.plan.items[0].guid = 0;
    assert_int_equal(note_states(fenced, NOW, &changed), -1);
    assert_non_null(strstr(fenced->scene->err.text, "is no port"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FENCE_TEST(a_plan_that_agrees_with_the_ledger_changes_nothing),
        FENCE_TEST(the_time_of_a_state_is_that_of_its_change),
        FENCE_TEST(a_fence_without_ports_neither_holds_nor_is_lifted),
        FENCE_TEST(a_fence_that_was_lifted_meanwhile_is_not_noted),
        FENCE_TEST(a_port_without_a_guid_cannot_be_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
