// SPDX-License-Identifier: Apache-2.0
/*
 * What the stand-in for UFM believes, brought to the ports of the simulated fabric: by the
 * partitions.conf of a real opensm, which nobody else writes.
 */
#ifndef ONEIB_SIMULATION_UFM_FOLLOW_H
#define ONEIB_SIMULATION_UFM_FOLLOW_H

#include "ufm_model.h"

/* Replaces the file, unless partitions is NULL. Ends the program where it cannot. */
void ufm_follow_write(const struct ufm_model *model, const char *partitions);
/* SIGHUP to whose process ids the files hold, whose names are joined by commas; one that is not
 * there is left out. */
void ufm_follow_tell(const char *pid_files);

#endif
