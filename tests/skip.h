// SPDX-License-Identifier: Apache-2.0
/* A test that needs what this machine does not have says so: tests/count.awk takes a skip without a
 * reason for a failure. Include it after cmocka.h. */
#ifndef ONEIB_TEST_SKIP_H
#define ONEIB_TEST_SKIP_H

/* What a program returns that skips all of its tests, with the reason on its last line. */
#define SKIPPED 77

/* Ends the test; takes what printf() takes, a reason without a newline. */
#define skip_because(...)                                                                          \
    do {                                                                                           \
        print_message(__VA_ARGS__);                                                                \
        print_message("\n");                                                                       \
        skip();                                                                                    \
    } while (0)

#endif
