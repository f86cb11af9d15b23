// SPDX-License-Identifier: Apache-2.0
/* A node of libvirt's test driver, which is a file that is read at connecting. */
#ifndef ONEIB_UNIT_NODE_FILE_H
#define ONEIB_UNIT_NODE_FILE_H

#include "../base/scratch.h"

#define NODE(domains)                                                                              \
    "<node><cpu><mhz>2000</mhz><model>x</model><active>2</active></cpu>"                           \
    "<memory>4194304</memory>" domains "</node>"

/* One domain; `inside` is put into its devices. */
#define DOMAIN(name, state, inside)                                                                \
    "<domain type='test' xmlns:test='http://libvirt.org/schemas/domain/test/1.0'>"                 \
    "<name>" name "</name><memory>1024</memory><os><type>hvm</type></os><devices>" inside          \
    "</devices>" state "</domain>"
#define RUNNING ""
#define SHUT_OFF "<test:runstate>5</test:runstate>"
#define HOSTDEV(function)                                                                          \
    "<hostdev mode='subsystem' type='pci' managed='yes'><source><address domain='0x0000' "         \
    "bus='0x81' slot='0x00' function='" function "'/></source></hostdev>"
#define INTERFACE(function)                                                                        \
    "<interface type='hostdev' managed='yes'><mac address='02:00:00:00:00:01'/><source><address "  \
    "type='pci' domain='0x0000' bus='0x81' slot='0x01' function='" function                        \
    "'/></source></interface>"

/* Replaced as a whole: nobody reads half of it. */
static inline void put_node(const char *xml)
{
    put_text(in_scratch("node.new"), xml);
    assert_int_equal(rename(in_scratch("node.new"), in_scratch("node.xml")), 0);
}

/* Valid until the next call. */
static inline const char *node_uri(void)
{
    static char uri[PATH_MAX + 16];
    snprintf(uri, sizeof uri, "test://%s", in_scratch("node.xml"));
    return uri;
}

#endif
