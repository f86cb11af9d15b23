// SPDX-License-Identifier: Apache-2.0
/* What all methods share: the session, the parameters, the form of answers, one call at a time. */
#include "standin_methods.h"
#include <stdlib.h>
#include <string.h>

enum {
    CODE_AUTHENTICATION = 256,
    CODE_AUTHORIZATION = 512,
    CODE_NO_EXISTS = 1024,
    CODE_ACTION = 2048
};

/* Faults of xmlrpc-c's C++ library, in which oned is written, as recorded. */
static const char no_session[] =
    "Unexpected error executing code for particular method, detected by Xmlrpc-c method registry "
    "code.  Method did not fail; rather, it did not complete at all.  Subscript of "
    "xmlrpc_c::paramList out of bounds";

struct binding {
    struct standin *standin;
    const struct standin_method *method;
};

static void fault(struct standin_call *call, const char *text)
{
    xmlrpc_env_set_fault(call->env, XMLRPC_TYPE_ERROR, text);
}

/* The parameter, borrowed from the array; NULL with a fault set when there is none or it is of
 * another type. */
static xmlrpc_value *take(struct standin_call *call, unsigned index, xmlrpc_type type,
                          const char *complaint)
{
    if ((int)index >= xmlrpc_array_size(call->env, call->parameters)) {
        fault(call, "Not enough parameters");
        return NULL;
    }
    xmlrpc_value *value = NULL;
    xmlrpc_array_read_item(call->env, call->parameters, index, &value);
    if (call->env->fault_occurred)
        return NULL;
    if (xmlrpc_value_type(value) != type) {
        xmlrpc_DECREF(value);
        fault(call, complaint);
        return NULL;
    }
    return value;
}

bool standin_take_int(struct standin_call *call, unsigned index, int *value)
{
    xmlrpc_value *parameter =
        take(call, index, XMLRPC_TYPE_INT, "Parameter that is supposed to be integer is not");
    if (!parameter)
        return false;
    xmlrpc_read_int(call->env, parameter, value);
    xmlrpc_DECREF(parameter);
    return !call->env->fault_occurred;
}

/* A negative id is as unknown as one that is too large. */
bool standin_take_id(struct standin_call *call, unsigned index, uint32_t *id)
{
    int value;
    if (!standin_take_int(call, index, &value))
        return false;
    *id = (uint32_t)value;
    return true;
}

bool standin_take_string(struct standin_call *call, unsigned index, char **value)
{
    xmlrpc_value *parameter =
        take(call, index, XMLRPC_TYPE_STRING, "Parameter that is supposed to be string is not");
    if (!parameter)
        return false;
    const char *text = NULL;
    xmlrpc_read_string(call->env, parameter, &text);
    xmlrpc_DECREF(parameter);
    *value = text ? strdup(text) : NULL;
    standin_free_text(text);
    if (!*value && !call->env->fault_occurred)
        fault(call, "Out of memory");
    return !call->env->fault_occurred;
}

xmlrpc_value *standin_answer_text(struct standin_call *call, struct oneib_text *text)
{
    xmlrpc_value *answer = xmlrpc_build_value(call->env, "(bs#i)", (xmlrpc_bool)1,
                                              text->data ? text->data : "", text->length, 0);
    oneib_text_clear(text);
    return answer;
}

xmlrpc_value *standin_answer_id(struct standin_call *call, uint32_t id)
{
    return xmlrpc_build_value(call->env, "(bii)", (xmlrpc_bool)1, (int)id, 0);
}

xmlrpc_value *standin_refuse(struct standin_call *call, int code, int id, const char *text)
{
    struct oneib_text message = {0};
    oneib_text_printf(&message, "[%s] %s", call->method, text);
    xmlrpc_value *answer = xmlrpc_build_value(call->env, "(bsiiI)", (xmlrpc_bool)0, message.data,
                                              code, id, (xmlrpc_int64)-1);
    oneib_text_clear(&message);
    return answer;
}

xmlrpc_value *standin_refuse_error(struct standin_call *call, uint32_t id,
                                   const struct oneib_error *err)
{
    if (err->code == ONEIB_ERROR_NOT_FOUND)
        return standin_refuse(call, CODE_NO_EXISTS, (int)id, err->text);
    if (err->code == ONEIB_ERROR_PERMISSION)
        return standin_refuse(call, CODE_AUTHORIZATION, -1, err->text);
    return standin_refuse(call, CODE_ACTION, -1, err->text);
}

