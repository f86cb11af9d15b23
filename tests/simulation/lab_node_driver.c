// SPDX-License-Identifier: Apache-2.0
/*
 * Calls of the network driver as OpenNebula 7.4 makes them, recorded: arguments, and documents made
 * of what oned says about the VM.
 */
#include "../base64.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/text.h"
#include "lab_node_internal.h"
#include <inttypes.h>
#include <libxml/parser.h>
#include <string.h>

#define LCM_BOOT 2
#define LCM_MIGRATE "4"
#define LINE 60u /* characters, of base64 with line breaks */

/* A VM as oned shows it. */
struct document {
    xmlDoc *xml;
    xmlNode *vm;
    uint32_t id;
};

static int open_document(struct lab *lab, uint32_t vm, struct document *document,
                         struct oneib_error *err)
{
    const int id = (int)vm;
    oneib_autofree char *text = NULL;
    if (lab_call_document(lab, "one.vm.info", lab_session(lab), &id, 1, &text, err) < 0)
        return -1;
    document->id = vm;
    document->xml = xmlReadMemory(text, (int)strlen(text), NULL, NULL, 0);
    document->vm = document->xml ? xmlDocGetRootElement(document->xml) : NULL;
    if (!document->vm)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "the document of VM %" PRIu32 " is none", vm);
    return 0;
}

