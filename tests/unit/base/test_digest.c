/*
 * SHA-256 and HMAC against the vectors of FIPS 180-4 and RFC 4231.
 */
#include "base/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

static void
check(uint8_t const hash[GCI_SHA256_BYTES], char const *expected)
{
    char hex[2 * GCI_SHA256_BYTES + 1];

    gci_hex(hash, GCI_SHA256_BYTES, hex);
    assert_string_equal(hex, expected);
}

static void
test_sha256(void **state)
{
    gci_digest *digest = gci_digest_new();
    uint8_t hash[GCI_SHA256_BYTES];

    (void)state;
    assert_non_null(digest);
    assert_true(gci_digest_of(digest, gci_view_text("abc"), hash));
    check(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_true(gci_digest_of(digest, gci_view_of(NULL, 0), hash));
    check(hash, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_true(gci_digest_begin(digest));
    for (int i = 0; i < 1000000; i++)
        assert_true(gci_digest_update(digest, "a", 1));
    assert_true(gci_digest_end(digest, hash));
    check(hash, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    gci_digest_free(digest);
}

static void
test_hmac(void **state)
{
    uint8_t mac[GCI_SHA256_BYTES];
    char key[131];

    (void)state;
    assert_true(gci_hmac_sha256(gci_view_text("Jefe"), gci_view_text("what do ya want for nothing?"), mac));
    check(mac, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0x0b, 20);
    assert_true(gci_hmac_sha256(gci_view_of(key, 20), gci_view_text("Hi There"), mac));
    check(mac, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    memset(key, 0xaa, sizeof key);
    assert_true(gci_hmac_sha256(gci_view_of(key, sizeof key),
                                gci_view_text("Test Using Larger Than Block-Size Key - Hash Key First"), mac));
    check(mac, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    assert_true(gci_hmac_sha256(gci_view_of(NULL, 0), gci_view_of(NULL, 0), mac));
    check(mac, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_sha256),
        cmocka_unit_test(test_hmac),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
