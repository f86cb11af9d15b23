# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Tests of the project's own scripts: as the guest's scripts are tested (tests/guest/check.sh), but each file is a program.
#
#   ./test_packages.sh [TEST...]
GUEST_FILE=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)/${0##*/}
GUEST_TESTS=${GUEST_FILE%/scripts/*}/guest
# shellcheck disable=SC2034 # check.sh of the guest uses it
GUEST_ONLY=$*
# shellcheck disable=SC2034 # test files use it
project=${GUEST_FILE%/tests/scripts/*}
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"
