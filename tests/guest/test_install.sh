# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# share/context/install, with root directories that look like those of distributions.
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"

list=usr/lib/oneib/guest.list

# install ARGUMENT...: under the shell of this run.
install() {
    case $GUEST_SHELL in
    busybox) busybox sh "$tree/install" "$@" ;;
    *) "$GUEST_SHELL" "$tree/install" "$@" ;;
    esac
}

has_command() { # NAME...
    for name; do
        echo '#!/bin/sh' | write "$root/usr/bin/$name"
        chmod 755 "$root/usr/bin/$name"
    done
}

# A Debian of today, with OpenNebula's context package; $tree is a copy of what is installed, for tests to change.
prepare() {
    tree=$work/context
    cp -R "$context" "$tree"
    mkdir -p "$root/etc/systemd/system" "$root/usr/sbin" "$root/usr/lib/systemd/system" "$root/usr/lib/udev/rules.d"
    ln -s usr/lib "$root/lib"
    ln -s usr/sbin "$root/sbin"
    has_command awk blkid flock ip curl
    : >"$root/usr/lib/systemd/systemd"
    : >"$root/usr/sbin/one-contextd"
}

make_alpine() {
    rm -r "$root/usr/lib/systemd" "$root/etc/systemd" "$root/sbin"
    mkdir "$root/sbin"
    : >"$root/sbin/openrc-run"
    mkdir -p "$root/etc/init.d" "$root/etc/runlevels/default" "$root/etc/crontabs"
    echo '* * * * * run-parts /etc/periodic/1min' >"$root/etc/crontabs/root"
}

# All names below DIRECTORY with their bytes, as one text.
picture() {
    (cd "$1" && find . | sort | while read -r name; do
        if [ -L "$name" ]; then
            echo "$name -> $(readlink "$name")"
        elif [ -f "$name" ]; then
            echo "$name $(cksum <"$name") $([ ! -x "$name" ] || echo x)"
        else
            echo "$name"
        fi
    done)
}

test_files_are_where_the_design_says() {
    prepare
    succeeds install --root "$root"
    for file in usr/sbin/oneib-guest usr/lib/oneib/guest/text.sh usr/lib/oneib/guest/context.awk etc/oneib/guest.conf \
        etc/one-context.d/loc-11-oneib etc/one-context.d/net-16-oneib usr/lib/udev/rules.d/61-oneib-guest.rules \
        usr/lib/udev/oneib-event usr/lib/systemd/system/oneib-guest.service; do
        [ -f "$root/$file" ] || fail "no $file"
    done
    for program in usr/sbin/oneib-guest etc/one-context.d/loc-11-oneib usr/lib/udev/oneib-event; do
        [ -x "$root/$program" ] || fail "$program cannot be run"
    done
    [ ! -x "$root/usr/lib/oneib/guest/text.sh" ] || fail "a library can be run"
}

test_units_are_enabled_without_a_running_systemd() {
    prepare
    succeeds install --root "$root"
    for link in multi-user.target.wants/oneib-guest.service paths.target.wants/oneib-guest.path \
        timers.target.wants/oneib-cluster.timer; do
        target=$(readlink "$root/etc/systemd/system/$link")
        equal "$link" "$target" "/usr/lib/systemd/system/${link##*/}"
        [ -f "$root$target" ] || fail "$link leads nowhere"
    done
    [ ! -e "$root/etc/init.d/oneib-guest" ] || fail "OpenRC's file is there too"
}

test_on_alpine_openrc_and_cron_do_it() {
    prepare
    make_alpine
    succeeds install --root "$root"
    equal link "$(readlink "$root/etc/runlevels/default/oneib-guest")" /etc/init.d/oneib-guest
    [ -x "$root/etc/init.d/oneib-guest" ] || fail "no service"
    [ -x "$root/etc/periodic/1min/oneib-cluster" ] || fail "no job for cron"
    [ ! -e "$root/usr/lib/systemd" ] || fail "units are there too"
    has_not "$work/output" warning
}

test_on_alpine_without_a_minutely_cron_the_line_is_told() {
    prepare
    make_alpine
    : >"$root/etc/crontabs/root"
    says 'run-parts /etc/periodic/1min' install --root "$root"
}

test_a_systemd_below_lib_of_an_unmerged_debian_is_found() {
    prepare
    rm "$root/lib" "$root/usr/lib/systemd/systemd"
    : | write "$root/lib/systemd/systemd"
    succeeds install --root "$root"
    [ -L "$root/etc/systemd/system/multi-user.target.wants/oneib-guest.service" ] || fail "not enabled"
}

