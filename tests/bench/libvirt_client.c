// SPDX-License-Identifier: Apache-2.0
/* bench-libvirt-client URI: asks libvirt for the documents of all domains: the least that a client
 * of it does. */
#include <libvirt/libvirt.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    virConnectPtr connection = argc == 2 ? virConnectOpenReadOnly(argv[1]) : NULL;
    virDomainPtr *domains;
    const int count = connection ? virConnectListAllDomains(connection, &domains, 0) : -1;
    if (count < 0)
        return EXIT_FAILURE;
    for (int i = 0; i < count; i++) {
        char *document = virDomainGetXMLDesc(domains[i], 0);
        puts(document ? document : "");
        free(document);
        virDomainFree(domains[i]);
    }
    free(domains);
    virConnectClose(connection);
    return EXIT_SUCCESS;
}
