"""The beginning of the C of steps, after the part that it shares with clusters (`codegen/c/source.py`)."""

from __future__ import annotations

from penstock.codegen.regions.growing_arrays import growing_array_source

_C = r"""
#include <stdlib.h>
extern int PyErr_CheckSignals(void);
extern void *PyBool_FromLong(long);
/* Of Python's stable ABI as well. */
struct buffer {
  void *buf, *obj;
  i64 len, itemsize;
  int readonly, ndim;
  char *format;
  i64 *shape, *strides, *suboffsets;
  void *internal;
};
extern int PyObject_CheckBuffer(void *);
extern int PyObject_GetBuffer(void *, struct buffer *, int);
extern void PyBuffer_Release(struct buffer *);
extern void PyErr_Clear(void);
/* The addresses of the elements of arrays, which must have so many bytes each; other arguments are addresses. Gives the
   number of `views` that are to be released, or -1 if an array is not as it must be. */
APART int find_addresses(void **x, void *const *given, const i64 *sizes, int count, struct buffer *views) {
  int held = 0, wrong = 0;
  for (int i = 0; i < count && !wrong; i++) {
    if (!PyObject_CheckBuffer(given[i])) {
      x[i] = (void *)(intptr_t)PyLong_AsLongLong(given[i]);
    } else if (PyObject_GetBuffer(given[i], &views[held], 0)) {
      PyErr_Clear();
      wrong = 1;
    } else {
      x[i] = views[held].buf;
      wrong = views[held++].len != sizes[i];
    }
  }
  while (wrong && held) PyBuffer_Release(&views[--held]);
  return wrong ? -1 : held;
}
/* Of every function of a step: 0 it is done, 1 a node could not compute, 2 the user interrupted it. */
#define FAIL() return 1
/* In a loop: lets Python see Ctrl-C now and then. `*lock` is what Python needs to go on. */
APART int interrupted(void **lock) {
  if (!*lock) return PyErr_CheckSignals();
  PyEval_RestoreThread(*lock);
  const int found = PyErr_CheckSignals();
  *lock = PyEval_SaveThread();
  return found;
}
"""


def prelude() -> str:
    return _C + growing_array_source()
