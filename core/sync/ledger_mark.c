// SPDX-License-Identifier: Apache-2.0
#include "sync/ledger_mark.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include <inttypes.h>
#include <stdio.h>

#define SUFFIX "ledger"
#define MODE 0640
#define SIZE_MAX_READ 256
#define FORMAT "document %" PRIu32 " serial %" PRIu64 " next 0x%04x\n"

void oneib_ledger_mark_read(const char *state, struct oneib_ledger_mark *mark)
{
    oneib_autofree char *path = oneib_path_beside(state, SUFFIX);
    oneib_autofree char *data = NULL;
    struct oneib_error unread;
    struct oneib_ledger_mark read;
    size_t length;
    unsigned next;
    *mark = (struct oneib_ledger_mark){0};
    if (oneib_file_read(path, SIZE_MAX_READ, &data, &length, &unread) < 0 ||
        sscanf(data, "document %" SCNu32 " serial %" SCNu64 " next %x", &read.document_id,
               &read.serial, &next) != 3 ||
        next > ONEIB_PKEY_DEFAULT)
        return;
    read.next = (oneib_pkey)next;
    *mark = read;
}

int oneib_ledger_mark_write(const char *state, const struct oneib_kept_ledger *kept,
                            struct oneib_error *err)
{
    struct oneib_ledger_mark before;
    oneib_autofree char *path = oneib_path_beside(state, SUFFIX);
    oneib_autotext struct oneib_text text = {0};
    oneib_ledger_mark_read(state, &before);
    if (kept->state != ONEIB_LEDGER_READ ||
        (before.document_id == kept->document_id && before.serial >= kept->ledger.serial))
        return 0;
    oneib_text_printf(&text, FORMAT, kept->document_id, kept->ledger.serial, kept->ledger.next);
    return oneib_file_replace(path, text.data, text.length, MODE, NULL, NULL, err);
}

bool oneib_ledger_is_older(const struct oneib_ledger_mark *mark,
                           const struct oneib_kept_ledger *kept)
{
    return kept->state == ONEIB_LEDGER_READ && kept->document_id == mark->document_id &&
           kept->ledger.serial < mark->serial;
}
