/*
 * The face of the guard engine: hints, compiled guard lists, selection, proofs, shape expressions. Nobody includes around
 * it; README.md is the reference of the language.
 */
#ifndef GCI_GUARDS_GUARDS_H
#define GCI_GUARDS_GUARDS_H

#include "guards/normal/shape.h"
#include "guards/program/list.h"
#include "guards/prove/prove.h"
#include "guards/select/select.h"
#include "guards/text/hints.h"

/* Listings: gcache_guards_show's two forms. */
void gci_guards_show(gci_guards const *guards, gcache_guards_form form, gci_buf *out);

#endif
