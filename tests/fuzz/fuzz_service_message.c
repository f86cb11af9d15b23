// SPDX-License-Identifier: Apache-2.0
/* A message that is taken, in either direction, is sent again exactly as it came: nothing in it is
 * without a meaning. */
#include "service/service_message.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

static void check_refusal(const struct oneib_error *err)
{
    require(err->code == ONEIB_ERROR_INPUT && err->text[0] != '\0');
}

static void take_request(const void *bytes, size_t size)
{
    struct oneib_request request, packed;
    struct oneib_error err = {0};
    if (oneib_request_check(bytes, size, &request, &err) < 0) {
        check_refusal(&err);
        return;
    }
    oneib_request_pack(&request, &packed);
    require(size == sizeof packed && memcmp(&packed, bytes, size) == 0);
    require(request.daemon_count <= ONEIB_DAEMONS_MAX);
    for (size_t i = 0; i < request.daemon_count; i++)
        require(memchr(request.daemons[i].address, '\0', ONEIB_ADDRESS_SIZE) != NULL);
    require(request.nic_id >= -1 && request.nic_id <= 255);
}

static void take_answer(const void *bytes, size_t size)
{
    struct oneib_answer answer, packed;
    struct oneib_error err = {0}, told;
    if (oneib_answer_check(bytes, size, &answer, &err) < 0) {
        check_refusal(&err);
        return;
    }
    oneib_answer_pack(&answer, &packed);
    require(size == sizeof packed && memcmp(&packed, bytes, size) == 0);
    oneib_answer_error(&answer, &told);
    require(strlen(told.text) < ONEIB_MESSAGE_TEXT);
    require(strlen(answer.domain.name) < ONEIB_MESSAGE_NAME);
    require(oneib_vf_stage_name(answer.record.stage) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    void *exact = malloc(size + (size == 0));
    require(exact != NULL);
    if (size > 0)
        memcpy(exact, data, size);
    take_request(exact, size);
    take_answer(exact, size);
    free(exact);
    return 0;
}
