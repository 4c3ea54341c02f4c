/* SPDX-License-Identifier: Apache-2.0 */
/* Counts for each address, also where several addresses share a bucket. */
#include "http/peer-count.h"
#include "tests/unit/test.h"

#define N (PEER_COUNT_BUCKETS + 1) /* so that at least two share one */

static struct peer peer_number(unsigned n)
{
    struct peer peer = {0};

    memcpy(peer.key, &n, sizeof(n));
    return peer;
}

static void test_addresses(void **state)
{
    struct peer_counts counts = {0};
    struct peer_count *items[N];

    (void)state;
    for (unsigned i = 0; i < N; i++) {
        const struct peer peer = peer_number(i);
        assert_int_equal(peer_counts_get(&counts, &peer), 0);
        items[i] = peer_counts_add(&counts, &peer);
        assert_non_null(items[i]);
        assert_int_equal(peer_counts_get(&counts, &peer), 1);
    }
    assert_int_equal(counts.n, N);
    for (unsigned i = 0; i < N; i++) {
        const struct peer peer = peer_number(i);
        assert_ptr_equal(peer_counts_add(&counts, &peer), items[i]);
        assert_int_equal(peer_count_n(items[i]), 2);
        peer_counts_remove(&counts, items[i]);
        assert_int_equal(peer_counts_get(&counts, &peer), 1);
        peer_counts_remove(&counts, items[i]);
        assert_int_equal(peer_counts_get(&counts, &peer), 0);
    }
    assert_int_equal(counts.n, 0);
}

static void test_room(void **state)
{
    const struct peer peer = peer_number(1), other = peer_number(2), unix_socket = {.unix_socket = true};
    struct peer_counts counts = {0};

    (void)state;
    assert_int_equal(peer_limit(&peer, 10, 2), 2);
    assert_int_equal(peer_limit(&unix_socket, 10, 2), 5);
    struct peer_count *first = peer_counts_add(&counts, &peer), *second = peer_counts_add(&counts, &peer);
    assert_false(peer_counts_have_room(&counts, &peer, 10, 2));
    assert_true(peer_counts_have_room(&counts, &other, 10, 2));
    assert_false(peer_counts_have_room(&counts, &other, 2, 2));
    peer_counts_remove(&counts, first);
    peer_counts_remove(&counts, second);
    assert_true(peer_counts_have_room(&counts, &peer, 10, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
