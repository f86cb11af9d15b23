// SPDX-License-Identifier: Apache-2.0
/* Writing the ledger beside others who do: the other daemon, `oneib fence`, `oneib host`. */
#include "base/log.h"
#include "oneibd/daemon.h"
#include "oneibd/signals.h"

/* Where it is not known which ledger was read last, one that was put back is not told from it. */
void oneib_daemon_note_ledger(struct oneib_daemon *daemon)
{
    struct oneib_error failure;
    if (!daemon->snapshot.ledger_lost &&
        oneib_ledger_mark_write(oneib_config_state(&daemon->config), &daemon->snapshot.kept,
                                &failure) < 0)
        oneib_daemon_complain(daemon, &failure);
}

int oneib_daemon_put_ledger(struct oneib_daemon *daemon, const struct oneib_ledger *next,
                            struct oneib_error *err)
{
    oneib_signals_allow();
    const int status = oneib_ledger_write(daemon->one, &daemon->snapshot.kept, next, err);
    oneib_signals_block();
    if (status < 0)
        oneib_oned_set_ledger_due(daemon, true);
    else
        oneib_daemon_note_ledger(daemon);
    return status;
}

int oneib_daemon_write_ledger(struct oneib_daemon *daemon, const struct oneib_ledger *next,
                              bool *written, struct oneib_error *err)
{
    const int status = oneib_daemon_put_ledger(daemon, next, err);
    *written = status == 0;
    if (status == 0 || err->code != ONEIB_ERROR_REFUSED)
        return status;
    /* Nobody has done anything wrong: what is to be written follows from what the other one wrote. */
    oneib_log(ONEIB_LOG_INFO, "%s: it is read again", err->text);
    return 0;
}
