"""Features of serialized Examples in C: a pass that finds and counts the values, and one that writes the outputs.

The first returns -1 for whatever the op's own kernel must look at: errors, and encodings that are rare (several
`features` fields, unknown fields, long forms of lengths). Nothing outside the records is read.
"""

from __future__ import annotations

import functools

from penstock.codegen.c.source import Source
from penstock.codegen.c.toolchain import MOST
from penstock.codegen.tuned.objects_c import OBJECTS

FEATURE_FIELDS = 6
"""Numbers of a feature, sorted by the size of its key and then the key: the key's address and size, the tag of its list
(`BYTES`, …), how it is returned (below), the values of a dense one or the stride of a padded one, and whether it has a
default."""
DENSE, SPARSE, PADDED = range(3)
RESULTS = 2
"""Numbers per feature at the start of the work: all values, and the most of a record."""
SPAN = 3
"""Numbers per feature and record in the work: where the list starts, its bytes, and its values, -1 if it is absent."""

_C = r"""
enum { NAME_BYTES = 0x0A, NAME_FLOATS = 0x12, NAME_INTEGERS = 0x1A, NAME_MANY = 64 };
enum { NAME_DENSE, NAME_SPARSE, NAME_PADDED };
struct NAME_feature { const u8 *key; i64 size, kind, form, count, has_default; };
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

/* The spans of one record. seen: the keys of the record before, at the same places. */
static int NAME_walk(const struct NAME_feature *features, i64 count, const u8 *p, const u8 *end,
                     struct NAME_span *spans, i64 stride, struct NAME_seen *seen) {
  i64 size;
  if (p == end) return 1;
  if (*p++ != 0x0A || !(p = NAME_length(p, end, &size)) || p + size != end) return 0;
  for (i64 place = 0; p < end; place++) {
    i64 key_size;
    if (*p++ != 0x0A || !(p = NAME_length(p, end, &size))) return 0;
    const u8 *const stop = p + size;
    if (p == stop || *p++ != 0x0A || !(p = NAME_length(p, stop, &key_size))) return 0;
    const u8 *const key = p;
    p += key_size;
    if (p == stop || *p++ != 0x12 || !(p = NAME_length(p, stop, &size)) || p + size != stop) return 0;
    struct NAME_seen *const last = seen + (place < NAME_MANY ? place : NAME_MANY);
    if (last->size != key_size || memcmp(last->key, key, key_size))
      last->key = key, last->size = key_size, last->feature = NAME_find(features, count, key, key_size);
    i64 kind = 0;
    if (p < stop) {
      kind = *p++;
      if (kind != NAME_BYTES && kind != NAME_FLOATS && kind != NAME_INTEGERS) return 0;
      if (!(p = NAME_length(p, stop, &size)) || p + size != stop) return 0;
    }
    if (last->feature >= 0) {
      struct NAME_span *const span = spans + last->feature * stride;
      span->start = p, span->size = stop - p, span->count = -1;
      if (kind) {
        if (kind != features[last->feature].kind) return 0;
        if ((span->count = NAME_count(kind, p, stop)) < 0) return 0;
      }
    }
    p = stop;
  }
  return 1;
}

/* Finds the spans; returns how many strings there will be in the outputs. */
static void *NAME_scan(void *records, const struct NAME_feature *features, i64 count, i64 *work) {
  const i64 rows = PyList_Size(records);
  struct NAME_span *const spans = (struct NAME_span *)(work + 2 * count);
  struct NAME_seen seen[NAME_MANY + 1];
  for (int i = 0; i <= NAME_MANY; i++) seen[i].size = -1;
  for (i64 i = 0; i < count * rows; i++) spans[i].count = -1;
  for (i64 row = 0; row < rows; row++) {
    void *const record = PyList_GetItem(records, row);
    const i64 size = PyBytes_Size(record);
    if (size < 0) return 0;
    const u8 *const data = (const u8 *)PyBytes_AsString(record);
    if (!NAME_walk(features, count, data, data + size, spans + row, rows, seen)) return PyLong_FromLongLong(-1);
  }
  i64 strings = 0;
  for (i64 i = 0; i < count; i++) {
    const struct NAME_feature *const f = features + i;
    i64 total = 0, longest = 0;
    for (i64 row = 0; row < rows; row++) {
      const i64 values = spans[i * rows + row].count;
      if (f->form == NAME_DENSE && values != f->count && !(values < 0 && f->has_default))
        return PyLong_FromLongLong(-1);
      if (values <= 0) continue;
      if (f->form == NAME_PADDED && values % f->count) return PyLong_FromLongLong(-1);
      total += values;
      longest = values > longest ? values : longest;
    }
    work[2 * i] = total, work[2 * i + 1] = longest;
    if (f->kind == NAME_BYTES)
      strings += f->form == NAME_SPARSE ? total : rows * (f->form == NAME_DENSE ? f->count : longest);
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

/* The outputs of a feature: indices of `rank` columns and shape of a sparse one. */
static int NAME_fill(const struct NAME_feature *f, const i64 *found, const struct NAME_span *spans, i64 rows, i64 rank,
                     char *values, i64 *indices, i64 *shape, const char *other) {
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
  const i64 count = INT(1);
  const struct NAME_feature *const features = AT(2);
  i64 *const work = AT(3);
  if (arguments == 4) return NAME_scan(given[0], features, count, work);
  const i64 rows = PyList_Size(given[0]), rank = INT(4);
  for (i64 i = 0; i < count; i++) {
    const i64 at = 5 + 4 * i;
    const struct NAME_span *const spans = (const struct NAME_span *)(work + 2 * count) + i * rows;
    if (!NAME_fill(features + i, work + 2 * i, spans, rows, rank, AT(at), AT(at + 1), AT(at + 2), AT(at + 3))) return 0;
  }
  Py_IncRef(&_Py_NoneStruct);
  return &_Py_NoneStruct;
}
struct method NAME = {"NAME", NAME_call, METH_FASTCALL, 0};
"""


@functools.cache
def parsing_source() -> Source:
    """`run(records, features, table, work)`: the number of strings in the outputs, or -1. Then `run(records, features,
    table, work, rank, *outputs)`, with the addresses of values, indices, shape and default of each feature, or 0.

    records: a list of bytes. table: FEATURE_FIELDS numbers per feature. rank: 2, or 1 for one record without its axis.
    """
    return Source.named_after_itself(_C, support=OBJECTS, flags=MOST)
