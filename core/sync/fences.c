// SPDX-License-Identifier: Apache-2.0
#include "sync/fences.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "opennebula/ledger_document.h"
#include <inttypes.h>
#include <unistd.h>

#define SUFFIX "fences"
#define MODE 0640
#define SIZE_MAX_READ ((size_t)16 << 20)

/* As oned would show the document, so that what reads the one reads the other. */
#define BEGIN                                                                                      \
    "<DOCUMENT><ID>0</ID><UID>0</UID><GID>0</GID><NAME>" ONEIB_LEDGER_NAME "</NAME><TYPE>6231"     \
    "</TYPE><PERMISSIONS><OTHER_U>0</OTHER_U><OTHER_M>0</OTHER_M><OTHER_A>0</OTHER_A>"             \
    "</PERMISSIONS><TEMPLATE>\n<VERSION>1</VERSION><SERIAL>1</SERIAL><NEXT>0x0000</NEXT>\n"
#define END "</TEMPLATE></DOCUMENT>\n"

static void render(const struct oneib_ledger *ledger, struct oneib_text *text)
{
    oneib_text_append(text, BEGIN);
    for (size_t i = 0; i < ledger->fence_count; i++) {
        const struct oneib_ledger_fence *fence = &ledger->fences[i];
        oneib_text_printf(text,
                          "<FENCE><HOST>%" PRIu32 "</HOST><WISH>%s</WISH><ASKED>%" PRIu32
                          "</ASKED><SINCE>%" PRId64 "</SINCE></FENCE>\n",
                          fence->host_id, oneib_fence_wish_name(fence->wish), fence->asked,
                          fence->since);
    }
    for (size_t i = 0; i < ledger->fenced_port_count; i++) {
        const struct oneib_ledger_fenced_port *port = &ledger->fenced_ports[i];
        oneib_text_printf(text,
                          "<FENCED_PORT><HOST>%" PRIu32 "</HOST><GUID>0x%016" PRIx64
                          "</GUID><SWITCH>0x%016" PRIx64 "</SWITCH><PORT>%u</PORT><STATE>%s"
                          "</STATE><ANSWER>%" PRIu32 "</ANSWER><SINCE>%" PRId64
                          "</SINCE></FENCED_PORT>\n",
                          port->host_id, port->guid, port->switch_guid, port->switch_port,
                          oneib_fence_state_name(port->state), port->answer, port->since);
    }
    oneib_text_append(text, END);
}

int oneib_fences_write(const char *state, const struct oneib_ledger *ledger,
                       struct oneib_error *err)
{
    oneib_autofree char *path = oneib_path_beside(state, SUFFIX);
    oneib_autotext struct oneib_text text = {0};
    render(ledger, &text);
    return oneib_file_replace(path, text.data, text.length, MODE, NULL, NULL, err);
}

bool oneib_fences_are_there(const char *state)
{
    oneib_autofree char *path = oneib_path_beside(state, SUFFIX);
    return access(path, F_OK) == 0;
}

static int parse(const char *path, const char *data, size_t length, struct oneib_ledger *ledger,
                 struct oneib_error *err)
{
    oneib_autokept struct oneib_kept_ledger kept = {0};
    size_t count;
    if (oneib_ledger_parse(data, length, &kept, &count, err) < 0)
        return -1;
    if (kept.state != ONEIB_LEDGER_READ)
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "%s is damaged: remove it, and fence again the hosts that were fenced",
                          path);
    *ledger = kept.ledger;
    kept.ledger = (struct oneib_ledger){0};
    return 0;
}

int oneib_fences_read(const char *state, struct oneib_ledger *ledger, struct oneib_error *err)
{
    oneib_autofree char *path = oneib_path_beside(state, SUFFIX);
    oneib_autofree char *data = NULL;
    size_t length;
    *ledger = (struct oneib_ledger){0};
    return oneib_file_read(path, SIZE_MAX_READ, &data, &length, err) < 0
               ? -1
               : parse(path, data, length, ledger, err);
}
