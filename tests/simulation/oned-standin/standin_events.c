// SPDX-License-Identifier: Apache-2.0
#include "standin_events.h"
#include "standin_documents.h"
#include "standin_publisher.h"
#include <inttypes.h>
#include <stdio.h>

/* OpenNebula's state tables (include/VirtualMachine.h and its kind); a number without a name gives
 * "", as recorded for networks in state 6. */
static const char *const vm_states[] = {
    "INIT", "PENDING", "HOLD",     "ACTIVE",     "STOPPED", "SUSPENDED",
    "DONE", NULL,      "POWEROFF", "UNDEPLOYED", "CLONING", "CLONING_FAILURE",
};
static const char *const lcm_states[] = {
    [0] = "LCM_INIT",
    [1] = "PROLOG",
    [2] = "BOOT",
    [3] = "RUNNING",
    [4] = "MIGRATE",
    [5] = "SAVE_STOP",
    [6] = "SAVE_SUSPEND",
    [7] = "SAVE_MIGRATE",
    [8] = "PROLOG_MIGRATE",
    [9] = "PROLOG_RESUME",
    [10] = "EPILOG_STOP",
    [11] = "EPILOG",
    [12] = "SHUTDOWN",
    [15] = "CLEANUP_RESUBMIT",
    [16] = "UNKNOWN",
    [17] = "HOTPLUG",
    [18] = "SHUTDOWN_POWEROFF",
    [19] = "BOOT_UNKNOWN",
    [20] = "BOOT_POWEROFF",
    [21] = "BOOT_SUSPENDED",
    [22] = "BOOT_STOPPED",
    [23] = "CLEANUP_DELETE",
    [24] = "HOTPLUG_SNAPSHOT",
    [25] = "HOTPLUG_NIC",
    [26] = "HOTPLUG_SAVEAS",
    [27] = "HOTPLUG_SAVEAS_POWEROFF",
    [28] = "HOTPLUG_SAVEAS_SUSPENDED",
    [29] = "SHUTDOWN_UNDEPLOY",
    [30] = "EPILOG_UNDEPLOY",
    [31] = "PROLOG_UNDEPLOY",
    [32] = "BOOT_UNDEPLOY",
    [33] = "HOTPLUG_PROLOG_POWEROFF",
    [34] = "HOTPLUG_EPILOG_POWEROFF",
    [35] = "BOOT_MIGRATE",
    [36] = "BOOT_FAILURE",
    [37] = "BOOT_MIGRATE_FAILURE",
    [38] = "PROLOG_MIGRATE_FAILURE",
    [39] = "PROLOG_FAILURE",
    [40] = "EPILOG_FAILURE",
    [41] = "EPILOG_STOP_FAILURE",
    [42] = "EPILOG_UNDEPLOY_FAILURE",
    [43] = "PROLOG_MIGRATE_POWEROFF",
    [44] = "PROLOG_MIGRATE_POWEROFF_FAILURE",
    [45] = "PROLOG_MIGRATE_SUSPEND",
    [46] = "PROLOG_MIGRATE_SUSPEND_FAILURE",
    [47] = "BOOT_UNDEPLOY_FAILURE",
    [48] = "BOOT_STOPPED_FAILURE",
    [49] = "PROLOG_RESUME_FAILURE",
    [50] = "PROLOG_UNDEPLOY_FAILURE",
    [60] = "PROLOG_MIGRATE_UNKNOWN",
    [61] = "PROLOG_MIGRATE_UNKNOWN_FAILURE",
    [65] = "HOTPLUG_NIC_POWEROFF",
    [66] = "HOTPLUG_RESIZE",
    [67] = "HOTPLUG_SAVEAS_UNDEPLOYED",
    [68] = "HOTPLUG_SAVEAS_STOPPED",
    [69] = "BACKUP",
    [70] = "BACKUP_POWEROFF",
    [71] = "RESTORE",
};
static const char *const network_states[] = {"INIT",        "READY", "LOCK_CREATE",
                                             "LOCK_DELETE", "DONE",  "ERROR"};
static const char *const host_states[] = {"INIT", NULL, "MONITORED", "ERROR"};

#define NAME_OF(names, number) name_of(names, sizeof(names) / sizeof *(names), number)

static const char *name_of(const char *const *names, size_t count, int number)
{
    bool named = number >= 0 && (size_t)number < count && names[number];
    return named ? names[number] : "";
}

struct standin_number standin_number(uint32_t number)
{
    struct standin_number made;
    snprintf(made.text, sizeof made.text, "%" PRIu32, number);
    return made;
}

/* A change of state: whose, and to what. */
struct change {
    const char *object, *state, *lcm_state;
    uint32_t id;
};

