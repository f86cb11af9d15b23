# SPDX-License-Identifier: Apache-2.0
# Reads one JSON document (RFC 8259), strictly, and prints a line for each string, number, true, false and null in it:
#
#   PATH<TAB>VALUE      such as /SERVICE/roles/[0]/nodes/[1]/vm_info/VM/NAME<TAB>head
#
# [N] is an element of an array. Of a key, every character that is no letter, digit, hyphen or underscore is written %XX, so
# no key can look like another path. Strings are decoded to UTF-8; a control character in one becomes a space, so no value can
# look like another line. Empty objects and arrays print nothing.
#
# A malformed document prints nothing at all: exit 1, and the reason on standard error. So does one that is nested deeper than
# 32, has a key twice in one object, a key of over 1024 bytes, or a number of over 64. A string of over 4096 bytes is left out.
#
# The input is to have no NUL (onegate.sh sees to it). Needs LC_ALL=C: characters are bytes.

BEGIN {
    deepest = 32
    longest_key = 1024
    longest_value = 4096
    for (i = 1; i < 256; i++)
        byte[i] = sprintf("%c", i)
    for (i = 0; i < 16; i++)
        digit[substr("0123456789abcdef", i + 1, 1)] = digit[substr("0123456789ABCDEF", i + 1, 1)] = i
    for (i = 1; i < 256; i++)
        number_of[byte[i]] = i
    plain["\""] = "\""
    plain["\\"] = "\\"
    plain["/"] = "/"
    plain["b"] = plain["f"] = plain["n"] = plain["r"] = plain["t"] = " "

    read_value("", 0)
    if (next_character() != "")
        refuse("something follows the document")
    for (i = 1; i <= lines; i++)
        print line[i]
    exit 0
}

# The document lies in a window of moderate size, which is cut in front and filled up behind: awks that count a string's
# length each time would take very long with all of it in one.
function fill() {
    while (length(window) < 128 && more())
        window = window substr(record, position - 2048, 2048)
}

function more() {
    if (position <= length_of_record) {
        position += 2048
        return 1
    }
    if ((getline record) <= 0)
        return 0
    if (records++)
        record = "\n" record
    length_of_record = length(record)
    position = 2049
    return 1
}

function take(n) {
    window = substr(window, n + 1)
    if (length(window) < 64)
        fill()
}

# next_character(): skips white space, and looks at what follows it; "" at the end.
function next_character() {
    fill()
    while (match(window, /^[ \t\n\r]+/))
        take(RLENGTH)
    return substr(window, 1, 1)
}

function expect(character) {
    if (next_character() != character)
        refuse("'" character "' is missing")
    take(1)
}

function read_value(path, depth,    character) {
    if (depth > deepest)
        refuse("nested too deeply")
    character = next_character()
    if (character == "{")
        read_object(path, depth)
    else if (character == "[")
        read_array(path, depth)
    else if (character == "\"")
        keep(path, read_string(longest_value), too_long)
    else
        keep(path, read_word(), 0)
}

function read_object(path, depth,    key) {
    take(1)
    if (next_character() == "}") {
        take(1)
        return
    }
    do {
        if (next_character() != "\"")
            refuse("a key is missing")
        key = read_string(longest_key)
        if (too_long)
            refuse("a key is too long")
        key = path "/" written_key(key)
        if (key in seen)
            refuse("a key is there twice")
        seen[key] = 1
        expect(":")
        read_value(key, depth + 1)
    } while (another("}"))
}

function read_array(path, depth,    n) {
    take(1)
    if (next_character() == "]") {
        take(1)
        return
    }
    n = 0
    do
        read_value(path "/[" n++ "]", depth + 1)
    while (another("]"))
}

# another(CLOSING): a comma, or the end of an object or array.
function another(closing,    character) {
    character = next_character()
    if (character != "," && character != closing)
        refuse("'" closing "' is missing")
    take(1)
    return character == ","
}

# read_word(): a number, true, false or null. What can follow one ends it.
function read_word(    word) {
    if (!match(window, /^[-+.0-9A-Za-z]+/) || RLENGTH > 64)
        refuse("no value where one belongs")
    word = substr(window, 1, RLENGTH)
    if (word !~ /^(true|false|null)$/ && word !~ /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$/)
        refuse("neither a number nor a word of JSON")
    take(RLENGTH)
    return word
}

# read_string(LONGEST): sets too_long when it is longer, and then is not whole.
function read_string(longest,    text, piece) {
    take(1)
    text = ""
    too_long = 0
    while (1) {
        fill()
        if (match(window, /^[^"\\\001-\037]+/)) {
            piece = substr(window, 1, RLENGTH)
            take(RLENGTH)
        } else if (substr(window, 1, 1) == "\\")
            piece = read_escape()
        else
            break
        if (length(text) + length(piece) > longest)
            too_long = 1
        else if (!too_long)
            text = text piece
    }
    if (substr(window, 1, 1) != "\"")
        refuse("a string has a control character or no end")
    take(1)
    gsub(/[\177]/, " ", text)
    return text
}

function read_escape(    character, code, low) {
    character = substr(window, 2, 1)
    if (character in plain) {
        take(2)
        return plain[character]
    }
    code = read_code()
    if (code >= 55296 && code <= 56319 && substr(window, 1, 2) == "\\u") {
        low = code_in(window)
        if (low >= 56320 && low <= 57343) {
            take(6)
            return utf8(65536 + (code - 55296) * 1024 + low - 56320)
        }
    }
    return utf8(code >= 55296 && code <= 57343 ? 65533 : code)
}

function read_code(    code) {
    code = code_in(window)
    if (code < 0)
        refuse("an unknown escape")
    take(6)
    return code
}

# code_in(TEXT): the number of \uXXXX at its beginning; -1 when there is none.
function code_in(text,    code, i) {
    if (text !~ /^\\u[0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f]/)
        return -1
    code = 0
    for (i = 3; i <= 6; i++)
        code = code * 16 + digit[substr(text, i, 1)]
    return code
}

function utf8(code) {
    if (code < 32)
        return " "
    if (code < 128)
        return byte[code]
    if (code < 2048)
        return byte[192 + int(code / 64)] continuation(code)
    if (code < 65536)
        return byte[224 + int(code / 4096)] continuation(int(code / 64)) continuation(code)
    return byte[240 + int(code / 262144)] continuation(int(code / 4096)) continuation(int(code / 64)) continuation(code)
}

function continuation(code) {
    return byte[128 + code % 64]
}

function written_key(key,    written, i, character) {
    if (key ~ /^[-_A-Za-z0-9]+$/)
        return key
    written = ""
    for (i = 1; i <= length(key); i++) {
        character = substr(key, i, 1)
        written = written (character ~ /[-_A-Za-z0-9]/ ? character : sprintf("%%%02X", number_of[character]))
    }
    return written
}

function keep(path, value, left_out) {
    if (!left_out)
        line[++lines] = path "\t" value
}

function refuse(why) {
    print "not JSON as it shall be: " why > "/dev/stderr"
    exit 1
}
