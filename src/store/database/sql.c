/* Binding parameters, reading columns, and the meaning of codes. */
#include "store/database/sql.h"

#include <sqlite3.h>

int
gci_sql_bind(sqlite3_stmt *statement, gci_sql const *values, size_t count)
{
    int code = SQLITE_OK;

    for (int i = 0; code == SQLITE_OK && i < (int)count; i++) {
        gci_view view = values[i].view.size != 0 ? values[i].view : gci_view_of("", 0);
        switch (values[i].kind) {
        case GCI_SQL_IS_NULL:
            code = sqlite3_bind_null(statement, i + 1);
            break;
        case GCI_SQL_IS_NUMBER:
            code = sqlite3_bind_int64(statement, i + 1, values[i].number);
            break;
        case GCI_SQL_IS_BYTES:
            code = sqlite3_bind_blob64(statement, i + 1, view.data, view.size, SQLITE_STATIC);
            break;
        case GCI_SQL_IS_TEXT:
            code = sqlite3_bind_text64(statement, i + 1, view.data, view.size, SQLITE_STATIC, SQLITE_UTF8);
            break;
        }
    }
    return code;
}

gci_view
gci_sql_column(sqlite3_stmt *statement, int at)
{
    void const *bytes = sqlite3_column_blob(statement, at);

    return gci_view_of(bytes != NULL ? bytes : "", (size_t)sqlite3_column_bytes(statement, at));
}

gcache_status
gci_sql_status(int code)
{
    static struct {
        int code;
        gcache_status status;
    } const meanings[] = {
        { SQLITE_CORRUPT, GCACHE_ERROR_CORRUPT },
        { SQLITE_NOTADB, GCACHE_ERROR_CORRUPT },
        /* Our statements are right, so the tables aren't, or a sum of theirs. */
        { SQLITE_ERROR, GCACHE_ERROR_CORRUPT },
        { SQLITE_CONSTRAINT, GCACHE_ERROR_CORRUPT },
        { SQLITE_MISMATCH, GCACHE_ERROR_CORRUPT },
        { SQLITE_READONLY, GCACHE_ERROR_CORRUPT },
        { SQLITE_IOERR_READ, GCACHE_ERROR_CORRUPT },
        { SQLITE_IOERR_SHORT_READ, GCACHE_ERROR_CORRUPT },
        { SQLITE_IOERR_CORRUPTFS, GCACHE_ERROR_CORRUPT },
        { SQLITE_BUSY, GCACHE_ERROR_BUSY },
        { SQLITE_LOCKED, GCACHE_ERROR_BUSY },
        { SQLITE_PROTOCOL, GCACHE_ERROR_BUSY },
        { SQLITE_NOMEM, GCACHE_ERROR_MEMORY },
        { SQLITE_FULL, GCACHE_ERROR_NO_SPACE },
        /* A full disk has no room for the -shm that whoever reads beside writers needs. */
        { SQLITE_IOERR_SHMSIZE, GCACHE_ERROR_NO_SPACE },
    };

    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        if (meanings[i].code == code || meanings[i].code == (code & 0xff))
            return meanings[i].status;
    }
    return GCACHE_ERROR_IO;
}