test_installed_twice_is_installed_once() {
    prepare
    succeeds install --root "$root"
    once=$(picture "$root")
    prints 'nothing to do' install --root "$root"
    equal root "$(picture "$root")" "$once"
}

test_uninstall_takes_exactly_what_was_put_there() {
    prepare
    before=$(picture "$root")
    succeeds install --root "$root"
    succeeds install --root "$root" --uninstall
    equal root "$(picture "$root")" "$before"
}

# Keys in a user's authorized_keys, which nobody would take back any more.
test_what_lets_members_in_is_not_uninstalled() {
    prepare
    succeeds install --root "$root"
    echo user | write "$root/etc/oneib/ssh-user"
    picture "$root" >"$work/before"
    fails install --root "$root" --uninstall
    has "$work/output" '/etc/oneib/ssh-user: members of a cluster are let in.*ONEIB_SSH'
    picture "$root" >"$work/after"
    succeeds cmp "$work/before" "$work/after"
    rm "$root/etc/oneib/ssh-user"
    succeeds install --root "$root" --uninstall
}

test_uninstall_leaves_directories_that_others_use_by_now() {
    prepare
    succeeds install --root "$root"
    echo theirs | write "$root/etc/one-context.d/net-20-theirs"
    succeeds install --root "$root" --uninstall
    [ -f "$root/etc/one-context.d/net-20-theirs" ] || fail "taken away"
    [ ! -e "$root/etc/one-context.d/loc-11-oneib" ] || fail "left there"
}

test_uninstall_where_nothing_is_does_nothing() {
    prepare
    before=$(picture "$root")
    prints 'nothing to do' install --root "$root" --uninstall
    equal root "$(picture "$root")" "$before"
}

test_a_dry_run_changes_nothing() {
    prepare
    before=$(picture "$root")
    succeeds install --root "$root" --dry-run
    has "$work/output" "would write $root/usr/sbin/oneib-guest"
    equal root "$(picture "$root")" "$before"
    succeeds install --root "$root"
    before=$(picture "$root")
    succeeds install --root "$root" --uninstall --dry-run
    has "$work/output" "would remove $root/usr/sbin/oneib-guest"
    equal root "$(picture "$root")" "$before"
}

test_a_changed_guest_conf_outlives_updates_and_uninstall() {
    prepare
    succeeds install --root "$root"
    echo 'NETWORK_MANAGER = "ip"' >>"$root/etc/oneib/guest.conf"
    mine=$(cat "$root/etc/oneib/guest.conf")
    echo '# a later release' >>"$tree/guest.conf"
    succeeds install --root "$root"
    equal guest.conf "$(cat "$root/etc/oneib/guest.conf")" "$mine"
    succeeds install --root "$root"
    equal guest.conf "$(cat "$root/etc/oneib/guest.conf")" "$mine"
    succeeds install --root "$root" --uninstall
    equal guest.conf "$(cat "$root/etc/oneib/guest.conf")" "$mine"
}

test_a_guest_conf_that_nobody_changed_is_updated() {
    prepare
    succeeds install --root "$root"
    echo '# a later release' >>"$tree/guest.conf"
    succeeds install --root "$root"
    has "$root/etc/oneib/guest.conf" '# a later release'
}

test_a_guest_conf_that_was_there_before_stays() {
    prepare
    echo mine | write "$root/etc/oneib/guest.conf"
    succeeds install --root "$root"
    succeeds install --root "$root" --uninstall
    equal guest.conf "$(cat "$root/etc/oneib/guest.conf")" mine
}

test_what_a_release_no_longer_has_is_removed_by_it() {
    prepare
    echo old >"$tree/lib/old.sh"
    succeeds install --root "$root"
    rm "$tree/lib/old.sh"
    succeeds install --root "$root"
    [ ! -e "$root/usr/lib/oneib/guest/old.sh" ] || fail "still there"
    has_not "$root/$list" old.sh
}

test_a_file_of_somebody_elses_stays_and_nothing_is_installed() {
    prepare
    echo theirs | write "$root/usr/lib/udev/oneib-event"
    before=$(picture "$root")
    says 'usr/lib/udev/oneib-event is there already' install --root "$root"
    fails install --root "$root"
    equal root "$(picture "$root")" "$before"
}

