# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# The front-end: tabs of the view of Sunstone's ordinary users. A view is a directory with a file for each tab; Sunstone's
# server reads them whenever a page is loaded.

# What users need for services; 6.10 has neither of them in the view user, 7.4 the first.
service_tabs='service-tab.yaml service-template-tab.yaml'

# The first line of a file of ours, in front of the sum of the rest.
copied='# A copy that oneib has put here, and takes away again unless it is changed: '

# 7 has all views in a directory of their own, and an update from 6.10 leaves the old ones beside it.
find_views() {
    if [ -n "${ONE_LOCATION-}" ]; then etc=$destdir$ONE_LOCATION/etc; else etc=$destdir/etc/one; fi
    views=$etc/fireedge/sunstone
    [ ! -d "$views/views" ] || views=$views/views
    views_owner=$(owner_of "$etc" "$views" "$views/user")
}

need_views() {
    find_views
    for view in user groupadmin; do
        as "$views_owner" test -x "$views/$view" ||
            fail "there is no directory $views/$view that can be read: run this as root on the machine of FireEdge, Sunstone's" \
                "server; ONE_LOCATION says where a self-contained OpenNebula is"
    done
}

sum_of() { # FILE
    sha256sum <"$1" | cut -d ' ' -f 1
}

# is_our_copy FILE: as it was put there. Leaves it in $work/there.
is_our_copy() {
    [ -f "$1" ] && [ ! -L "$1" ] && as "$views_owner" cat -- "$1" >"$work/there" 2>/dev/null || return 1
    tail -n +2 -- "$work/there" >"$work/rest"
    [ "$(head -n 1 -- "$work/there")" = "$copied$(sum_of "$work/rest")" ]
}

# Of what the other view had before: that in $work/copy is newer.
is_old_copy() {
    is_our_copy "$1" && ! cmp -s -- "$work/there" "$work/copy"
}

# Owner and mode are those of the tab that is copied.
put_tab() { # TAB
    from=$views/groupadmin/$1
    tab=$views/user/$1
    as "$views_owner" cat -- "$from" >"$work/tab" 2>/dev/null ||
        fail "$from cannot be read: this Sunstone has no such tab, or this has to be run as root"
    {
        say "$copied$(sum_of "$work/tab")"
        cat -- "$work/tab"
    } >"$work/copy"
    if { [ -e "$tab" ] || [ -L "$tab" ]; } && ! is_old_copy "$tab"; then
        say "left as it is: $tab"
        return 0
    fi
    step "write $tab, a copy of groupadmin/$1" || return 0
    # shellcheck disable=SC2016 # the inner shell expands
    as "$views_owner" sh -c 'cp -p -- "$1" "$2" && cat >"$2" && mv -f -- "$2" "$3"' \
        sh "$from" "$views/user/.$1.oneib-new" "$tab" <"$work/copy" || fail "cannot write $tab: run this as root"
}

install_sunstone_tabs() {
    need_views
    for name in $service_tabs; do
        put_tab "$name"
    done
}

uninstall_sunstone_tabs() {
    find_views
    for tab in "$etc"/fireedge/sunstone/user "$etc"/fireedge/sunstone/views/user; do
        for name in $service_tabs; do
            if is_our_copy "$tab/$name"; then
                ! step "remove $tab/$name" || as "$views_owner" rm -f -- "$tab/$name" || fail "cannot remove $tab/$name"
            fi
        done
    done
}
