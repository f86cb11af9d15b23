// SPDX-License-Identifier: Apache-2.0
/*
 * vnet_delete, run by oned on the front-end while a network is being deleted. Its P_Key is in its
 * document and goes with it: there is nothing to give back.
 */
int main(void)
{
    return 0;
}
