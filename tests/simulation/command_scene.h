// SPDX-License-Identifier: Apache-2.0
/*
 * What the tests of the command share: a fabric with a real opensm, OpenNebula's stand-in with
 * hosts and no network, and questions to both. There is one scene at a time. What cannot be done
 * fails the test that asks for it.
 */
#ifndef ONEIB_COMMAND_SCENE_H
#define ONEIB_COMMAND_SCENE_H

#include "lab.h"
#include "opennebula/ledger_document.h"
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SCENE_TIMEOUT_MS 60000
#define SCENE_HOSTS 4 /* of OpenNebula, with the ids 0-3 and the names H1-H4 */
/* On the fabric, and not yet a host of OpenNebula: X1; X2 is the next. */
#define SCENE_EXTRA 4
#define FULL(key) ((unsigned)(key) | 0x8000u)
#define LIMITED(key) ((unsigned)(key))

#define MUST(call)                                                                                 \
    do {                                                                                           \
        if ((call) < 0)                                                                            \
            fail_msg("%s", err.text);                                                              \
    } while (0)

/* Fixtures of cmocka. Raised anew for each test: one that fails must not fail the next. */
int scene_raise(void **state);      /* the first take-over is done */
int scene_raise_new(void **state);  /* there is no partitions file yet */
int scene_raise_lazy(void **state); /* as scene_raise(); a network's update reaches its VMs' NICs
                                       only with lab_networks_propagate() */
/* The hosts above have no VFs. Here they have: what is new there comes with oneibd alone. */
int scene_raise_with_vfs(void **state);
int scene_raise_new_with_vfs(void **state);
/* As scene_raise_new_with_vfs() on another fabric; standin: further arguments of the stand-in, or NULL. */
int scene_raise_on(const struct lab_options *options, const char *const *standin);
int scene_end(void **state);
#define SCENE_CASE(raise, test) cmocka_unit_test_setup_teardown(test, raise, scene_end)

/* First in every test: skips it where there is no ibsim. */
struct lab *scene(void);

/*
 * Runs oneib, requires its exit status, and gives what it said; the JSON document with --json added
 * to the arguments. Kept until the next run of any kind.
 */
const struct lab_output *scene_run(int status, const char *const *arguments);
json_t *scene_run_json(int status, const char *const *arguments);
#define ONEIB(status, ...) scene_run(status, (const char *[]){__VA_ARGS__, NULL})
#define ONEIB_JSON(status, ...) scene_run_json(status, (const char *[]){__VA_ARGS__, NULL})

/* Fails with the whole text when it does not contain the words, or contains them. */
void must_say(const char *text, const char *words);
void must_not_say(const char *text, const char *words);

/* Fields of a JSON document; an absent one fails the test. */
json_t *json_field(json_t *object, const char *name);
const char *json_text(json_t *object, const char *name); /* NULL for null */
json_int_t json_number(json_t *object, const char *name);
bool json_yes(json_t *object, const char *name);
/* The object of the array whose field `name` is the string; NULL when there is none. */
json_t *json_find(json_t *array, const char *name, const char *string);
/* What a document says with a finding of that code; fails when there is none. */
const char *json_finding(json_t *document, const char *code);

uint32_t scene_network(const char *name, const char *vlan_id, const char *extra);
/* One of the network's addresses. */
uint32_t scene_reservation(uint32_t network);
/* The ledger as it is now; to be cleared. */
struct oneib_kept_ledger scene_ledger(void);
uint32_t scene_vm(uint32_t network, uint32_t host);
unsigned scene_key_of(uint32_t network); /* as its document states it; 0: none */
void scene_end_vm(uint32_t vm);

/* Whether the port of a fabric host holds the raw key. */
bool port_holds(size_t host, unsigned raw);
/* Every end port with its keys, as text; to be freed. */
char *scene_tables(void);
/* opensm's partitions file; to be freed. */
char *scene_file(void);
/* Somebody else writes that file, and makes opensm read it until the port holds the key. */
void scene_foreign_reload(const char *file, size_t host, unsigned raw);

struct scene_vf {
    size_t host;
    unsigned key; /* that its host maps it to */
};
/* Whether both can reach each other: by tables and by the SA, which must agree. */
bool scene_reach(struct scene_vf a, struct scene_vf b);

#endif
