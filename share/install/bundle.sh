# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# A bundle: what a build gives, with install.sh, for machines that have neither a compiler nor the sources. Where
# `staged` lies beside install.sh, that is one:
#   staged/prefix                 what it was built for
#   staged/made-on                the distribution, its release, and the processor
#   staged/COMPONENT/             its files
#   staged/COMPONENT.packages     Debian packages that have the libraries of its programs, one a line

components='command frontend node sm'

is_bundle() {
    [ -d "$here/staged" ]
}

# shellcheck disable=SC1091 # of whatever machine this is
this_machine() {
    say "$(. /etc/os-release 2>/dev/null && printf '%s %s' "${ID-}" "${VERSION_ID-}") $(uname -m)"
}

# --- making one -------------------------------------------------------------------------------------------------------

is_program() { # FILE: in ELF
    [ "$(od -A n -t x1 -N 4 -- "$1" | tr -d ' ')" = 7f454c46 ]
}

# Those that a program names itself; what these need is for their packages to say.
libraries_of() { # PROGRAM: prints their paths
    objdump -p -- "$1" | sed -n 's/^ *NEEDED *//p' >"$work/needed"
    ldd -- "$1" | awk 'NR == FNR { needed[$1]; next } ($1 in needed) && $2 == "=>" { print $3 }' "$work/needed" -
}

# dpkg knows a file by the name it came under, with /usr in front or without.
package_of() { # FILE
    for name in "$1" "/usr$1" "${1#/usr}"; do
        dpkg-query -S "$name" 2>/dev/null | sed -n '1s/[:,].*//p'
    done | head -n 1
}

# What programs need beside their libraries: the drivers of adapters are loaded by name.
other_packages_of() { # COMPONENT
    case $1 in
    node) printf '%s\n' ibverbs-providers ;;
    esac
}

packages_of() { # COMPONENT DIRECTORY
    find "$2" -type f -perm /111 | while read -r file; do
        ! is_program "$file" || libraries_of "$file"
    done | sort -u >"$work/libraries"
    {
        other_packages_of "$1"
        while read -r library; do package_of "$library"; done <"$work/libraries"
    } | LC_ALL=C sort -u
}

make_bundle() { # FILE
    top=$work/oneib # whatever the file is called, now or later
    step "make $1: install.sh and what it installs, for $prefix on $(this_machine)" || return 0
    mkdir -- "$top" "$top/staged" "$top/share"
    cp -R -- "$here/install.sh" "$here/LICENSE" "$here/remotes" "$top/"
    cp -R -- "$here/share/install" "$top/share/"
    say "$prefix" >"$top/staged/prefix"
    this_machine >"$top/staged/made-on"
    for component in $components; do
        stage_component "$component" "$top/staged/$component"
        ! command -v dpkg-query >/dev/null ||
            packages_of "$component" "$top/staged/$component" >"$top/staged/$component.packages"
    done
    tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner -czf "$work/bundle" -- oneib &&
        cat -- "$work/bundle" >"$1" || fail "cannot write $1"
    say "on each machine: tar -xzf ${1##*/} && oneib/install.sh --node (or --frontend, --sm)"
}

# --- using one --------------------------------------------------------------------------------------------------------

need_bundle() {
    [ -z "$build" ] || refuse "this is a bundle, which has its build: leave --build out"
    [ "$prefix" = "$(default_prefix)" ] || fail "this bundle was made for --prefix $(default_prefix), not for $prefix"
    read -r made_on <"$here/staged/made-on"
    [ "$made_on" = "$(this_machine)" ] ||
        say "this bundle was made on $made_on, and this is $(this_machine): its programs may not run here"
}

missing_packages() { # ROLE
    for component in $(components_of "$1"); do
        cat -- "$here/staged/$component.packages" 2>/dev/null || true
    done | LC_ALL=C sort -u | while read -r package; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || say "$package"
    done
}

missing_libraries() { # DIRECTORY
    find "$1" -type f -perm /111 | while read -r file; do
        ! is_program "$file" || ldd -- "$file" 2>&1 | sed -n 's/^[[:space:]]*\(.*\) => not found.*/\1/p'
    done | LC_ALL=C sort -u
}

# Before anything is installed: a service that does not start, or a driver that fails, is found later and by others.
need_libraries() { # ROLE
    [ -z "$destdir" ] || return 0
    if command -v dpkg-query >/dev/null; then
        missing=$(missing_packages "$1" | tr '\n' ' ')
        [ -z "$missing" ] ||
            fail "$1 needs packages that are not here, and nothing is installed. Install them, then run this again:" \
                "apt-get install --no-install-recommends ${missing% }"
    fi
    missing=$(missing_libraries "$work/stage" | tr '\n' ' ')
    [ -z "$missing" ] || fail "$1 needs libraries that are not here, and nothing is installed: ${missing% }"
}
