#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# share/acceptance/run, with acceptance-standin in place of OpenNebula, the hosts and the VMs.
# shellcheck disable=SC1091,SC2154,SC2317 # $work and $project are of check.sh, which calls the tests by name
. "$(dirname "$0")/check.sh"

# cloud FAULT...: no VMs, and time that does not pass.
cloud() {
    STANDIN=$work/cloud
    export STANDIN
    rm -rf "${STANDIN:?}" "${work:?}/bin"
    mkdir -p "$STANDIN/vms" "$work/bin" "$work/tmp"
    printf '%s\n' "$@" >"$STANDIN/faults"
    : >"$STANDIN/asked"
    echo first | tee "$STANDIN/boot-node1" >"$STANDIN/boot-node2"
    for command in onevm onetemplate onehost onevnet oneib smpquery ssh; do
        ln -s "$project/tests/scripts/acceptance-standin" "$work/bin/$command"
    done
    ln -s "$(command -v true)" "$work/bin/sleep"
    cp "$project/tests/data/opennebula-7.4/cli/onevm-version" "$work/bin"
}

# accept ARGUMENT...: runs it; its exit status is in $status, what it says in $work/report and $work/said.
accept() {
    status=0
    TMPDIR=$work/tmp PATH=$work/bin:$PATH "$project/share/acceptance/run" --template ib-node --access office \
        --clusters first,second --wait 30 "$@" >"$work/report" 2>"$work/said" || status=$?
}

ends_with() { # STATUS
    [ "$status" = "$1" ] || fail "it ended with $status, not $1: $(cat "$work/report" "$work/said")"
}

# Nothing of the run is left: no VM, no file.
is_clean() {
    equal "VMs left" "$(grep -L '^6/0$' "$STANDIN"/vms/*/state 2>/dev/null)" ''
    equal "files left" "$(ls "$work/tmp")" ''
}

