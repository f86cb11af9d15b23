// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as a domain's document that is tuned: the first byte says what is asked for. Whatever
 * comes out must be a document, ask for no more than before, and be tuned again; a broken promise
 * of domain/tuning.h aborts.
 */
#include "domain/tuning.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool promise)
{
    if (!promise)
        abort();
}

static struct oneib_tuning tuning_of(uint8_t bits)
{
    struct oneib_tuning tuning = {
        .pin = bits & 1,
        .bind_memory = bits & 2,
        .page_kib = bits & 4 ? 2048 : 0,
        .host_cpu = bits & 8,
        .lock = bits & 16,
        .mark = bits & 32,
    };
    tuning.cores.vcpus[0] = bits;
    tuning.cores.count = 1;
    oneib_cpu_set_add(&tuning.cores.threads, bits);
    return tuning;
}

static bool read_demand(const char *xml, size_t length, struct oneib_domain_demand *demand)
{
    struct oneib_error err = {0};
    const int outcome = oneib_domain_demand_read(xml, length, demand, &err);
    require((outcome < 0) == (err.code == ONEIB_ERROR_INPUT));
    require(outcome < 0 || (demand->vcpus > 0 && demand->memory_kib > 0 && demand->part_kib > 0 &&
                            demand->memory_kib % demand->part_kib == 0));
    require(outcome < 0 || demand->pinned || oneib_cpu_set_is_empty(&demand->pins));
    return outcome == 0;
}

static void read_pins(const char *xml, size_t length)
{
    char *name;
    struct oneib_cpu_set pins;
    struct oneib_error err = {0};
    const int outcome = oneib_domain_pins_read(xml, length, &name, &pins, &err);
    require((outcome < 0) == (err.code == ONEIB_ERROR_INPUT));
    free(name);
}

static void tune_again(const struct oneib_text *tuned, const struct oneib_domain_demand *before)
{
    const struct oneib_tuning nothing = {0};
    struct oneib_text again = {0};
    struct oneib_error err = {0};
    struct oneib_domain_demand demand;
    require(oneib_domain_tune(tuned->data, tuned->length, &nothing, &again, &err) == 0);
    require(read_demand(again.data, again.length, &demand));
    require(!demand.tuned && demand.vcpus == before->vcpus &&
            demand.memory_kib == before->memory_kib);
    oneib_text_clear(&again);
}

static void tune(const char *xml, size_t length, const struct oneib_tuning *tuning)
{
    struct oneib_domain_demand before, after;
    struct oneib_text tuned = {0};
    struct oneib_error err = {0};
    const bool is_read = read_demand(xml, length, &before);
    const int outcome = oneib_domain_tune(xml, length, tuning, &tuned, &err);
    require((outcome < 0) == (err.code == ONEIB_ERROR_INPUT));
    require(outcome == 0 || !is_read);
    if (is_read) {
        require(read_demand(tuned.data, tuned.length, &after));
        /* A mark of IB_HPC alone ties it to nothing. */
        require(after.tuned == (tuning->mark && (tuning->pin || tuning->bind_memory)));
        require(after.vcpus == before.vcpus && after.memory_kib == before.memory_kib);
        tune_again(&tuned, &before);
    }
    oneib_text_clear(&tuned);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    /* A copy of its own, so that reading beyond its end is seen. */
    const size_t length = size - 1;
    char *xml = malloc(length > 0 ? length : 1);
    if (!xml)
        return 0;
    memcpy(xml, data + 1, length);
    const struct oneib_tuning tuning = tuning_of(data[0]);
    read_pins(xml, length);
    tune(xml, length, &tuning);
    free(xml);
    return 0;
}
