/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates of the server, made by the test. */
#ifndef TESTS_FAULTS_PKI_H
#define TESTS_FAULTS_PKI_H

/* Writes DIRECTORY/cert.pem and DIRECTORY/key.pem: a key of its own, a certificate of this serial number. */
void pki_write(const char *directory, unsigned char serial);

#endif