static bool is_called(const xmlNode *node, const char *name)
{
    return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

static xmlNode *child(const xmlNode *parent, const char *name)
{
    xmlNode *node = parent ? parent->children : NULL;
    while (node && !is_called(node, name))
        node = node->next;
    return node;
}

/* The record `back` steps before the last one; NULL: none. */
static xmlNode *history(const struct document *document, unsigned back)
{
    const xmlNode *records = child(document->vm, "HISTORY_RECORDS");
    xmlNode *node = records ? records->last : NULL;
    for (; node; node = node->prev)
        if (is_called(node, "HISTORY") && back-- == 0)
            break;
    return node;
}

static void copy_text(const xmlNode *node, char *text, size_t size)
{
    xmlChar *content = node ? xmlNodeGetContent(node) : NULL;
    snprintf(text, size, "%s", content ? (const char *)content : "");
    xmlFree(content);
}

static void append_node(const struct document *document, xmlNode *node, struct oneib_text *text)
{
    xmlBuffer *buffer = xmlBufferCreate();
    if (buffer && node && xmlNodeDump(buffer, document->xml, node, 0, 0) > 0)
        oneib_text_append(text, (const char *)xmlBufferContent(buffer));
    xmlBufferFree(buffer);
}

/* Each in a <TEMPLATE> of its own. */
static void append_of_template(const struct document *document, const char *name,
                               struct oneib_text *text)
{
    const xmlNode *template = child(document->vm, "TEMPLATE");
    for (xmlNode *node = template ? template->children : NULL; node; node = node->next) {
        if (!is_called(node, name))
            continue;
        oneib_text_append(text, "<TEMPLATE>");
        append_node(document, node, text);
        oneib_text_append(text, "</TEMPLATE>");
    }
}

static void append_history(const struct document *document, const char *name,
                           struct oneib_text *text)
{
    oneib_text_append(text, "<HISTORY_RECORDS><HISTORY>");
    append_node(document, child(history(document, 0), name), text);
    oneib_text_append(text, "</HISTORY></HISTORY_RECORDS>");
}

/* What pre, post and clean get, in the order of the recorded ones. */
static void reduce(const struct document *document, struct oneib_text *text)
{
    oneib_text_append(text, "<VM>");
    append_node(document, child(document->vm, "ID"), text);
    append_node(document, child(document->vm, "DEPLOY_ID"), text);
    append_of_template(document, "CONTEXT", text);
    append_node(document, child(document->vm, "USER_TEMPLATE"), text);
    append_of_template(document, "SECURITY_GROUP_RULE", text);
    append_history(document, "HOSTNAME", text);
    append_history(document, "HID", text);
    append_history(document, "DS_ID", text);
    append_history(document, "VM_MAD", text);
    append_of_template(document, "NIC", text);
    append_of_template(document, "NIC_ALIAS", text);
    append_of_template(document, "PCI", text);
    oneib_text_append(text, "</VM>");
}

static char *encode(const struct oneib_text *text)
{
    const size_t length = base64_length(text->length);
    oneib_autofree char *line = oneib_alloc(length + 1, 1);
    struct oneib_text lines = {0};
    base64_encode(text->data, text->length, line);
    for (size_t i = 0; i < length; i += LINE) {
        oneib_text_append_bytes(&lines, line + i, length - i < LINE ? length - i : LINE);
        oneib_text_append(&lines, length - i <= LINE ? "\n" : "");
    }
    return lines.data;
}

/* A form of libvirt's UUIDs, as the stand-in gives it once the VM runs. */
static void find_deploy_id(const struct document *document, char *text, size_t size)
{
    copy_text(child(document->vm, "DEPLOY_ID"), text, size);
    if (!*text)
        snprintf(text, size, "5dec61fb-6338-452b-9e09-%012" PRIx32, document->id);
}

/* Of post: the host that the VM runs on, but the source as long as it migrates. */
static void find_post_host(const struct document *document, char *text, size_t size)
{
    char lcm_state[16];
    copy_text(child(document->vm, "LCM_STATE"), lcm_state, sizeof lcm_state);
    const unsigned back = strcmp(lcm_state, LCM_MIGRATE) == 0 ? 1 : 0;
    copy_text(child(history(document, back), "HOSTNAME"), text, size);
}

static int call(struct lab *lab, size_t host, const char *const *argv, uint32_t vm,
                const char *input, struct oneib_error *err)
{
    struct lab_output output;
    if (lab_node_run(lab, host, argv, input, &output, err) < 0)
        return -1;
    int result = 0;
    if (output.status != 0)
        result = oneib_fail(
            err, ONEIB_ERROR_REFUSED, "%s of VM %" PRIu32 " on %s ended with %d: %s", argv[1], vm,
            strrchr(lab_node_root(lab, host), '/') + 1, output.status, output.error);
    lab_output_clear(&output);
    return result;
}

static int call_action(struct lab *lab, size_t host, const char *action,
                       const struct document *document, struct oneib_error *err)
{
    char deploy_id[64], post_host[64];
    oneib_autotext struct oneib_text text = {0};
    const char *argv[5] = {"driver", action};
    const char *own_name = lab_host_hca(lab, host);
    find_deploy_id(document, deploy_id, sizeof deploy_id);
    find_post_host(document, post_host, sizeof post_host);
    if (strcmp(action, "post") == 0) {
        argv[2] = deploy_id;
        argv[3] = post_host;
    } else if (strcmp(action, "clean") == 0) {
        argv[2] = own_name;
    }
    reduce(document, &text);
    oneib_autofree char *input = encode(&text);
    return own_name && input ? call(lab, host, argv, document->id, input, err) : -1;
}

int lab_node_driver(struct lab *lab, size_t host, const char *action, uint32_t vm,
                    struct oneib_error *err)
{
    struct document document = {0};
    int result = open_document(lab, vm, &document, err);
    if (result == 0)
        result = call_action(lab, host, action, &document, err);
    xmlFreeDoc(document.xml);
    return result;
}

int lab_node_boot(struct lab *lab, size_t host, uint32_t vm, struct oneib_error *err)
{
    return lab_vm_state(lab, vm, 3, LCM_BOOT, err) < 0 ||
                   lab_node_driver(lab, host, "pre", vm, err) < 0 ||
                   lab_node_domain(lab, host, vm, true, err) < 0 ||
                   lab_node_driver(lab, host, "post", vm, err) < 0
               ? -1
               : lab_vm_running(lab, vm, err);
}