static void publish_change(const struct standin_state *state, const struct change *change,
                           struct oneib_text *text)
{
    char key[128], state_key[128];
    snprintf(key, sizeof key, "EVENT %s %" PRIu32 "/%s/%s ", change->object, change->id,
             change->state, change->lcm_state);
    snprintf(state_key, sizeof state_key, "EVENT STATE %s/%s/%s/%" PRIu32 " ", change->object,
             change->state, change->lcm_state, change->id);
    oneib_text_append(text, "</HOOK_MESSAGE>");
    standin_publisher_publish(state->publisher, key, state_key, text->data, text->length);
    oneib_text_clear(text);
}

static void begin_change(const struct change *change, struct oneib_text *text)
{
    oneib_text_printf(text,
                      "<HOOK_MESSAGE><HOOK_TYPE>STATE</HOOK_TYPE><HOOK_OBJECT>%s</HOOK_OBJECT>"
                      "<STATE>%s</STATE>",
                      change->object, change->state);
}

void standin_event_vm(const struct standin_state *state, const struct standin_vm *vm)
{
    if (!standin_publisher_is_heard(state->publisher))
        return;
    struct oneib_text text = {0};
    struct change change = {.object = "VM",
                            .state = NAME_OF(vm_states, vm->state),
                            .lcm_state = NAME_OF(lcm_states, vm->lcm_state),
                            .id = vm->id};
    begin_change(&change, &text);
    oneib_text_printf(&text, "<LCM_STATE>%s</LCM_STATE><RESOURCE_ID>%" PRIu32 "</RESOURCE_ID>",
                      change.lcm_state, vm->id);
    if (vm->history_count > 0)
        oneib_text_printf(&text, "<REMOTE_HOST>%s</REMOTE_HOST>",
                          state->hosts[vm->history[vm->history_count - 1].host_id]->name);
    else
        oneib_text_append(&text, "<REMOTE_HOST/>");
    standin_render_vm(state, vm, STANDIN_WHOLE, &text);
    publish_change(state, &change, &text);
}

void standin_event_network(const struct standin_state *state, const struct standin_network *network)
{
    if (!standin_publisher_is_heard(state->publisher))
        return;
    struct oneib_text text = {0};
    struct change change = {.object = "NET",
                            .state = NAME_OF(network_states, network->state),
                            .lcm_state = "",
                            .id = network->id};
    begin_change(&change, &text);
    oneib_text_printf(&text, "<RESOURCE_ID>%" PRIu32 "</RESOURCE_ID>", network->id);
    standin_render_network(state, network, STANDIN_POOL, &text);
    publish_change(state, &change, &text);
}

void standin_event_host(const struct standin_state *state, const struct standin_host *host)
{
    if (!standin_publisher_is_heard(state->publisher))
        return;
    struct oneib_text text = {0};
    struct change change = {.object = "HOST",
                            .state = NAME_OF(host_states, host->state),
                            .lcm_state = "",
                            .id = host->id};
    begin_change(&change, &text);
    oneib_text_printf(&text, "<REMOTE_HOST>%s</REMOTE_HOST><RESOURCE_ID>%" PRIu32 "</RESOURCE_ID>",
                      host->name, host->id);
    standin_render_host(state, host, STANDIN_POOL, &text);
    publish_change(state, &change, &text);
}

static void render_parameter(unsigned position, const char *type, const char *value,
                             struct oneib_text *text)
{
    oneib_text_printf(text, "<PARAMETER><POSITION>%u</POSITION><TYPE>%s</TYPE><VALUE>", position,
                      type);
    standin_render_escaped(value, text);
    oneib_text_append(text, "</VALUE></PARAMETER>");
}

static void render_call(const struct standin_state *state, const struct standin_call_event *event,
                        struct oneib_text *text)
{
    oneib_text_printf(text,
                      "<HOOK_MESSAGE><HOOK_TYPE>API</HOOK_TYPE><CALL>%s</CALL><CALL_INFO>"
                      "<RESULT>1</RESULT><PARAMETERS>",
                      event->call);
    render_parameter(1, "IN", "****", text);
    for (unsigned i = 0; i < sizeof event->in / sizeof *event->in && event->in[i]; i++)
        render_parameter(i + 2, "IN", event->in[i], text);
    render_parameter(1, "OUT", "true", text);
    render_parameter(2, "OUT", standin_number(event->id).text, text);
    render_parameter(3, "OUT", "0", text);
    oneib_text_append(text, "</PARAMETERS><EXTRA>");
    if (event->network)
        standin_render_network(state, event->network, STANDIN_POOL, text);
    if (event->host)
        standin_render_host(state, event->host, STANDIN_POOL, text);
    oneib_text_append(text, "</EXTRA></CALL_INFO></HOOK_MESSAGE>");
}

void standin_event_call(const struct standin_state *state, const struct standin_call_event *event)
{
    if (!standin_publisher_is_heard(state->publisher))
        return;
    char key[64];
    oneib_autotext struct oneib_text text = {0};
    render_call(state, event, &text);
    snprintf(key, sizeof key, "EVENT API %s 1", event->call);
    standin_publisher_publish(state->publisher, key, NULL, text.data, text.length);
}
