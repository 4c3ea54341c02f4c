# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Creates keys and certificates for the end-to-end tests in $scratch/pki, using openssl. The certificates have all
# fields of RFC 5280 that strict clients, such as Python since 3.13, require.

# shellcheck disable=SC2154 # from lib.sh
pki=$scratch/pki
mkdir -p "$pki/state"

# make_key NAME [rsa]: writes NAME.key.
make_key() {
    if [ "${2-}" = rsa ]; then
        openssl genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$pki/$1.key"
    else
        openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$pki/$1.key"
    fi 2>/dev/null
}

# make_ca NAME: writes NAME.key and NAME.pem.
make_ca() {
    make_key "$1"
    openssl req -x509 -key "$pki/$1.key" -subj "/CN=$1" -days 30 -addext "keyUsage = critical, keyCertSign, cRLSign" \
        -out "$pki/$1.pem" 2>/dev/null
}

# make_certificate NAME CA server|client SANS [FROM UNTIL [KEY]]: writes NAME.pem, signed by CA, for KEY.key, which is
# created if it does not exist. FROM and UNTIL have the form 20200101000000Z.
make_certificate() {
    local name=$1 ca=$2 use=$3 sans=$4 from=${5-} until=${6-} key=${7-$1} dates=(-days 10)
    [ -e "$pki/$key.key" ] || make_key "$key"
    [ -z "$from" ] || dates=(-startdate "$from" -enddate "$until")
    : >"$pki/state/index"
    cat >"$pki/state/ca.cnf" <<END
[ca]
default_ca = this
[this]
database = $pki/state/index
new_certs_dir = $pki/state
rand_serial = yes
default_md = sha256
policy = any
x509_extensions = leaf
[any]
commonName = supplied
[leaf]
basicConstraints = CA:FALSE
authorityKeyIdentifier = keyid
subjectKeyIdentifier = hash
extendedKeyUsage = ${use}Auth
subjectAltName = $sans
END
    openssl req -new -key "$pki/$key.key" -subj "/CN=$name" -out "$pki/$name.csr" 2>/dev/null
    if ! openssl ca -batch -notext -config "$pki/state/ca.cnf" -cert "$pki/$ca.pem" -keyfile "$pki/$ca.key" \
        "${dates[@]}" -in "$pki/$name.csr" -out "$pki/$name.pem" 2>"$pki/state/log"; then
        fail "openssl creates the certificate $name" "$(cat "$pki/state/log")"
    fi
}

# serial_of FILE: prints the serial number of a certificate.
serial_of() {
    openssl x509 -noout -serial -in "$1" | sed 's/serial=//'
}
