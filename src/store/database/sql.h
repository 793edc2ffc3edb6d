/*
 * The parameters of a SQL statement, and what SQLite's codes mean.
 */
#ifndef GCI_STORE_DATABASE_SQL_H
#define GCI_STORE_DATABASE_SQL_H

#include "base/error.h"
#include "base/view.h"

#include <stdint.h>

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;

/* What a parameter is bound to. */
typedef struct gci_sql {
    enum { GCI_SQL_IS_NULL, GCI_SQL_IS_NUMBER, GCI_SQL_IS_BYTES, GCI_SQL_IS_TEXT } kind;
    int64_t number;
    gci_view view;
} gci_sql;

static inline gci_sql
gci_sql_number(int64_t number)
{
    return (gci_sql){ .kind = GCI_SQL_IS_NUMBER, .number = number };
}

static inline gci_sql
gci_sql_bytes(void const *bytes, size_t size)
{
    return (gci_sql){ .kind = GCI_SQL_IS_BYTES, .view = gci_view_of(bytes, size) };
}

static inline gci_sql
gci_sql_text(gci_view text)
{
    return (gci_sql){ .kind = GCI_SQL_IS_TEXT, .view = text };
}

/* Binds them in their order. Bytes stay where they are until the statement is used again. SQLITE_OK, or why the first that
   couldn't be bound couldn't. */
int gci_sql_bind(sqlite3_stmt *statement, gci_sql const *values, size_t count);

gci_view gci_sql_column(sqlite3_stmt *statement, int at);

/* What a code of SQLite's that isn't a success means, extended or not. */
gcache_status gci_sql_status(int code);

#endif
