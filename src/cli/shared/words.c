/*
 * Quantities in the words of people: sizes, durations, times, numbers of things.
 */
#include "cli/shared/cli.h"

#include "base/system/clock.h"

#include <stdio.h>
#include <time.h>

cli_words
cli_hex(gcache_key const *key)
{
    cli_words hex;

    gcache_key_to_hex(key, hex.text);
    return hex;
}

cli_words
cli_size(uint64_t size)
{
    static char const *const units[] = { "KiB", "MiB", "GiB", "TiB" };
    double scaled = (double)size / 1024;
    size_t unit = 0;
    cli_words words;

    for (; scaled >= 1024 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        scaled /= 1024;
    if (size < 1024)
        snprintf(words.text, sizeof words.text, "%u B", (unsigned)size);
    else
        snprintf(words.text, sizeof words.text, "%.1f %s", scaled, units[unit]);
    return words;
}

cli_words
cli_duration(uint64_t ns)
{
    double ms = (double)ns / 1e6;
    cli_words words = { "-" };

    if (ns != 0)
        snprintf(words.text, sizeof words.text, ms < 1000 ? "%.3g ms" : "%.1f s", ms < 1000 ? ms : ms / 1000);
    return words;
}

cli_words
cli_time(uint64_t ns)
{
    time_t seconds = (time_t)(ns / GCI_SECOND_NS);
    cli_words words = { "?" };
    struct tm parts;

    if (localtime_r(&seconds, &parts) != NULL)
        strftime(words.text, sizeof words.text, "%Y-%m-%d %H:%M:%S", &parts);
    return words;
}

cli_words
cli_count(uint64_t count, char const *one, char const *many)
{
    cli_words words;

    snprintf(words.text, sizeof words.text, "%llu %s", (unsigned long long)count, count == 1 ? one : many);
    return words;
}
