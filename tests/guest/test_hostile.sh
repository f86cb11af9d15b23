# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# The program with a context that is missing, broken or hostile.
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"
# shellcheck source=tests/guest/machine.sh
. "$GUEST_TESTS/machine.sh"

test_without_a_context_dummies_give_addresses() {
    a_machine
    rm -r "$root/dev/sr0"
    succeeds guest network
    has "$work/output" 'there is no context'
    addresses_are ib0 10.20.0.10/24
    addresses_are ib1 10.30.0.10/24
}

test_a_truncated_context_is_used_as_far_as_it_goes() {
    a_machine
    head -c "$(($(wc -c <"$root/dev/sr0/context.sh") - 15))" "$root/dev/sr0/context.sh" >"$work/context"
    cp "$work/context" "$root/dev/sr0/context.sh"
    succeeds guest network
    has "$work/output" '^oneib: context: ETH2_MASK: has no closing quote'
    addresses_are ib0 10.20.0.10/16 2001:db8::a/64
    addresses_are ib1 10.30.0.10/24
}

test_a_context_of_binary_garbage_does_no_harm() {
    a_machine
    awk 'BEGIN { srand(3); for (i = 0; i < 30000; i++) printf "%c", int(rand() * 256) }' >"$root/dev/sr0/context.sh"
    succeeds guest network
    addresses_are ib0 10.20.0.10/24
    addresses_are ib1 10.30.0.10/24
    nothing_ran
}

# hostile_variables FIRST: assignments to all variables of a NIC, and to names that a shell or the program has itself, each with
# another hostile value, from the FIRST on.
hostile_variables() {
    {
        for variable in IP MASK GATEWAY METRIC METHOD MTU ROUTES DNS SEARCH_DOMAIN IP6 IP6_PREFIX_LENGTH IP6_ULA IP6_GATEWAY \
            IP6_METRIC IP6_METHOD IPOIB_MODE MAC ADDRESS ALIAS0_IP; do
            echo "ETH1_$variable"
        done
        printf '%s\n' PATH IFS ENV BASH_ENV LD_PRELOAD ONEIB_ROOT ONEIB_LIBRARY ONEIB_WAIT IPOIB_MODE VMID HOSTNAME
    } >"$work/variables"
    hostile_values | sed "s/'/'\\\\''/g" | awk -v first="$1" -v variables="$work/variables" -v quote="'" '
        { value[NR] = $0 }
        END {
            for (i = first; (getline name <variables) > 0; i++)
                print name "=" quote value[i % NR + 1] quote
        }'
}

test_a_hostile_context_runs_nothing_and_the_rest_works() {
    a_machine
    for first in 1 11 21; do
        {
            hostile_variables $first
            echo "ETH2_IP='10.30.0.10'"
        } >"$root/dev/sr0/context.sh"
        succeeds guest network
        nothing_ran
        addresses_are ib1 10.30.0.10/24
        in_ip addr flush dev ib1 scope global
    done
    equal 'files outside' "$(cd "$work" && find . -newer ip/count -type f ! -path './root/*' ! -path './ip/*' | sort)" './output
./variables'
}

test_a_variable_of_a_mebibyte_does_not_keep_the_rest() {
    a_machine
    awk -v quote="'" 'BEGIN {
        printf "START_SCRIPT=%s", quote
        for (i = 0; i < 131072; i++) printf "12345678"
        print quote
    }' >>"$root/dev/sr0/context.sh"
    succeeds guest network
    has "$work/output" 'START_SCRIPT: is longer than'
    addresses_are ib0 10.20.0.10/16 2001:db8::a/64
}

run_tests
