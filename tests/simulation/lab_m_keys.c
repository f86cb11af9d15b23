// SPDX-License-Identifier: Apache-2.0
/* Ports with M_Keys: a stand-in between programs and ibsim (m-key-standin). */
#include "lab_internal.h"
#include <stdio.h>

#define PROGRAM "m-key-standin"

void lab_behind(const struct lab *lab, char name[80])
{
    snprintf(name, 80, "%s%s", lab->socket_name, lab->options.m_keys ? "-behind" : "");
}

int lab_m_keys_start(struct lab *lab, struct oneib_error *err)
{
    char behind[80];
    pid_t pid;
    lab_behind(lab, behind);
    const char *argv[] = {LAB_M_KEY_STANDIN, lab->socket_name, behind, NULL};
    return lab_spawn(lab, PROGRAM, NULL, argv, &pid, err) < 0 ||
                   lab_await_listening(lab, lab->socket_name, pid, PROGRAM ".log", err) < 0
               ? -1
               : 0;
}
