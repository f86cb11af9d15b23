# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"

json() {
    printf '%s' "$1" | LC_ALL=C awk -f "$context/lib/json.awk"
}

reads() {
    prints "$(printf '%b' "$2")" json "$1"
}

refuses() {
    for document; do
        fails json "$document"
        equal "what is printed of $document" "$(json "$document" 2>/dev/null || true)" ''
    done
}

test_each_value_has_its_path() {
    reads '{"a":[1,{"b":"x"}],"c":{"d":null,"e":true,"f":false},"":-2.5e+3}' \
        '/a/[0]\t1\n/a/[1]/b\tx\n/c/d\tnull\n/c/e\ttrue\n/c/f\tfalse\n/\t-2.5e+3'
    reads '"alone"' '\talone'
    reads ' [ 1 , 2 ] ' '/[0]\t1\n/[1]\t2'
}

test_empty_objects_and_arrays_print_nothing() {
    reads '{"a":{},"b":[],"c":"","d":[[],{}]}' '/c\t'
}

test_escapes_are_decoded() {
    reads '"\"\\\/\u0041\u00e9\u20AC\ud83d\ude00"' '\t"\\/A\0303\0251\0342\0202\0254\0360\0237\0230\0200'
}

test_half_a_pair_of_surrogates_is_a_replacement_character() {
    reads '"\ud83dx\ude00"' '\t\0357\0277\0275x\0357\0277\0275'
}

test_a_value_cannot_look_like_another_line() {
    reads '"a\n/SERVICE\tx\r\u000a\u0000\b\f\u007f."' '\ta /SERVICE x      .'
}

test_a_key_cannot_look_like_another_path() {
    reads '{"a/b":{"[0]":1,"x\n%\u00e9":2}}' '/a%2Fb/%5B0%5D\t1\n/a%2Fb/x%20%25%C3%A9\t2'
}

test_malformed_documents_are_refused_whole() {
    refuses '' ' ' '{' '[' '"' '"a' '[1' '[1,' '[1,]' '[,1]' '[1 2]' '{"a"}' '{"a":}' '{"a":1,}' '{a:1}' "{'a':1}" '{"a":1' '{"a":1}}' \
        '[1]x' '1 2' 'nul' 'True' 'NaN' '01' '1.' '.5' '+1' '-' '1e' '0x10' '"\x"' '"\u12"' '"\u12g4"' '"\' '<html>' '// 1' \
        "$(printf '"a\001b"')" "$(printf '"a\nb"')" "$(printf '"a\tb"')" '{"a":1,"a":2}' '{"a":1,"\u0061":2}'
}

test_what_is_before_the_fault_is_not_printed() {
    refuses '{"good":"value","bad":}' '["a","b"'
}

test_nesting_has_a_limit() {
    succeeds json '[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]'
    refuses '[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]'
}

test_a_long_string_is_left_out_alone() {
    long=$(printf '%5000s' x)
    reads "{\"a\":1,\"b\":\"$long\",\"c\":2}" '/a\t1\n/c\t2'
    refuses "{\"$long\":1}"
}

test_tokens_at_every_place_of_the_window_are_whole() {
    for spaces in $(seq 2020 2075); do
        blank=$(printf "%${spaces}s" '')
        reads "[$blank\"a\\u0041\\n\",12345,true,\"$blank\"]" "/[0]\taA \n/[1]\t12345\n/[2]\ttrue\n/[3]\t$blank"
    done
}

# Documents made at random, and the same with a byte changed, must be read as ruby's parser reads them, or be refused by both.
test_reads_as_ruby_does() {
    ruby "$GUEST_TESTS/json_documents.rb" make "$work"
    for document in "$work"/*.json; do
        if LC_ALL=C awk -f "$context/lib/json.awk" <"$document" >"$document.lines" 2>/dev/null; then
            echo read >"$document.outcome"
        else
            echo refused >"$document.outcome"
        fi
    done
    succeeds ruby "$GUEST_TESTS/json_documents.rb" compare "$work"
}

run_tests
