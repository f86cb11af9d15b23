// SPDX-License-Identifier: Apache-2.0
#include "ib/qos_class.h"
#include "base/number.h"
#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

static const char wrong_form[] = "must be of the form \"NAME: weight WEIGHT, SL 1-2\"";

bool oneib_qos_name_valid(const char *name)
{
    const size_t length = strlen(name);
    return length > 0 && length < ONEIB_QOS_NAME_SIZE && strspn(name, LETTERS) == length;
}

static void skip_blanks(const char **at)
{
    *at += strspn(*at, " ");
}

/* Takes a word or a sign, and the blanks around it. */
static bool take(const char **at, const char *word)
{
    skip_blanks(at);
    const size_t length = strlen(word);
    if (strncmp(*at, word, length) != 0)
        return false;
    *at += length;
    skip_blanks(at);
    return true;
}

/* A strict number; one beyond the maximum is taken for the maximum and one more. */
static bool take_number(const char **at, uint64_t max, uint64_t *value)
{
    const size_t length = strspn(*at, "0123456789");
    if (length == 0)
        return false;
    if (!oneib_parse_decimal_n(*at, length, max, value))
        *value = max + 1;
    *at += length;
    return true;
}

static const char *take_name(const char **at, struct oneib_qos_class *qos_class)
{
    skip_blanks(at);
    const size_t length = strspn(*at, LETTERS);
    if (length == 0 || length >= sizeof qos_class->name)
        return "must begin with a class's name: 1 to 31 letters, digits, '-' and '_', and ':'";
    memcpy(qos_class->name, *at, length);
    *at += length;
    return take(at, ":") ? NULL : wrong_form;
}

static const char *take_weight(const char **at, struct oneib_qos_class *qos_class)
{
    uint64_t weight;
    if (!take(at, "weight") || !take_number(at, ONEIB_QOS_WEIGHT_MAX, &weight))
        return wrong_form;
    if (weight == 0 || weight > ONEIB_QOS_WEIGHT_MAX)
        return "must have a weight from 1 to 255";
    qos_class->weight = (uint8_t)weight;
    return take(at, ",") ? NULL : wrong_form;
}

/* "1" or "1-2" */
static const char *take_range(const char **at, struct oneib_qos_class *qos_class)
{
    uint64_t first, last;
    if (!take_number(at, ONEIB_QOS_SLS - 1, &first))
        return wrong_form;
    last = first;
    if (take(at, "-") && !take_number(at, ONEIB_QOS_SLS - 1, &last))
        return wrong_form;
    if (first == 0 || last >= ONEIB_QOS_SLS)
        return "must have SLs from 1 to 15: SL 0 is for management and for networks without a "
               "class";
    if (first > last)
        return "must name the lower SL first";
    for (uint64_t sl = first; sl <= last; sl++) {
        const uint16_t bit = (uint16_t)(1u << sl);
        if (qos_class->sls & bit)
            return "must name each SL once";
        qos_class->sls |= bit;
    }
    return NULL;
}

static const char *take_sls(const char **at, struct oneib_qos_class *qos_class)
{
    if (!take(at, "SL"))
        return wrong_form;
    do {
        const char *fault = take_range(at, qos_class);
        if (fault)
            return fault;
    } while (take(at, ","));
    return **at == '\0' ? NULL : wrong_form;
}

const char *oneib_qos_class_parse(const char *text, struct oneib_qos_class *qos_class)
{
    memset(qos_class, 0, sizeof *qos_class);
    const char *fault = take_name(&text, qos_class);
    if (!fault)
        fault = take_weight(&text, qos_class);
    return fault ? fault : take_sls(&text, qos_class);
}
