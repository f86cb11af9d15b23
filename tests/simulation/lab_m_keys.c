// SPDX-License-Identifier: Apache-2.0
/* Ports with M_Keys, and with virtual ports: a stand-in between programs and ibsim
 * (m-key-standin). */
#include "lab_internal.h"
#include <stdio.h>

#define PROGRAM "m-key-standin"

bool lab_has_behind(const struct lab *lab)
{
    return lab->options.m_keys || lab->options.virtual_ports;
}

void lab_behind(const struct lab *lab, char name[80])
{
    snprintf(name, 80, "%s%s", lab->socket_name, lab_has_behind(lab) ? "-behind" : "");
}

int lab_m_keys_start(struct lab *lab, struct oneib_error *err)
{
    char behind[80];
    pid_t pid;
    lab_behind(lab, behind);
    const char *directory = lab->options.virtual_ports ? lab->directory : NULL;
    const char *argv[] = {LAB_M_KEY_STANDIN, lab->socket_name, behind, directory, NULL};
    return lab_spawn(lab, PROGRAM, NULL, argv, &pid, err) < 0 ||
                   lab_await_listening(lab, lab->socket_name, pid, PROGRAM ".log", err) < 0
               ? -1
               : 0;
}