static bool is_control(const struct standin_method *method)
{
    return strncmp(method->name, "standin.", 8) == 0;
}

/* A "badsession" fault, used up by this call. */
static bool session_is_faulty(struct standin_state *state, const struct standin_method *method)
{
    if (is_control(method) || state->fault != FAULT_BAD_SESSION)
        return false;
    if (--state->fault_calls == 0)
        state->fault = FAULT_NONE;
    return true;
}

static bool is_session(const char *session, const char *known)
{
    return known && strcmp(session, known) == 0;
}

static const struct standin_user *find_user(const struct standin *standin, const char *session,
                                            unsigned *rights)
{
    static const struct standin_user administrator = {0, 0, "oneadmin"};
    static const struct standin_user limited = {2, 1, "guest"};
    static const struct standin_user acl = {3, 1, "acl"};
    if (is_session(session, standin->session)) {
        *rights = RIGHT_VMS | RIGHT_HOSTS | RIGHT_NETWORKS | RIGHT_ADMIN;
        return &administrator;
    }
    if (is_session(session, standin->limited_session)) {
        *rights = RIGHT_NETWORKS;
        return &limited;
    }
    *rights = standin->state.acl_rights;
    return is_session(session, standin->acl_session) ? &acl : NULL;
}

static xmlrpc_value *authenticated(struct standin *standin, const struct standin_method *method,
                                   struct standin_call *call, const char *session)
{
    call->user = find_user(standin, session, &call->rights);
    if (!call->user || (is_control(method) && !(call->rights & RIGHT_ADMIN)) ||
        session_is_faulty(call->state, method))
        return standin_refuse(call, CODE_AUTHENTICATION, -1,
                              "User couldn't be authenticated, aborting call.");
    return method->handle(call);
}

static xmlrpc_value *execute(xmlrpc_env *env, xmlrpc_value *parameters, void *info, void *call_info)
{
    (void)call_info;
    const struct binding *binding = info;
    struct standin *standin = binding->standin;
    struct standin_call call = {.standin = standin,
                                .state = &standin->state,
                                .method = binding->method->name,
                                .env = env,
                                .parameters = parameters};
    if (xmlrpc_array_size(env, parameters) < 1) {
        xmlrpc_env_set_fault(env, XMLRPC_INTERNAL_ERROR, no_session);
        return NULL;
    }
    char *session = NULL;
    if (!standin_take_string(&call, 0, &session)) {
        free(session);
        return NULL;
    }
    pthread_mutex_lock(&standin->lock);
    standin_calls_count(call.state, call.method);
    xmlrpc_value *answer = authenticated(standin, binding->method, &call, session);
    pthread_mutex_unlock(&standin->lock);
    free(session);
    return answer;
}

static size_t count_methods(const struct standin_method *methods)
{
    size_t count = 0;
    while (methods[count].name)
        count++;
    return count;
}

static void add_methods(struct standin *standin, const struct standin_method *methods,
                        struct binding *bindings, xmlrpc_registry *registry, xmlrpc_env *env)
{
    for (size_t i = 0; methods[i].name && !env->fault_occurred; i++) {
        bindings[i] = (struct binding){.standin = standin, .method = &methods[i]};
        struct xmlrpc_method_info3 info = {
            .methodName = methods[i].name, .methodFunction = execute, .serverInfo = &bindings[i]};
        xmlrpc_registry_add_method3(env, registry, &info);
    }
}

xmlrpc_registry *standin_registry_new(struct standin *standin, void **bindings, xmlrpc_env *env)
{
    size_t one = count_methods(standin_one_methods);
    size_t control = count_methods(standin_control_methods);
    struct binding *memory = calloc(one + control, sizeof *memory);
    if (!memory) {
        xmlrpc_env_set_fault(env, XMLRPC_INTERNAL_ERROR, "out of memory");
        return NULL;
    }
    *bindings = memory;
    xmlrpc_registry *registry = xmlrpc_registry_new(env);
    if (env->fault_occurred)
        return NULL;
    add_methods(standin, standin_one_methods, memory, registry, env);
    add_methods(standin, standin_control_methods, memory + one, registry, env);
    return registry;
}
