// SPDX-License-Identifier: Apache-2.0
/*
 * The error contract of every function in core/.
 *
 * A function that can fail returns 0 or -1 (or NULL) and takes one trailing oneib_error *err.
 * err is never NULL. It is set exactly once, at the place that knows what went wrong, wrapped with
 * context on the way up, and untouched on success. Core never prints and never exits: main() does;
 * but whoever finds no memory ends the process (memory.h), and is no error.
 *
 * A text says what was being done, to which object (VM 42 NIC 1, mlx4_0 port 1, line 17 of a file),
 * what was wrong and, where it is known, what to do next. It has no trailing full stop and no
 * newline.
 */
#ifndef ONEIB_BASE_ERROR_H
#define ONEIB_BASE_ERROR_H

enum oneib_error_code {
    ONEIB_ERROR_NONE = 0,
    ONEIB_ERROR_INPUT,       /* a value, document or file is malformed or out of range */
    ONEIB_ERROR_CONFIG,      /* oneib's own configuration is wrong */
    ONEIB_ERROR_SYSTEM,      /* a system call failed: system_errno says how */
    ONEIB_ERROR_UNREACHABLE, /* a service (oned, the subnet manager, a umad port) does not answer */
    ONEIB_ERROR_AUTH,        /* oned refused the session */
    ONEIB_ERROR_PERMISSION,  /* oned knows the user but refuses the action or hides the object */
    ONEIB_ERROR_NOT_FOUND,   /* no such object, file or process */
    ONEIB_ERROR_PROTOCOL,    /* a service answered nonsense */
    ONEIB_ERROR_TOO_LARGE,   /* a service's answer is larger than what is read of it */
    ONEIB_ERROR_TIMEOUT,     /* the time allowed for it is over */
    ONEIB_ERROR_REFUSED,     /* oneib itself refuses: it would be unsafe, or needs --force */
};

struct oneib_error {
    enum oneib_error_code code;
    int system_errno; /* 0 unless code is ONEIB_ERROR_SYSTEM */
    char text[1024];  /* NUL terminated; a longer text is cut and ends in "..." */
};

/* Sets *err; returns -1 always, so that `return oneib_fail(err, ...)` reads as one step. */
int oneib_fail(struct oneib_error *err, enum oneib_error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a failed system call: ONEIB_ERROR_SYSTEM, ": " and strerror(errnum) appended. */
int oneib_fail_errno(struct oneib_error *err, int errnum, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "CONTEXT: " in front of the text of an error that is set; keeps its code. Returns -1. */
int oneib_wrap(struct oneib_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The stable name of a code for --json and logs: "input", "config", "system", ... Never NULL. */
const char *oneib_error_code_name(enum oneib_error_code code);

#endif
