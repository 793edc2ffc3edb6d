/*
 * Ed25519 against the vectors of RFC 8032, section 7.1.
 */
#include "base/digest.h"
#include "base/signing/ed25519.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

static struct {
    char const *seed, *public_key, *message, *signature;
} const vectors[] = {
    { "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
      "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b" },
    { "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
      "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
      "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00" },
    { "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
      "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
      "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
      "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a" },
};

static void
unhex(char const *hex, uint8_t *out)
{
    assert_true(gci_unhex(gci_view_text(hex), out, strlen(hex) / 2));
}

static void
test_vectors(void **state)
{
    uint8_t seed[32], key[32], made_key[32], message[8], signature[64], made[64];

    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        gci_view bytes = gci_view_of(message, strlen(vectors[i].message) / 2);
        unhex(vectors[i].seed, seed);
        unhex(vectors[i].public_key, key);
        unhex(vectors[i].message, message);
        unhex(vectors[i].signature, signature);
        assert_true(gci_ed25519_public(seed, made_key));
        assert_memory_equal(made_key, key, sizeof key);
        assert_true(gci_ed25519_sign(seed, bytes, made));
        assert_memory_equal(made, signature, sizeof signature);
        assert_true(gci_ed25519_verify(key, bytes, signature));
        signature[i] ^= 1;
        assert_false(gci_ed25519_verify(key, bytes, signature));
        signature[i] ^= 1;
        key[i] ^= 1;
        assert_false(gci_ed25519_verify(key, bytes, signature));
    }
}

static void
test_verifications_are_counted(void **state)
{
    uint64_t before = gci_ed25519_verifications();
    uint8_t zeros[64] = { 0 };

    (void)state;
    gci_ed25519_verify(zeros, gci_view_of("", 0), zeros);
    assert_int_equal(gci_ed25519_verifications(), before + 1);
}

static void
test_secrets(void **state)
{
    uint8_t first[32] = { 0 }, second[32] = { 0 }, zeros[32] = { 0 };

    (void)state;
    assert_true(gci_random_secret(first, sizeof first));
    assert_true(gci_random_secret(second, sizeof second));
    assert_memory_not_equal(first, second, sizeof first);
    gci_cleanse(first, sizeof first);
    assert_memory_equal(first, zeros, sizeof first);
    gci_cleanse(NULL, 0);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_verifications_are_counted),
        cmocka_unit_test(test_secrets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
