"""Features of serialized Examples and SequenceExamples in C: a pass that finds and counts the values, and one that
writes the outputs.

The first returns -1 for whatever the op's own kernel must look at: errors, and encodings that are rare (several
`features` fields, unknown fields, long forms of lengths). Nothing outside the records is read.
"""

from __future__ import annotations

import functools

from penstock.codegen.c.source import Source
from penstock.codegen.c.toolchain import MOST
from penstock.codegen.tuned.objects_c import OBJECTS

FEATURE_FIELDS = 6
"""Numbers of a feature, sorted by the size of its key and then the key, feature lists last: the key's address and size,
the tag of its values (`BYTES`, …), how it is returned (below), the values of a dense one or the stride of a padded one,
and whether it may be absent."""
DENSE, SPARSE, PADDED, DENSE_LIST, SPARSE_LIST = range(5)
RESULTS = 3
"""Numbers per feature at the start of the work: all values, the most values of a record or the most features of a list,
and the most values of a feature in a list."""
SPAN = 3
"""Numbers per feature and record in the work: where the values start, their bytes, and their number, -1 if absent."""

_C = r"""
enum { NAME_BYTES = 0x0A, NAME_FLOATS = 0x12, NAME_INTEGERS = 0x1A, NAME_MANY = 64, NAME_RESULTS = 3 };
enum { NAME_DENSE, NAME_SPARSE, NAME_PADDED, NAME_DENSE_LIST, NAME_SPARSE_LIST };
struct NAME_feature { const u8 *key; i64 size, kind, form, count, may_lack; };
struct NAME_span { const u8 *start; i64 size, count; };
struct NAME_seen { const u8 *key; i64 size, feature; };

/* A length and what follows it; 0 if that is not all there. */
static const u8 *NAME_length(const u8 *p, const u8 *end, i64 *size) {
  u64 found = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    if (p == end) return 0;
    found |= (u64)(*p & 0x7F) << shift;
    if (*p++ < 0x80) {
      *size = (i64)found;
      return (u64)(end - p) < found ? 0 : p;
    }
  }
  return 0;
}

static const u8 *NAME_integer(const u8 *p, const u8 *end, u64 *number) {
  *number = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (p == end) return 0;
    *number |= (u64)(*p & 0x7F) << shift;
    if (*p++ < 0x80) return p;
  }
  return 0;
}

/* The number of values in a serialized list; -1 if it is malformed. */
static i64 NAME_count(i64 kind, const u8 *p, const u8 *end) {
  i64 count = 0, size;
  u64 number;
  while (p < end) {
    const u8 tag = *p++;
    if (tag == 0x0A) {
      if (!(p = NAME_length(p, end, &size))) return -1;
      const u8 *const stop = p + size;
      if (kind == NAME_BYTES) count++;
      else if (kind == NAME_FLOATS) {
        if (size & 3) return -1;
        count += size >> 2;
      } else while (p < stop) {
        if (*p < 0x80) p++;
        else if (!(p = NAME_integer(p, stop, &number))) return -1;
        count++;
      }
      p = stop;
    } else if (tag == 0x0D && kind == NAME_FLOATS) {
      if (end - p < 4) return -1;
      p += 4, count++;
    } else if (tag == 0x08 && kind == NAME_INTEGERS) {
      if (!(p = NAME_integer(p, end, &number))) return -1;
      count++;
    } else return -1;
  }
  return count;
}

static i64 NAME_compare(const struct NAME_feature *f, const u8 *key, i64 size) {
  return f->size != size ? f->size - size : memcmp(f->key, key, size);
}

static i64 NAME_find(const struct NAME_feature *features, i64 count, const u8 *key, i64 size) {
  i64 low = 0, high = count;
  while (low < high) {
    const i64 middle = (low + high) / 2, order = NAME_compare(features + middle, key, size);
    if (!order) return middle;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return -1;
}

/* The values of a feature: their kind, 0 if it has none. Returns where they start, 0 if it is malformed. */
static const u8 *NAME_kind(const u8 *p, const u8 *end, i64 *kind) {
  i64 size;
  *kind = 0;
  if (p == end) return p;
  *kind = *p++;
  if (*kind != NAME_BYTES && *kind != NAME_FLOATS && *kind != NAME_INTEGERS) return 0;
  return (p = NAME_length(p, end, &size)) && p + size == end ? p : 0;
}

/* The next feature of a list: its values, as above, and where it stops. */
static const u8 *NAME_next(const u8 *p, const u8 *end, i64 *kind, const u8 **stop) {
  i64 size;
  if (*p++ != 0x0A || !(p = NAME_length(p, end, &size))) return 0;
  *stop = p + size;
  return NAME_kind(p, *stop, kind);
}

/* The spans of a map of features, or of lists of them. seen: the keys of the record before, at the same places. */
static int NAME_walk(const struct NAME_feature *features, i64 count, int lists, const u8 *p, const u8 *end,
                     struct NAME_span *spans, i64 stride, struct NAME_seen *seen) {
  i64 size, key_size, kind;
  for (i64 place = 0; p < end; place++) {
    if (*p++ != 0x0A || !(p = NAME_length(p, end, &size))) return 0;
    const u8 *const stop = p + size;
    if (p == stop || *p++ != 0x0A || !(p = NAME_length(p, stop, &key_size))) return 0;
    const u8 *const key = p;
    p += key_size;
    if (p == stop || *p++ != 0x12 || !(p = NAME_length(p, stop, &size)) || p + size != stop) return 0;
    struct NAME_seen *const last = seen + (place < NAME_MANY ? place : NAME_MANY);
    if (last->size != key_size || memcmp(last->key, key, key_size))
      last->key = key, last->size = key_size, last->feature = NAME_find(features, count, key, key_size);
    struct NAME_span found = {p, stop - p, 0};
    if (lists) {
      for (const u8 *next; p < stop; p = next)
        if (!NAME_next(p, stop, &kind, &next)) return 0;
    } else {
      if (!(p = NAME_kind(p, stop, &kind))) return 0;
      found = (struct NAME_span){p, stop - p, -1};
      if (kind && last->feature >= 0) {
        if (kind != features[last->feature].kind) return 0;
        if ((found.count = NAME_count(kind, p, stop)) < 0) return 0;
      }
    }
    if (last->feature >= 0) spans[last->feature * stride] = found;
    p = stop;
  }
  return 1;
}

/* A record: an Example, or with lists >= 0, the number of the last features, a SequenceExample. */
static int NAME_record(const struct NAME_feature *features, i64 count, i64 lists, const u8 *p, const u8 *end,
                       struct NAME_span *spans, i64 stride, struct NAME_seen *seen) {
  const i64 first = lists < 0 ? count : count - lists;
  i64 size;
  if (p < end && *p == 0x0A) {
    if (!(p = NAME_length(p + 1, end, &size))) return 0;
    if (!NAME_walk(features, first, 0, p, p + size, spans, stride, seen)) return 0;
    p += size;
  }
  if (lists >= 0 && p < end && *p == 0x12) {
    if (!(p = NAME_length(p + 1, end, &size))) return 0;
    if (!NAME_walk(features + first, lists, 1, p, p + size, spans + first * stride, stride, seen + NAME_MANY + 1))
      return 0;
    p += size;
  }
  return p == end;
}

/* Counts the values of a record's list, and puts the number of its features into the span; 0 if it is malformed. */
static int NAME_sum(const struct NAME_feature *f, struct NAME_span *span, i64 *total, i64 *most) {
  const u8 *const end = span->start + span->size;
  i64 kind;
  for (const u8 *p = span->start, *next; p < end; p = next, span->count++) {
    p = NAME_next(p, end, &kind, &next);
    if (kind && kind != f->kind) return 0;
    const i64 count = kind ? NAME_count(kind, p, next) : 0;
    if (count < 0 || (f->form == NAME_DENSE_LIST && (!kind || count != f->count))) return 0;
    *total += count;
    *most = count > *most ? count : *most;
  }
  return 1;
}

/* Finds the spans; returns how many strings there will be in the outputs. */
static void *NAME_scan(void *records, const struct NAME_feature *features, i64 count, i64 lists, i64 *work) {
  const i64 rows = PyList_Size(records);
  struct NAME_span *const spans = (struct NAME_span *)(work + NAME_RESULTS * count);
  struct NAME_seen seen[2 * (NAME_MANY + 1)];
  for (int i = 0; i < 2 * (NAME_MANY + 1); i++) seen[i].size = -1;
  for (i64 i = 0; i < count * rows; i++) spans[i].count = -1;
  for (i64 row = 0; row < rows; row++) {
    void *const record = PyList_GetItem(records, row);
    const i64 size = PyBytes_Size(record);
    if (size < 0) return 0;
    const u8 *const data = (const u8 *)PyBytes_AsString(record);
    if (!NAME_record(features, count, lists, data, data + size, spans + row, rows, seen))
      return PyLong_FromLongLong(-1);
  }
  i64 strings = 0;
  for (i64 i = 0; i < count; i++) {
    const struct NAME_feature *const f = features + i;
    i64 total = 0, longest = 0, most = 0;
    for (i64 row = 0; row < rows; row++) {
      struct NAME_span *const span = spans + i * rows + row;
      if (f->form == NAME_DENSE && span->count != f->count && !(span->count < 0 && f->may_lack))
        return PyLong_FromLongLong(-1);
      if (f->form == NAME_DENSE_LIST && span->count < 0 && !f->may_lack) return PyLong_FromLongLong(-1);
      if (f->form >= NAME_DENSE_LIST && span->count >= 0 && !NAME_sum(f, span, &total, &most))
        return PyLong_FromLongLong(-1);
      if (span->count <= 0) continue;
      if (f->form == NAME_PADDED && span->count % f->count) return PyLong_FromLongLong(-1);
      if (f->form < NAME_DENSE_LIST) total += span->count;
      longest = span->count > longest ? span->count : longest;
    }
    work[NAME_RESULTS * i] = total, work[NAME_RESULTS * i + 1] = longest, work[NAME_RESULTS * i + 2] = most;
    if (f->kind == NAME_BYTES) {
      const i64 row = f->form == NAME_DENSE ? f->count : f->form == NAME_PADDED ? longest : longest * f->count;
      strings += f->form == NAME_SPARSE || f->form == NAME_SPARSE_LIST ? total : rows * row;
    }
  }
  return PyLong_FromLongLong(strings);
}

static int NAME_text(void **to, const u8 *p, i64 size) {
  void *const old = *to;
  if (!(*to = PyBytes_FromStringAndSize((const char *)p, size))) return 0;
  if (old) Py_DecRef(old);
  return 1;
}

/* Writes the values of a list, which is well-formed. */
static int NAME_read(i64 kind, const u8 *p, const u8 *end, char *to) {
  i64 size = 0;
  u64 number;
  while (p < end) {
    const u8 tag = *p++;
    const u8 *stop = p;
    if (tag == 0x0A) p = NAME_length(p, end, &size), stop = p + size;
    if (kind == NAME_BYTES) {
      if (!NAME_text((void **)to, p, size)) return 0;
      to += sizeof(void *);
    } else if (kind == NAME_FLOATS) {
      if (tag == 0x0D) stop = p + 4;
      memcpy(to, p, stop - p);
      to += stop - p;
    } else {
      if (tag == 0x08) p = stop = NAME_integer(p, end, &number), memcpy(to, &number, 8), to += 8;
      while (p < stop) {
        if (*p < 0x80) number = *p++;
        else p = NAME_integer(p, stop, &number);
        memcpy(to, &number, 8), to += 8;
      }
    }
    p = stop;
  }
  return 1;
}

/* Copies values of a default, whose memory has `step` bytes from one to the next. */
static void NAME_copy(i64 kind, char *to, const char *from, i64 count, i64 step) {
  const i64 size = kind == NAME_FLOATS ? 4 : 8;
  for (i64 i = 0; i < count; i++, to += size, from += step) {
    if (kind == NAME_BYTES) {
      if (*(void **)to) Py_DecRef(*(void **)to);
      Py_IncRef(*(void *const *)from);
    }
    memcpy(to, from, size);
  }
}

/* The outputs of a list of each record; see below. indices: of a dense one, the lengths. */
static int NAME_fill_lists(const struct NAME_feature *f, const i64 *found, const struct NAME_span *spans, i64 rows,
                           i64 rank, char *values, i64 *indices, i64 *shape, const char *other) {
  const i64 size = f->kind == NAME_FLOATS ? 4 : 8;
  i64 kind;
  for (i64 row = 0; row < rows; row++) {
    const u8 *p = spans[row].start, *next;
    const i64 features = spans[row].count > 0 ? spans[row].count : 0;
    for (i64 place = 0; place < features; place++, p = next) {
      p = NAME_next(p, spans[row].start + spans[row].size, &kind, &next);
      const i64 count = f->form == NAME_DENSE_LIST ? f->count : kind ? NAME_count(kind, p, next) : 0;
      if (kind && !NAME_read(kind, p, next, values)) return 0;
      values += count * size;
      if (f->form == NAME_DENSE_LIST) continue;
      for (i64 i = 0; i < count; i++) {
        if (rank == 2) *indices++ = row;
        *indices++ = place, *indices++ = i;
      }
    }
    if (f->form == NAME_DENSE_LIST) {
      const i64 rest = (found[1] - features) * f->count;
      NAME_copy(f->kind, values, other, rest, 0);
      values += rest * size;
      if (indices) *indices++ = features;
    }
  }
  if (f->form == NAME_SPARSE_LIST) {
    if (rank == 2) *shape++ = rows;
    shape[0] = found[1], shape[1] = found[2];
  }
  return 1;
}

/* The outputs of a feature: indices of `rank` columns and shape of a sparse one. */
static int NAME_fill(const struct NAME_feature *f, const i64 *found, const struct NAME_span *spans, i64 rows, i64 rank,
                     char *values, i64 *indices, i64 *shape, const char *other) {
  if (f->form >= NAME_DENSE_LIST)
    return NAME_fill_lists(f, found, spans, rows, rank, values, indices, shape, other);
  const i64 size = f->kind == NAME_FLOATS ? 4 : 8;
  const i64 room = f->form == NAME_DENSE ? f->count : found[1];
  for (i64 row = 0; row < rows; row++) {
    const struct NAME_span *const span = spans + row;
    const i64 count = span->count > 0 ? span->count : 0;
    if (span->count > 0 && !NAME_read(f->kind, span->start, span->start + span->size, values)) return 0;
    if (f->form == NAME_SPARSE) {
      values += count * size;
      for (i64 i = 0; i < count; i++) {
        if (rank == 2) *indices++ = row;
        *indices++ = i;
      }
      continue;
    }
    if (f->form == NAME_PADDED) NAME_copy(f->kind, values + count * size, other, room - count, 0);
    else if (span->count < 0) NAME_copy(f->kind, values, other, room, size);
    values += room * size;
  }
  if (f->form == NAME_SPARSE) {
    if (rank == 2) *shape++ = rows;
    *shape = found[1];
  }
  return 1;
}

static void *NAME_call(void *self, void *const *given, i64 arguments) {
  const i64 count = INT(1), lists = INT(3);
  const struct NAME_feature *const features = AT(2);
  i64 *const work = AT(4);
  if (arguments == 5) return NAME_scan(given[0], features, count, lists, work);
  const i64 rows = PyList_Size(given[0]), rank = INT(5);
  for (i64 i = 0; i < count; i++) {
    const i64 at = 6 + 4 * i;
    const struct NAME_span *const spans = (const struct NAME_span *)(work + NAME_RESULTS * count) + i * rows;
    const i64 *const found = work + NAME_RESULTS * i;
    if (!NAME_fill(features + i, found, spans, rows, rank, AT(at), AT(at + 1), AT(at + 2), AT(at + 3))) return 0;
  }
  Py_IncRef(&_Py_NoneStruct);
  return &_Py_NoneStruct;
}
struct method NAME = {"NAME", NAME_call, METH_FASTCALL, 0};
"""


@functools.cache
def parsing_source() -> Source:
    """`run(records, features, table, lists, work)`: the number of strings in the outputs, or -1. Then `run(records,
    features, table, lists, work, rank, *outputs)`, with the addresses of values, indices, shape and default of each
    feature, or 0.

    records: a list of bytes. table: FEATURE_FIELDS numbers per feature. lists: how many features are feature lists; -1
    if the records are Examples. rank: 2, or 1 for one record without its axis; feature lists have one more.
    """
    return Source.named_after_itself(_C, support=OBJECTS, flags=MOST)