await_file() {
    tries=0
    until [ -e "$1" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || fail "there is no $1: $(cat "$work/said")"
        /bin/sleep 0.1
    done
}

test_where_all_is_well_each_row_is_ok() {
    cloud
    accept node1 node2
    ends_with 0
    has_not "$work/report" '^(FAILED|not shown)'
    equal 'rows across' "$(grep -c '^ok  .* [ab][12] not to [ab][12]' "$work/report")" 24
    equal 'rows within' "$(grep -Ec '^ok  .* [ab][12] to [ab][12] ' "$work/report")" 24
    has "$work/report" '^ok +start +oneib verify'
    has "$work/report" '^ok +migrated +a1 to node2'
    has "$work/report" '^ok +migrated +node1 has let go of a1'
    has "$work/report" '^left out +SM restart'
    has "$work/report" '^left out +reboot'
    has "$work/report" 'migration: settled, true'
    has "$work/report" 'mlx5-order: not settled: it concerns mlx5'
    has "$work/report" '^oneib [0-9.]+, OpenNebula 7\.4\.0, subnet manager opensm$'
    equal 'last line' "$(tail -n 1 "$work/report")" ok
    is_clean
}

test_on_mlx5_guesses_are_settled_and_what_the_fabric_does_not_show_is_left_out() {
    cloud mlx5 ufm
    accept --no-migration --storage 10.66.0.1 --storage-network ib-storage node1 node2
    ends_with 0
    for guess in order guid index0 host-reads smp lid; do has "$work/report" "mlx5-$guess: settled, true"; done
    has "$work/report" 'ufm-answers: settled, true'
    has "$work/report" 'ufm-limited: settled, true'
    has "$work/report" '^left out +start +cluster a in force'
    has "$work/report" '^ok +start +a1 not to b2 in storage'
    has "$work/report" '^ok +start +P_Keys of a1 in storage'
}

test_whether_an_adapters_firmware_tells_is_settled_either_way() {
    cloud mlx5
    accept --no-migration node1 node2
    has "$work/report" 'mlx5-firmware: not settled'
    cloud mlx5 firmware
    accept --no-migration node1 node2
    has "$work/report" "mlx5-firmware: settled, true: it told node2 virtual ports' tables"
    cloud mlx5 firmware-refuses
    accept --no-migration node1 node2
    has "$work/report" 'mlx5-firmware: settled, WRONG: node1: firmware does not tell .status 0x03, syndrome 0x001b2c3d.'
}

test_a_guess_about_ufm_is_not_settled_by_another_subnet_manager() {
    cloud
    accept --no-migration --storage 10.66.0.1 --storage-network ib-storage node1 node2
    ends_with 0
    has "$work/report" '^ok +start +a1 not to b2 in storage'
    has "$work/report" 'ufm-limited: not settled: it concerns ufm'
}

test_what_arrives_in_another_cluster_fails() {
    cloud across-ibping across-rc across-ping across-storage
    accept --no-migration --storage 10.66.0.1 --storage-network ib-storage node1 node2
    ends_with 1
    for tool in ibping ibv_rc_pingpong 'IPoIB ping'; do
        equal "$tool" "$(grep -c "^FAILED .* $tool [ab][12] not to [ab][12] .*IT ARRIVED" "$work/report")" 4
    done
    equal storage "$(grep -c '^FAILED .* in storage .*IT ARRIVED' "$work/report")" 2
    has_not "$work/report" '^ok .* not to '
    is_clean
}

test_silence_across_shows_nothing_where_the_tool_reaches_nobody() {
    cloud inside-rc
    accept --no-migration node1 node2
    ends_with 1
    has "$work/report" '^FAILED .*ibv_rc_pingpong a1 to a2'
    has "$work/report" '^not shown .*ibv_rc_pingpong a1 not to b1'
    has_not "$work/report" '^ok .*ibv_rc_pingpong'
    has "$work/report" '^ok .*IPoIB ping a1 not to b1'
}

test_silence_across_shows_nothing_when_the_tool_has_arrived_too_long_ago() {
    cloud
    cat >"$work/bin/date" <<TEXT
#!/bin/sh
[ "\$1" = +%s ] || exec $(command -v date) "\$@"
echo 100 >>"$work/clock"
echo \$((\$(wc -l <"$work/clock") * 100))
TEXT
    chmod 755 "$work/bin/date"
    accept --no-migration node1 node2
    ends_with 1
    has "$work/report" '^not shown .*ibv_rc_pingpong a1 not to b1 .*within a minute'
    has_not "$work/report" '^ok .* not to '
}

test_ibping_that_misses_a_vf_with_a_shared_lid_is_left_out_and_fails_elsewhere() {
    cloud inside-ibping
    accept --no-migration node1 node2
    ends_with 0
    has "$work/report" '^left out .*ibping a1 to a2'
    has "$work/report" '^left out .*ibping a1 not to b1'
    has "$work/report" 'ibping: settled, WRONG'
    cloud inside-ibping mlx5
    accept --no-migration node1 node2
    ends_with 1
    has "$work/report" '^FAILED .*ibping a1 to a2'
    has "$work/report" '^not shown .*ibping a1 not to b1'
}

test_a_tool_that_the_image_lacks_proves_nothing() {
    cloud no-ibv_rc_pingpong
    accept --no-migration node1 node2
    ends_with 1
    has "$work/report" '^not shown .*ibv_rc_pingpong a1 not to b1 .*not in the image'
}

test_vms_that_do_not_run_fail_and_are_ended() {
    for fault in deploy-refused never-runs boot-fails; do
        cloud "$fault"
        accept node1 node2
        ends_with 1
        has "$work/report" '^FAILED +start +VM a1 runs'
        has "$work/report" '^not shown +start +who reaches whom'
        is_clean
    done
}

test_a_vm_whose_maker_did_not_answer_is_ended_too() {
    cloud answer-is-lost
    accept node1 node2
    ends_with 1
    [ -e "$STANDIN/vms/10" ] || fail "the stand-in made none"
    is_clean
}

test_a_migration_that_does_not_arrive_fails() {
    cloud migration-fails
    accept node1 node2
    ends_with 1
    has "$work/report" '^FAILED +migrated +a1 to node2'
    has "$work/report" 'migration: not settled'
    is_clean
}

test_tables_that_differ_fail() {
    cloud tables-differ fabric-differs guest-has-foreign-key not-in-force
    accept --no-migration node1 node2
    ends_with 1
    for row in 'oneib verify' 'cluster a in force' 'node1 mlx4_0/1 by smpquery' 'P_Keys of a1'; do has "$work/report" "^FAILED .*$row"; done
    has "$work/report" '^ok .*P_Keys of b1'
}

test_a_host_and_the_subnet_manager_are_restarted_only_when_asked() {
    cloud
    accept --no-migration node1 node2
    has_not "$STANDIN/asked" ' reboot'
    cloud
    accept --no-migration --reboot node2 --restart-sm "echo done >$work/restarted" node1 node2
    ends_with 0
    [ -e "$work/restarted" ] || fail "the command did not run"
    equal reboots "$(grep -c 'node2 .* reboot$' "$STANDIN/asked")" 1
    has_not "$STANDIN/asked" 'node1 .* reboot$'
    has "$work/report" '^ok +reboot +VFs of node2 came up closed'
    has "$work/report" '^ok +reboot +VM a2 runs again'
    has "$work/report" '^ok +reboot +.*rc_pingpong a1 to a2'
    has "$work/report" '^ok +SM restart +.*rc_pingpong a1 not to b1'
    has "$work/report" 'sm-restart: settled, true'
    cloud no-sudo
    accept --reboot node2 node1 node2
    ends_with 2
    is_clean
}

test_dry_run_changes_nothing() {
    cloud
    accept --dry-run --reboot node1 --restart-sm "echo >$work/restarted" node1 node2
    ends_with 0
    has "$work/report" 'Nothing was changed'
    has "$work/report" 'restart the host node1'
    has_not "$STANDIN/asked" '^(onetemplate instantiate|onevm (deploy|migrate|terminate|resume))| reboot$'
    [ ! -e "$work/restarted" ] || fail "the subnet manager was restarted"
    equal VMs "$(ls "$STANDIN/vms")" ''
}

test_keep_leaves_the_vms() {
    cloud
    accept --keep --no-migration node1 node2
    ends_with 0
    equal running "$(cat "$STANDIN"/vms/*/state | grep -c '^3/3$')" 4
    has_not "$STANDIN/asked" '^onevm terminate'
}

test_when_it_is_told_to_end_its_vms_are_ended_and_the_try_with_them() {
    for signal in TERM:143 INT:130; do
        cloud hangs-at-rc
        # As a program of its own: a shell lets what it starts behind itself ignore INT.
        TMPDIR=$work/tmp PATH=$work/bin:$PATH setsid env --default-signal=INT "$project/share/acceptance/run" --template ib-node \
            --access office --clusters first,second node1 node2 >"$work/report" 2>"$work/said" &
        pid=$!
        await_file "$STANDIN/hangs"
        kill -s "${signal%:*}" "$pid"
        status=0
        wait "$pid" || status=$?
        ends_with "${signal#*:}"
        is_clean
    done
}

test_when_nobody_reads_its_report_its_vms_are_ended() {
    cloud
    mkfifo "$work/pipe"
    TMPDIR=$work/tmp PATH=$work/bin:$PATH "$project/share/acceptance/run" --template ib-node --access office \
        --clusters first,second node1 node2 >"$work/pipe" 2>"$work/said" &
    pid=$!
    head -n 12 "$work/pipe" >"$work/report"
    status=0
    wait "$pid" || status=$?
    ends_with 2
    equal VMs "$(find "$STANDIN/vms" -mindepth 1 -maxdepth 1 | wc -l)" 4
    is_clean
}

test_what_programs_complain_of_is_not_in_the_report() {
    cloud fabric-differs no-smpquery
    accept --no-migration node1 node2
    has "$work/said" SECRETPASSWORD
    has_not "$work/report" SECRETPASSWORD
    equal 'other than text' "$(LC_ALL=C tr -d '\n -~' <"$work/report" | wc -c)" 0
}

test_the_subnet_managers_host_may_be_another() {
    cloud
    accept --no-migration --sm smhost node1 node2
    ends_with 0
    has "$STANDIN/asked" '^ssh .* smhost timeout 180 oneib verify --json$'
    has "$STANDIN/asked" '^ssh .* smhost timeout 20 smpquery -G pkeys 0x0000000000001001 1$'
}

test_arguments_that_are_not_known_are_refused() {
    cloud
    for arguments in '' node1 'node1 node1' 'node1 node2 node3' '--what node1 node2' '--wait 5 node1 node2' '--reboot node3 node1 node2' \
        '--storage 10.66.0.1 node1 node2' '--clusters first node1 node2' '--sm -oProxyCommand=x node1 node2' "node1 node2;id"; do
        # shellcheck disable=SC2086 # words
        accept $arguments
        ends_with 2
        [ -s "$work/said" ] || fail "'$arguments': nothing was said"
        equal report "$(cat "$work/report")" ''
    done
    equal asked "$(cat "$STANDIN/asked")" ''
    accept --help
    ends_with 0
    has "$work/report" '^usage: '
}

test_what_is_missing_is_named_before_anything_is_made() {
    for place in "--template nothing:no VM template" "--clusters first,office:no P_Key" "--clusters ib-storage,first:is limited" \
        "--clusters first,first:both clusters" "--access nowhere:no network"; do
        cloud
        # shellcheck disable=SC2086 # words
        accept ${place%%:*} node1 node2
        ends_with 2
        has "$work/said" "${place#*:}"
        has_not "$STANDIN/asked" '^onetemplate instantiate'
    done
    cloud
    accept node1 node3
    ends_with 2
    has "$work/said" 'no way to node3'
    is_clean
}

test_the_page_lists_the_guesses_of_the_run() {
    grep -v '^#' "$project/share/acceptance/guesses" >"$work/guesses"
    # shellcheck disable=SC2016 # backquotes of the table
    sed -n 's/^| `\([a-z0-9-]*\)` | \([a-z0-9-]*\) | \(.*\) |$/\1|\2|\3/p' "$project/docs/operator-acceptance.md" >"$work/page"
    equal guesses "$(sed 's/^\([^|]*|[^|]*|\)[^|]*|/\1/' "$work/guesses")" "$(cat "$work/page")"
    while IFS='|' read -r name _ page _; do
        [ -f "$project/$page" ] || fail "$name: there is no $page"
        grep -q "settle $name yes" "$project"/share/acceptance/run "$project"/share/acceptance/*.sh || fail "$name: nothing settles it"
    done <"$work/guesses"
}

run_tests
