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
 * Further on: look up or compile in one call (compile.h), many modules at once (bulk.h), what tuning found (tuning.h), one file
 * of what a run used for another machine (artifacts.h), files by content and directories for a compiler's own caches
 * (blobs.h), values among the processes of a job (share.h), fingerprints of compilers (fingerprint.h), switches and limits
 * from files and environment (settings.h), what happens (events.h) and what happened (observe.h), verification, repair and
 * collection (maintenance.h).
 *
 * Caveats first. The library has no global state but a lock that a fork takes (cache.h), reads no environment variables,
 * prints nothing, installs no signal handlers and starts no threads on its own. Payloads are executed by their users, so
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
#include <guardcache/graph.h>
#include <guardcache/guard.h>
#include <guardcache/hints.h>
#include <guardcache/maintenance.h>
#include <guardcache/key.h>
#include <guardcache/observe.h>
#include <guardcache/settings.h>
#include <guardcache/share.h>
#include <guardcache/status.h>
#include <guardcache/tuning.h>
#include <guardcache/version.h>

#endif
