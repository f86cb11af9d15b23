// SPDX-License-Identifier: Apache-2.0
/* Two adapters, and reading what a tree has into a list that is cleared after each test. */
#ifndef ONEIB_UNIT_READING_HCAS_H
#define ONEIB_UNIT_READING_HCAS_H

#include "hca/hca.h"
#include "tree.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define EVERYTHING (ONEIB_HCA_PKEYS | ONEIB_HCA_VFS)
#define DEVICE "/sys/class/infiniband/mlx4_0"
#define PCI_DEVICE "/sys/bus/pci/devices/0000:81:00.0"

static const struct tree_hca mlx4 = {.driver = ONEIB_HCA_MLX4, .vfs = 7, .pkeys = 7};
static const struct tree_hca second = {
    .name = "mlx5_0", .driver = ONEIB_HCA_MLX5, .pci = "0000:05:00.0", .vfs = 2, .pkeys = 4};

static struct oneib_hcas hcas;

static inline void read_hcas(unsigned what)
{
    struct oneib_error err;
    oneib_hcas_clear(&hcas);
    if (oneib_hcas_read(what, &hcas, &err) < 0)
        fail_msg("%s", err.text);
}

static inline int forget(void **state)
{
    (void)state;
    oneib_hcas_clear(&hcas);
    return 0;
}

/* The only one, without a fault. */
static inline const struct oneib_hca *read_one(unsigned what)
{
    read_hcas(what);
    assert_int_equal(hcas.count, 1);
    if (hcas.items[0].fault.code != ONEIB_ERROR_NONE)
        fail_msg("%s", hcas.items[0].fault.text);
    return &hcas.items[0];
}

/* The only one, with a fault whose text has `words`. */
static inline const struct oneib_hca *read_broken(const char *words)
{
    read_hcas(EVERYTHING);
    assert_int_equal(hcas.count, 1);
    assert_int_not_equal(hcas.items[0].fault.code, ONEIB_ERROR_NONE);
    if (!strstr(hcas.items[0].fault.text, words))
        fail_msg("\"%s\" does not say \"%s\"", hcas.items[0].fault.text, words);
    return &hcas.items[0];
}

#define HCA_TEST(name) cmocka_unit_test_setup_teardown(name, tree_reset, forget)

#endif
