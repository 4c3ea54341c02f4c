# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shared by the tests of floods: the password, and the figures that the Python programs print. Sourced after lib.sh.
# shellcheck disable=SC2154 # scratch

# figure NAME: of the last flood, whose output is in $scratch/figures.
figure() {
    awk -v name="$1" '$1 == name { print $2 }' "$scratch/figures"
}

# write_web_config: $scratch/web.yml asks for a password, at the cost that the exporters' manual recommends.
write_web_config() {
    # shellcheck disable=SC2016 # hashes have dollars
    cat >"$scratch/web.yml" <<'END'
basic_auth_users:
  alice: $2y$10$abcdefghijklmnopqrstuuqflPDzB6gcMhKa1rZqKiun2YGL5sa2u
auth_excluded_paths: [/-/healthy, /-/ready]
END
}
