# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# A bundle of install.sh, made here, used on machines with neither the sources, the build nor a compiler.
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"
# shellcheck source=tests/install/machine.sh
. "$INSTALL_TESTS/machine.sh"

# One for all tests: it takes a while.
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
"$SOURCES/install.sh" --bundle "$made/oneib.tar.gz" --build "$BUILD" --prefix "$PREFIX" || exit 1

# A machine in whose /root a bundle was unpacked.
prepare_with_bundle() {
    prepare
    mkdir "$root/root"
    tar -xzf "$made/oneib.tar.gz" -C "$root/root"
    for program in cmake ninja make cc gcc clang objdump readelf git; do
        printf '#!/bin/sh\necho "%s is not to be here" >&2\nexit 99\n' $program >"$root/standins/$program"
        chmod 755 "$root/standins/$program"
    done
}

bundle() { # OPTION...
    (SOURCES='' on_machine /root/oneib/install.sh "$@")
}

lacks_package() { # NAME
    cat >"$root/standins/dpkg-query" <<END
#!/bin/sh
case " \$* " in *' $1 '*) exit 1 ;; esac
exec /usr/bin/dpkg-query "\$@"
END
    chmod 755 "$root/standins/dpkg-query"
}

test_a_node_gets_what_a_build_would_have_put_there() {
    prepare_with_bundle
    succeeds bundle --node
    mv "$root.prefix" "$work/by-bundle"
    rm -rf "$root" && mkdir "$root"
    prepare
    succeeds install --node
    succeeds diff -r "$work/by-bundle" "$root.prefix"
    succeeds cmp "$work/by-bundle/libexec/oneib/oneib-node" "$root.prefix/libexec/oneib/oneib-node"
}

test_every_role_comes_out_of_one_bundle() {
    prepare_with_bundle
    mkdir -p "$root/var/lib/one/remotes" "$root/etc/one"
    echo 'PORT = 2633' >"$root/etc/one/oned.conf"
    succeeds bundle --frontend --sm --node
    (SOURCES='' succeeds on_machine oneib --version)
    (SOURCES='' succeeds on_machine oneibd --version)
    has "$root/etc/one/oned.conf" 'NAME += "kvm-ib"'
    succeeds bundle --uninstall --frontend --sm --node
    equal oned.conf "$(cat "$root/etc/one/oned.conf")" 'PORT = 2633'
    equal 'what is left' "$(find "$root.prefix" -type f)" ''
}

test_a_dry_run_of_a_bundle_changes_nothing() {
    prepare_with_bundle
    succeeds bundle --node --dry-run
    has "$work/output" "^would write $PREFIX/libexec/oneib/oneib-node\$"
    equal 'what is there' "$(find "$root.prefix" -type f)" ''
}

test_a_missing_package_is_named_before_anything_is_installed() {
    prepare_with_bundle
    lacks_package libconfig9
    fails bundle --node
    has "$work/output" 'apt-get install --no-install-recommends libconfig9$'
    equal 'what is there' "$(find "$root.prefix" -type f)" ''
}

test_only_the_roles_own_packages_are_asked_for() {
    prepare_with_bundle
    lacks_package libmicrohttpd12
    succeeds bundle --node
    fails bundle --sm
    has "$work/output" 'apt-get install --no-install-recommends libmicrohttpd12$'
}

test_packages_are_those_of_the_libraries() {
    prepare_with_bundle
    packages=$root/root/oneib/staged
    has "$packages/sm.packages" '^libzmq5$'
    has "$packages/node.packages" '^ibverbs-providers$'
    has "$packages/node.packages" '^libvirt0$'
    has "$packages/node.packages" '^libsodium23$'
    has "$packages/node.packages" '^libzmq5$'
    has "$packages/command.packages" '^libxmlrpc-core-c3$'
    cat "$packages"/*.packages | while read -r package; do
        dpkg-query -W "$package" >/dev/null || fail "there is no package $package"
    done
}

test_another_prefix_than_the_bundles_is_refused() {
    prepare_with_bundle
    fails bundle --node --prefix /opt/oneib
    has "$work/output" "was made for --prefix $PREFIX, not for /opt/oneib"
}

test_a_bundle_is_for_all_roles_and_named_as_it_is() {
    fails "$SOURCES/install.sh" --bundle "$work/b.tar.gz" --node --build "$BUILD" --prefix "$PREFIX"
    has "$work/output" 'a bundle has all roles'
    fails "$SOURCES/install.sh" --bundle "$work/b.zip" --build "$BUILD" --prefix "$PREFIX"
    has "$work/output" 'must end in .tar.gz'
    succeeds "$SOURCES/install.sh" --bundle "$work/b.tar.gz" --dry-run --build "$BUILD" --prefix "$PREFIX"
    fails test -e "$work/b.tar.gz"
}

run_tests
