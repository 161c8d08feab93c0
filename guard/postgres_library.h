// SPDX-License-Identifier: MIT
// libpq, loaded when the first PostgreSQL store is opened. Linked, it would bring two dozen libraries into every program
// that uses the guard, and start the tool three times as slowly (12 ms instead of 4, measured); and the tool would
// not run where there is no libpq.
//
// Behind this header, the functions are called as if they were linked.
#ifndef PERHAPS_GUARD_POSTGRES_LIBRARY_H
#define PERHAPS_GUARD_POSTGRES_LIBRARY_H

#include <libpq-fe.h>

#include <perhaps/perhaps.h>

#define PERHAPS__GUARD_LIBPQ_FUNCTIONS(X)                                                                              \
    X(PQclear)                                                                                                         \
    X(PQconnectdbParams)                                                                                               \
    X(PQconninfoFree)                                                                                                  \
    X(PQconninfoParse)                                                                                                 \
    X(PQdb)                                                                                                            \
    X(PQdescribePrepared)                                                                                              \
    X(PQerrorMessage)                                                                                                  \
    X(PQescapeIdentifier)                                                                                              \
    X(PQescapeLiteral)                                                                                                 \
    X(PQexec)                                                                                                          \
    X(PQexecParams)                                                                                                    \
    X(PQexecPrepared)                                                                                                  \
    X(PQfinish)                                                                                                        \
    X(PQfreemem)                                                                                                       \
    X(PQftype)                                                                                                         \
    X(PQgetisnull)                                                                                                     \
    X(PQgetlength)                                                                                                     \
    X(PQgetResult)                                                                                                     \
    X(PQgetvalue)                                                                                                      \
    X(PQhost)                                                                                                          \
    X(PQnfields)                                                                                                       \
    X(PQnparams)                                                                                                       \
    X(PQntuples)                                                                                                       \
    X(PQparameterStatus)                                                                                               \
    X(PQprepare)                                                                                                       \
    X(PQresultErrorField)                                                                                              \
    X(PQresultStatus)                                                                                                  \
    X(PQsendQueryParams)                                                                                               \
    X(PQserverVersion)                                                                                                 \
    X(PQsetClientEncoding)                                                                                             \
    X(PQsetNoticeProcessor)                                                                                            \
    X(PQsetSingleRowMode)                                                                                              \
    X(PQstatus)

// NOLINTNEXTLINE(bugprone-macro-parentheses): the name of a member
#define PERHAPS__GUARD_LIBPQ_MEMBER(name) __typeof__(name) *name;
extern struct perhaps__guard_libpq {
    PERHAPS__GUARD_LIBPQ_FUNCTIONS(PERHAPS__GUARD_LIBPQ_MEMBER)
} perhaps__guard_libpq;
#undef PERHAPS__GUARD_LIBPQ_MEMBER

// Loads it, once. 0, or PERHAPS_E_UNSUPPORTED. Any thread.
int perhaps__guard_libpq_load(perhaps_error *error);

#ifndef PERHAPS__GUARD_LIBPQ_UNNAMED
#define PQclear perhaps__guard_libpq.PQclear
#define PQconnectdbParams perhaps__guard_libpq.PQconnectdbParams
#define PQconninfoFree perhaps__guard_libpq.PQconninfoFree
#define PQconninfoParse perhaps__guard_libpq.PQconninfoParse
#define PQdb perhaps__guard_libpq.PQdb
#define PQdescribePrepared perhaps__guard_libpq.PQdescribePrepared
#define PQerrorMessage perhaps__guard_libpq.PQerrorMessage
#define PQescapeIdentifier perhaps__guard_libpq.PQescapeIdentifier
#define PQescapeLiteral perhaps__guard_libpq.PQescapeLiteral
#define PQexec perhaps__guard_libpq.PQexec
#define PQexecParams perhaps__guard_libpq.PQexecParams
#define PQexecPrepared perhaps__guard_libpq.PQexecPrepared
#define PQfinish perhaps__guard_libpq.PQfinish
#define PQfreemem perhaps__guard_libpq.PQfreemem
#define PQftype perhaps__guard_libpq.PQftype
#define PQgetisnull perhaps__guard_libpq.PQgetisnull
#define PQgetlength perhaps__guard_libpq.PQgetlength
#define PQgetResult perhaps__guard_libpq.PQgetResult
#define PQgetvalue perhaps__guard_libpq.PQgetvalue
#define PQhost perhaps__guard_libpq.PQhost
#define PQnfields perhaps__guard_libpq.PQnfields
#define PQnparams perhaps__guard_libpq.PQnparams
#define PQntuples perhaps__guard_libpq.PQntuples
#define PQparameterStatus perhaps__guard_libpq.PQparameterStatus
#define PQprepare perhaps__guard_libpq.PQprepare
#define PQresultErrorField perhaps__guard_libpq.PQresultErrorField
#define PQresultStatus perhaps__guard_libpq.PQresultStatus
#define PQsendQueryParams perhaps__guard_libpq.PQsendQueryParams
#define PQserverVersion perhaps__guard_libpq.PQserverVersion
#define PQsetClientEncoding perhaps__guard_libpq.PQsetClientEncoding
#define PQsetNoticeProcessor perhaps__guard_libpq.PQsetNoticeProcessor
#define PQsetSingleRowMode perhaps__guard_libpq.PQsetSingleRowMode
#define PQstatus perhaps__guard_libpq.PQstatus
#endif

#endif