test_a_pipe_in_a_files_place_holds_nobody_up() {
    prepare
    mkdir -p "$root/etc/oneib" "$root/usr/lib/oneib"
    mkfifo "$root/etc/oneib/guest.conf"
    fails install --root "$root"
    rm "$root/etc/oneib/guest.conf"
    mkfifo "$root/$list"
    fails install --root "$root"
}

test_what_broke_off_can_be_taken_out() {
    prepare
    before=$(picture "$root")
    # It cannot be read when its turn comes.
    rm "$tree/udev/oneib-event"
    fails install --root "$root"
    succeeds install --root "$root" --uninstall
    equal root "$(picture "$root")" "$before"
}

test_a_directory_that_is_no_root_is_refused() {
    prepare
    mkdir "$work/no-root"
    says 'is no root directory' install --root "$work/no-root"
    fails install --root "$work/no-root"
    equal directory "$(ls -A "$work/no-root")" ''
    fails install --root "$work/nowhere"
}

# --- images whose makers mean ill: $outside stands for the machine on which the recipe runs as root -------------------

outside() {
    outside=$work/outside
    mkdir -p "$outside/lib" "$outside/sbin"
    echo host | write "$outside/conf"
}

nothing_is_outside() {
    equal outside "$(picture "$outside")" "$outside_before"
}

test_absolute_links_are_those_of_the_image() {
    prepare
    outside
    outside_before=$(picture "$outside")
    rm -r "$root/usr/sbin"
    ln -s "$outside/sbin" "$root/usr/sbin"
    mkdir -p "$root$outside/sbin"
    succeeds install --root "$root"
    nothing_is_outside
    [ -f "$root$outside/sbin/oneib-guest" ] || fail "not where the image's link leads"
    succeeds install --root "$root" --uninstall
    nothing_is_outside
    [ ! -e "$root$outside/sbin/oneib-guest" ] || fail "left there"
}

test_links_upwards_end_at_the_images_root() {
    prepare
    outside
    outside_before=$(picture "$outside")
    mkdir "$root/etc/oneib.real"
    ln -s ../../../../../../../../../../../../../../etc/oneib.real "$root/etc/oneib"
    ln -s ../../../outside "$root/etc/one-context.d"
    succeeds install --root "$root"
    nothing_is_outside
    [ -f "$root/etc/oneib.real/guest.conf" ] || fail "not where the image's link leads"
    [ -f "$root/outside/loc-11-oneib" ] || fail "not where the image's link leads"
}

test_a_link_in_a_files_place_is_not_written_through() {
    prepare
    outside
    outside_before=$(picture "$outside")
    mkdir -p "$root/etc/oneib" "$root/usr/lib/oneib"
    ln -s "$outside/conf" "$root/etc/oneib/guest.conf"
    fails install --root "$root"
    rm "$root/etc/oneib/guest.conf"
    ln -s "$outside/conf" "$root/$list"
    fails install --root "$root"
    rm "$root/$list"
    ln -s "$outside/lib" "$root/usr/sbin/oneib-guest"
    fails install --root "$root"
    nothing_is_outside
}

test_a_list_that_somebody_forged_removes_nothing_outside() {
    prepare
    outside
    outside_before=$(picture "$outside")
    succeeds install --root "$root"
    ln -s "$outside" "$root/etc/away"
    {
        echo "f /etc/away/conf"
        echo "f /../../../../../../../../../../..$outside/conf"
        echo "f $outside/conf"
        echo "d $outside/lib"
        echo 'f'
        echo 'x y z'
    } >>"$root/$list"
    succeeds install --root "$root" --uninstall
    nothing_is_outside
}

test_links_in_a_circle_are_refused() {
    prepare
    ln -s circle "$root/etc/circle"
    ln -s circle "$root/etc/one-context.d"
    fails install --root "$root"
    has "$work/output" 'in a circle'
}

# --- what it warns of ---------------------------------------------------------------------------------------------------

test_a_complete_image_is_no_reason_to_warn() {
    prepare
    succeeds install --root "$root"
    has_not "$work/output" warning
}

test_what_the_image_lacks_is_said() {
    prepare
    rm "$root/usr/bin/ip" "$root/usr/bin/curl" "$root/usr/sbin/one-contextd"
    succeeds install --root "$root"
    has "$work/output" "no command 'ip'"
    has "$work/output" 'no curl'
    has "$work/output" "OpenNebula's context package is not in this image"
}

test_words_that_say_nothing_are_usage_errors() {
    prepare
    for words in --root --remove now; do
        status=0
        install "$words" >"$work/output" 2>&1 || status=$?
        equal "status of $words" "$status" 2
    done
}

run_tests
