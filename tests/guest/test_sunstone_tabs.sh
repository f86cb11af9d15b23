# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# share/install/sunstone-tabs, on directories as FireEdge of 6.10 and of 7.4 has them.
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"

tabs=$GUEST_TESTS/../../share/install/sunstone-tabs

tab() { # RESOURCE
    printf -- '---\n# This file describes a tab\nresource_name: "%s"\nactions:\n  delete: false\n' "$1"
}

# views_in DIRECTORY TAB...: the views of a front-end whose users have these tabs.
views_in() {
    views=$1
    shift
    for view in admin groupadmin; do
        tab SERVICE | write "$views/$view/service-tab.yaml"
        tab SERVICE-TEMPLATE | write "$views/$view/service-template-tab.yaml"
    done
    chmod 640 "$views/groupadmin/service-template-tab.yaml"
    for name in vm-tab.yaml "$@"; do
        tab "${name%-tab.yaml}" | write "$views/user/$name"
    done
}

of_7() {
    export ONE_LOCATION="$work/one"
    views_in "$ONE_LOCATION/etc/fireedge/sunstone/views" service-tab.yaml
}

of_6_10() {
    export ONE_LOCATION="$work/one"
    views_in "$ONE_LOCATION/etc/fireedge/sunstone"
}

sets_tabs() {
    "$GUEST_SHELL_COMMAND" "$tabs" "$@"
}

picture() {
    (cd "$ONE_LOCATION" && find . -type f | sort | while read -r file; do echo "$file $(cksum <"$file")"; done)
}

test_users_get_the_tab_that_they_lack() {
    of_7
    prints "left as it is: $views/user/service-tab.yaml
write $views/user/service-template-tab.yaml, a copy of groupadmin/service-template-tab.yaml" sets_tabs
    has "$views/user/service-template-tab.yaml" '^resource_name: "SERVICE-TEMPLATE"$'
    tail -n +2 "$views/user/service-template-tab.yaml" >"$work/rest"
    succeeds cmp "$work/rest" "$views/groupadmin/service-template-tab.yaml"
    equal mode "$(stat -c %a "$views/user/service-template-tab.yaml")" 640
}

test_in_6_10_they_lack_services_too() {
    of_6_10
    prints "write $views/user/service-tab.yaml, a copy of groupadmin/service-tab.yaml
write $views/user/service-template-tab.yaml, a copy of groupadmin/service-template-tab.yaml" sets_tabs
}

test_after_an_update_from_6_10_the_new_views_count() {
    of_6_10
    of_7
    succeeds sets_tabs
    [ -e "$views/user/service-template-tab.yaml" ] || fail "the new views have no tab"
    [ ! -e "$views/../user/service-template-tab.yaml" ] || fail "the old views have one"
}

test_a_dry_run_changes_nothing() {
    of_6_10
    before=$(picture)
    succeeds sets_tabs --dry-run
    has "$work/output" "^would write $views/user/service-tab.yaml, a copy of"
    has "$work/output" "^would write $views/user/service-template-tab.yaml, a copy of"
    equal views "$(picture)" "$before"
}

test_what_is_there_is_left_as_it_is() {
    of_7
    echo '# the operator has made this' >"$views/user/service-template-tab.yaml"
    before=$(picture)
    prints "left as it is: $views/user/service-tab.yaml
left as it is: $views/user/service-template-tab.yaml" sets_tabs
    succeeds sets_tabs --uninstall
    equal views "$(picture)" "$before"
    rm "$views/user/service-template-tab.yaml"
    ln -s /nowhere "$views/user/service-template-tab.yaml"
    succeeds sets_tabs
    equal link "$(readlink "$views/user/service-template-tab.yaml")" /nowhere
}

test_a_second_time_changes_nothing() {
    of_7
    succeeds sets_tabs
    before=$(picture)
    prints "left as it is: $views/user/service-tab.yaml
left as it is: $views/user/service-template-tab.yaml" sets_tabs
    equal views "$(picture)" "$before"
}

test_a_copy_follows_what_it_was_copied_from() {
    of_7
    succeeds sets_tabs
    echo '# of a newer release' >>"$views/groupadmin/service-template-tab.yaml"
    succeeds sets_tabs
    has "$views/user/service-template-tab.yaml" '^# of a newer release$'
    succeeds sets_tabs --uninstall
    [ ! -e "$views/user/service-template-tab.yaml" ] || fail "it is still there"
}

test_uninstall_leaves_every_byte_as_it_was() {
    for front_end in of_7 of_6_10; do
        rm -rf "$work/one"
        $front_end
        before=$(picture)
        succeeds sets_tabs
        prints "$(sets_tabs --uninstall --dry-run | sed 's/^would //')" sets_tabs --uninstall
        equal views "$(picture)" "$before"
    done
}

test_old_views_lose_their_copies_too() {
    of_6_10
    before=$(picture)
    succeeds sets_tabs
    mkdir -p "$views/views/user"
    succeeds sets_tabs --uninstall
    rm -r "$views/views"
    equal views "$(picture)" "$before"
}

test_a_copy_that_was_changed_is_the_operators() {
    of_7
    succeeds sets_tabs
    sed 's/delete: false/delete: true/' "$views/user/service-template-tab.yaml" >"$work/changed"
    cp "$work/changed" "$views/user/service-template-tab.yaml"
    succeeds sets_tabs
    succeeds sets_tabs --uninstall
    succeeds cmp "$work/changed" "$views/user/service-template-tab.yaml"
}

test_without_sunstone_it_fails_and_says_where_it_looked() {
    export ONE_LOCATION="$work/one"
    mkdir "$ONE_LOCATION"
    fails sets_tabs
    has "$work/output" "there is no directory $ONE_LOCATION/etc/fireedge/sunstone/user"
    succeeds sets_tabs --uninstall
}

test_a_tab_that_sunstone_does_not_have_is_said() {
    of_7
    rm "$views/groupadmin/service-template-tab.yaml"
    fails sets_tabs
    has "$work/output" 'groupadmin/service-template-tab.yaml cannot be read'
}

test_an_unknown_word_is_refused() {
    of_7
    fails sets_tabs --view user
    has "$work/output" 'unknown option: --view'
}

case $GUEST_SHELL in
busybox) GUEST_SHELL_COMMAND='sh' ;;
*) GUEST_SHELL_COMMAND=$GUEST_SHELL ;;
esac
run_tests
