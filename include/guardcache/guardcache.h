/*
 * guardcache/guardcache.h - a cache for what graph compilers produce.
 *
 * A graph compiler turns a graph into machine code in seconds to minutes; the result holds for every input that
 * satisfies the guards it assumed on the way. guardcache describes the graph canonically (graph.h), hashes that to a
 * key (key.h), keeps the compiled variants under it, evaluates their guards (guard.h) against the present hints
 * (hints.h) to pick a hit, and explains every miss (cache.h).
 *
 *   gcache_open            a cache directory
 *   gcache_graph_...       describe the graph
 *   gcache_lookup          hit: run r.payload.  miss: r.reason says why
 *   gcache_insert          store what was compiled, with its guards
 *   gcache_explain         why it missed, in words
 *
 * Read graph.h, cache.h and observe.h first: they are all that a program needs which looks up, stores and explains. Then,
 * when you need
 *
 *   one call that looks up or compiles, once in all processes      compile.h
 *   many modules at once, on all processors                        bulk.h
 *   switches and limits from files and the environment             settings.h
 *   a listener, log lines                                          events.h
 *   verification, repair, garbage collection                       maintenance.h
 *   what tuning found: timings, best configurations, bundles       tuning.h
 *   what a run used, in one file for another machine               artifacts.h
 *   files by their content, a directory for a compiler's own cache blobs.h
 *   files with keys that entries are signed with                   signing.h
 *   values and handles for the other processes of a job            share.h
 *   entries shared by a fleet: Redis, shared directories          fleet.h
 *   a tier of one's own                                            tier.h
 *   hashes of compilers, libraries, source trees                   fingerprint.h
 *   the guard language by itself                                   guard.h
 *
 * status.h, key.h, hints.h and version.h have the types that all of them share.
 *
 * How the API grows: a struct that begins with `size` is initialised with its _INIT macro, whoever fills it in. Members are
 * appended only, so that a later library tells from the size what a caller's header had. Structs that a callback gets, or that
 * the library points to, grow alike: don't copy them. All others (a key, a pair, an error) stay as they are. Enumerations
 * grow at their end; what is counted by reason is read by a function, never through an array of the caller's.
 *
 * Caveats first. The library has no global state but a lock that a fork takes (cache.h) and the kinds that a program loads
 * (graph.h), reads no environment variables, prints nothing and installs no signal handlers. It starts no threads on its own,
 * but for one that takes what is stored to tiers, where there are any. Payloads are executed by their users, so
 * a cache directory must belong to one user (it is made with mode 0700 and refused otherwise). All strings are UTF-8 and
 * zero-terminated unless a size stands beside them; sizes are in bytes, times in nanoseconds.
 */
#ifndef GUARDCACHE_GUARDCACHE_H
#define GUARDCACHE_GUARDCACHE_H

#include <guardcache/artifacts.h>
#include <guardcache/blobs.h>
#include <guardcache/bulk.h>
#include <guardcache/cache.h>
#include <guardcache/compile.h>
#include <guardcache/events.h>
#include <guardcache/fingerprint.h>
#include <guardcache/fleet.h>
#include <guardcache/graph.h>
#include <guardcache/guard.h>
#include <guardcache/hints.h>
#include <guardcache/maintenance.h>
#include <guardcache/key.h>
#include <guardcache/observe.h>
#include <guardcache/settings.h>
#include <guardcache/share.h>
#include <guardcache/signing.h>
#include <guardcache/status.h>
#include <guardcache/tier.h>
#include <guardcache/tuning.h>
#include <guardcache/version.h>

#endif
