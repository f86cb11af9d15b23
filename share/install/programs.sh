# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# The programs, from a build.

components_of() { # ROLE
    say "command $1"
}

default_prefix() {
    if is_bundle; then cat -- "$here/staged/prefix"; else say /usr; fi
}

prefix_of_build() {
    sed -n 's/^CMAKE_INSTALL_PREFIX:[A-Z]*=//p' "$build/CMakeCache.txt"
}

# Programs name each other by their full paths, so that a build is good for one prefix.
need_build() {
    build_is_made=true
    if [ -n "$build" ]; then
        [ -f "$build/cmake_install.cmake" ] || fail "$build is no build directory of oneib"
    else
        build=$here/build/release
        if ! step "build oneib in $build"; then
            build_is_made=false
        else
            command -v cmake >/dev/null || fail "there is no cmake: 'tests/packages --build' installs what building needs"
            (cd -- "$here" &&
                cmake --preset release "-DCMAKE_INSTALL_PREFIX=$prefix" -DONEIB_TESTS=OFF >"$work/log" 2>&1 &&
                cmake --build "$build" >"$work/log" 2>&1) || {
                tail -n 30 -- "$work/log" >&2
                fail "oneib could not be built; 'tests/packages --build' installs what it needs"
            }
        fi
    fi
    [ ! -f "$build/CMakeCache.txt" ] || ! $build_is_made || [ "$(prefix_of_build)" = "$prefix" ] ||
        fail "$build was configured for $(prefix_of_build), not for $prefix: say --prefix $(prefix_of_build), or configure" \
            "it anew with -DCMAKE_INSTALL_PREFIX=$prefix"
}

stage_component() { # COMPONENT DIRECTORY
    DESTDIR=$2 cmake --install "$build" --component "$1" >"$work/log" 2>&1 || {
        cat -- "$work/log" >&2
        fail "the programs cannot be taken from $build: complete it (cmake --build $build), and run this as a user" \
            "who can write there"
    }
}

# stand_in COMPONENT DIRECTORY: empty files in the places of those that a build would put there.
stand_in() {
    sed -n "s|^$1 /|/|p" -- "$here/share/install/programs.list" | while read -r path; do
        case $path in
        */) (cd -- "$here/share" && find "$(basename -- "$path")" -type f) | sed "s|^|${path%/*/}/|" ;;
        *) say "$path" ;;
        esac
    done >"$work/paths"
    while read -r path; do
        mkdir -p -- "$2$prefix${path%/*}" && : >"$2$prefix$path"
    done <"$work/paths"
}

stage_programs() { # ROLE
    rm -rf -- "$work/stage"
    mkdir -- "$work/stage"
    for component in $(components_of "$1"); do
        if is_bundle; then
            cp -R -- "$here/staged/$component/." "$work/stage/"
        elif $build_is_made; then
            stage_component "$component" "$work/stage"
        else
            stand_in "$component" "$work/stage"
        fi
    done
}

# each_file DIRECTORY FUNCTION ARGUMENT...: calls FUNCTION ARGUMENT... PATH for each, PATH beginning with a slash.
each_file() {
    top=$1
    shift
    (cd -- "$top" && find . -type f) | sed 's|^\.||' | LC_ALL=C sort >"$work/files"
    while read -r path; do
        "$@" "$path" </dev/null
    done <"$work/files"
}

check_program() {
    must_be_free f "$destdir" "$1" "$work/stage$1"
}

make_program_directory() {
    make_directory d 0:0 "$destdir" "${1%/*}"
}

put_program() {
    put 0:0 "$destdir" "$1" "$work/stage$1" "$(mode_of "$work/stage$1")"
}
